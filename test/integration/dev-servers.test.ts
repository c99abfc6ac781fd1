// `platform dev` of projects that run in Node: their own server, with the bindings of platform.yaml beside it.
import assert from 'node:assert/strict';
import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { startDevHere, type TestDev } from '#test/setup/dev.ts';
import { until } from '#test/setup/until.ts';

const client = join(import.meta.dirname, '../../packages/dev/index.ts');
/** Its events come to `/__platform/`, as those of a framework's app to a route of that name. */
const eventServer = `
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { createEventRoute, getPlatformEnv } from ${JSON.stringify(client)};
const route = createEventRoute({
  message({ payload, queueName, attempt }) {
    console.log('message', queueName, JSON.stringify(payload), attempt);
    if (attempt === 1) throw new Error('not yet');
  },
  timer: ({ id, payload }) => console.log('timer', id, payload),
  workflows: {
    orders: async ({ input, step }) => {
      const doubled = await step.run('double', () => input.n * 2);
      await step.sleep('nap', 50);
      console.log('ordered', doubled);
    },
  },
});
createServer(async (request, response) => {
  const env = await getPlatformEnv();
  if (request.url === '/begin') {
    await env.JOBS.send({ a: 1 });
    await env.CLOCK.set('alarm', Date.now(), 'wake');
    await env.ORDERS.trigger({ n: 21 });
    return response.end('begun');
  }
  const { method, url, headers } = request;
  const body = method === 'POST' ? { body: Readable.toWeb(request), duplex: 'half' } : {};
  const answer = await route(new Request('http://localhost' + url, { method, headers, ...body }));
  response.writeHead(answer.status);
  Readable.fromWeb(answer.body).pipe(response);
}).listen(process.env.PORT, process.env.HOST);
`;
const server = `
import { createServer } from 'node:http';
import { getPlatformEnv } from ${JSON.stringify(client)};
const env = await getPlatformEnv();
await env.DB.prepare('INSERT INTO visits DEFAULT VALUES').run();
createServer(async (request, response) => {
  if (request.url === '/die') process.exit(3);
  const { count } = await env.DB.prepare('SELECT count(*) AS count FROM visits').first();
  response.end(JSON.stringify([process.env.GREETING ?? null, count, 'version one']));
}).listen(process.env.PORT, process.env.HOST, () => console.log('the server listens'));
`;

async function startProject(
  t: TestContext,
  scripts: Record<string, string>,
  own: Record<string, string> = {},
): Promise<{ dev: TestDev; folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'platform-dev-server-'));
  const files = {
    'platform.yaml': 'kind: ssr\ndb: {DB: guests}\n',
    'package.json': JSON.stringify({ name: 'node-app', type: 'module', scripts }),
    'migrations/0001_visits.sql': 'CREATE TABLE visits (id INTEGER PRIMARY KEY);',
    '.env': 'GREETING=hello\n',
    'server.mjs': server,
    ...own,
  };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  // The server's Node is the one of this process, which reads TypeScript.
  const PATH = `${dirname(process.execPath)}:${process.env['PATH']}`;
  const dev = await startDevHere(folder, [], { PATH });
  t.after(async () => {
    await dev.close();
    await rm(folder, { recursive: true, force: true });
  });
  return { dev, folder };
}

/** Meanwhile it may not listen. */
async function answerOf(dev: TestDev): Promise<unknown> {
  return JSON.parse((await dev.fetch()).text) as unknown;
}

async function eventually(dev: TestDev, expected: unknown): Promise<void> {
  await until(async () => {
    const answer = await answerOf(dev).catch(() => null);
    return JSON.stringify(answer) === JSON.stringify(expected);
  });
}

test('a server is started by its script "dev", with bindings and variables, and again when it dies', async (t) => {
  const { dev, folder } = await startProject(t, { dev: 'node server.mjs' });
  await dev.printed(/Dashboard http/);
  assert.match(dev.output, /the server listens/);
  assert.deepEqual(await answerOf(dev), ['hello', 1, 'version one']);
  await dev.fetch('/die').catch(() => null);
  await dev.printed(/exited with code 3 It restarts in 1 s/);
  await dev.printed(/Ready again/);
  assert.deepEqual(await answerOf(dev), ['hello', 2, 'version one']);
  await writeFile(join(folder, '.env'), 'GREETING=good morning\n');
  await dev.printed(/\.env has changed: restarting the server/);
  await eventually(dev, ['good morning', 3, 'version one']);
});

test('one with a script "start" alone is started again when a source is saved', async (t) => {
  const { dev, folder } = await startProject(t, { start: 'node server.mjs' });
  await dev.printed(/Dashboard http/);
  assert.deepEqual(await answerOf(dev), ['hello', 1, 'version one']);
  await writeFile(join(folder, 'server.mjs'), server.replace('version one', 'version two'));
  await dev.printed(/server\.mjs has changed: restarting the server/);
  await eventually(dev, ['hello', 2, 'version two']);
});

test('messages, timers and workflows come to the route /__platform of the app, which nobody else may ask', async (t) => {
  const { dev } = await startProject(
    t,
    { dev: 'node server.mjs' },
    {
      'platform.yaml':
        'kind: ssr\ndb: {DB: guests}\nqueue: { JOBS: jobs }\ntimer: { CLOCK: clock }\nworkflow: { ORDERS: orders }\n',
      'server.mjs': eventServer,
    },
  );
  await dev.printed(/Dashboard http/);
  assert.equal((await dev.fetch('/begin')).text, 'begun');
  await dev.printed(/message jobs {"a":1} 1/);
  await dev.printed(/message jobs {"a":1} 2/);
  await dev.printed(/timer alarm wake/);
  await dev.printed(/ordered 42/);
  const refused = await dev.fetch('/__platform/message', { method: 'POST', body: '{}' });
  assert.deepEqual([refused.status, refused.text], [401, '{"error":"Only the platform can call this route"}']);
});
