// Bindings in `platform dev`: nothing to install, kept over restarts, shared by the projects of a workspace.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { startDevHere, type TestDev } from '#test/setup/dev.ts';
import { until } from '#test/setup/until.ts';

let folder: string;
let first: TestDev;

const worker = `
import { WorkflowEntrypoint } from 'cloudflare:workers';
export class Greeting extends WorkflowEntrypoint {
  async run({ payload }, step) {
    await step.sleep('pause', 10);
    return step.do('greet', async () => 'hello ' + payload.name);
  }
}
export default {
  async fetch(request, { DB, KV, FILES, GREET }) {
    const { pathname } = new URL(request.url);
    if (pathname === '/greet') return new Response((await GREET.create({ params: { name: 'Ada' } })).id);
    if (pathname.startsWith('/greet/')) return Response.json(await (await GREET.get(pathname.slice(7))).status());
    if (pathname === '/guests') {
      await DB.exec('CREATE TABLE IF NOT EXISTS guests (name TEXT)');
      await DB.prepare('INSERT INTO guests VALUES (?)').bind(await request.text()).run();
      return Response.json((await DB.prepare('SELECT name FROM guests').all()).results.map(({ name }) => name));
    }
    if (pathname === '/count') return Response.json(await KV.update('visits', { $inc: { n: 1 } }));
    if (pathname === '/upload') { await FILES.put('file', request.body); return new Response(await FILES.createSignedUrl('file')); }
    return new Response((await FILES.get('file')).body);
  },
};`;
const yaml =
  'db:\n  DB: guestbook\nauth:\n  binding: PLATFORM_AUTH\nstate:\n  KV: counters\nfs:\n  FILES: uploads\nworkflow:\n  GREET: { name: greet, class: Greeting }\n';

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'platform-dev-'));
  const files = {
    'pnpm-workspace.yaml': 'packages: ["apps/*"]\n',
    'apps/one/src/index.ts': worker,
    'apps/one/platform.yaml': yaml,
    'apps/two/src/index.ts': worker,
    'apps/two/platform.yaml': yaml,
  };
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  first = await startDevHere(join(folder, 'apps/one'));
});
after(async () => {
  await first.close();
  await rm(folder, { recursive: true, force: true });
});

test('what a worker keeps is there after a restart, and for the other projects of the workspace', async () => {
  assert.deepEqual((await first.fetch('/count')).json(), { n: 1 });
  await first.fetch('/upload', { method: 'POST', body: 'kept' });
  await first.close();
  first = await startDevHere(join(folder, 'apps/one'));
  assert.deepEqual((await first.fetch('/count')).json(), { n: 2 });
  assert.equal((await first.fetch('/')).text, 'kept');
  const second = await startDevHere(join(folder, 'apps/two'));
  try {
    assert.deepEqual((await second.fetch('/count')).json(), { n: 3 });
    assert.deepEqual((await first.fetch('/count')).json(), { n: 4 });
    assert.equal((await second.fetch('/')).text, 'kept');
  } finally {
    await second.close();
  }
  assert.ok((await stat(join(folder, '.platform/dev/state.sqlite'))).isFile());
});

test('projects of a workspace share a database, also when the one that served it ends', async () => {
  const guest = async (dev: TestDev, name: string): Promise<unknown> =>
    (await dev.fetch('/guests', { method: 'POST', body: name })).json();
  assert.deepEqual(await guest(first, 'ada'), ['ada']);
  const second = await startDevHere(join(folder, 'apps/two'));
  try {
    assert.deepEqual(await guest(second, 'grace'), ['ada', 'grace']);
    await first.close();
    assert.deepEqual(await guest(second, 'joan'), ['ada', 'grace', 'joan']);
    first = await startDevHere(join(folder, 'apps/one'));
    assert.deepEqual(await guest(first, 'mary'), ['ada', 'grace', 'joan', 'mary']);
  } finally {
    await second.close();
  }
});

test('letters of sign-in are printed', async () => {
  const send = (path: string, body: object): ReturnType<TestDev['fetch']> =>
    first.fetch(path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });
  assert.equal((await send('/auth/signup', { email: 'ada@example.org', password: 'password1' })).status, 200);
  assert.equal((await send('/auth/reset-password', { email: 'ada@example.org' })).status, 200);
  await first.printed(/Mail to ada@example\.org: Set a new password/);
});

test('a signed address works on the port of platform dev', async () => {
  const address = new URL((await first.fetch('/upload', { method: 'POST', body: 'signed' })).text);
  assert.equal(address.host, `localhost:${first.port}`);
  assert.equal((await first.fetch(address.pathname)).text, 'signed');
});

test('a workflow that is a class runs', async () => {
  const id = (await first.fetch('/greet')).text;
  const status = await until(async () => {
    const found = (await first.fetch(`/greet/${id}`)).json() as { status: string };
    return found.status === 'complete' && found;
  });
  assert.deepEqual(status, { status: 'complete', output: 'hello Ada' });
});
