// The commands of a user whose platform runs on this machine: they find it, in whatever folder they are called, and
// what they change is served when they return; by every engine of several: test/dev/deploy-local.test.ts.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { recordFile } from '#cli/local/local-platform.ts';
import { run } from '#cli/main.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { recordingShell, type RecordingShell } from '../unit/cli/recording-shell.ts';

const home = mkdtempSync(path.join(tmpdir(), 'home-'));
const project = mkdtempSync(path.join(tmpdir(), 'project-'));
const record = path.join(home, 'local/0123456789abcdef.json');
const file = (name: string, text: string): void => {
  mkdirSync(path.dirname(path.join(project, name)), { recursive: true });
  writeFileSync(path.join(project, name), text);
};
const worker = (version: string): string =>
  `export default { fetch: (request, env) => new Response('${version} ' + JSON.stringify(env.vars)) };\n`;
let platform: TestPlatform;

before(async () => {
  platform = await startPlatform({}, { PLATFORM_LOCAL_RECORD: record, HANDLER_SPARES: '0' });
  file('platform.yaml', 'kind: worker\nname: shop\n');
});
after(async () => {
  await platform.close();
  for (const folder of [home, project]) rmSync(folder, { recursive: true });
});

async function call(...words: string[]): Promise<RecordingShell & { code: number }> {
  const shell = recordingShell(project, { PLATFORM_HOME: home });
  return Object.assign(shell, { code: await run(words, shell) });
}

async function ok(...words: string[]): Promise<string[]> {
  const { code, output, errors } = await call(...words);
  assert.equal(code, 0, [...output, ...errors].join('\n'));
  return output;
}

async function says(host: string, text: string): Promise<void> {
  assert.equal((await platform.fetch(host)).text, text);
}

interface Told {
  readonly deployment: string;
  readonly urls: readonly string[];
}

test('the record that a platform leaves is for its user alone', () => {
  assert.equal(statSync(record).mode & 0o777, 0o600);
  const { pid, port, folder } = JSON.parse(readFileSync(record, 'utf8')) as {
    pid: number;
    port: number;
    folder: string;
  };
  assert.deepEqual([pid, port, folder], [platform.supervisorPid, platform.port, platform.folder]);
  assert.match(recordFile(recordingShell('/', { PLATFORM_HOME: home }), folder), /\/local\/[0-9a-f]{16}\.json$/);
});

test('a server for Node is refused in one line before its build, where nothing fences it', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'project-'));
  writeFileSync(path.join(folder, 'platform.yaml'), 'kind: ssr\nname: app\nbuild: touch built\n');
  writeFileSync(path.join(folder, 'package.json'), '{"scripts":{"start":"node server.js"}}');
  // No program that makes namespaces is taken.
  const shell = recordingShell(folder, { PLATFORM_HOME: home, PLATFORM_FENCE: 'none' });
  assert.equal(await run(['deploy'], shell), 1);
  const [line, ...more] = shell.errors.join('\n').split('\n');
  assert.match(
    line!,
    /^error Servers for Node \(kind: ssr, such as Next\.js\) are refused: they cannot be isolated on this machine/,
  );
  assert.deepEqual(more, ['See docs/builds.md#what-a-build-can-reach for the requirements.']);
  assert.equal(existsSync(path.join(folder, 'built')), false);
  rmSync(folder, { recursive: true });
});

let first: Told;
let second: Told;

test('deploy says where to, prints addresses with the port that listens, and they answer at once', async () => {
  file('src/index.ts', worker('one'));
  const [where, , deployed, url] = await ok('deploy');
  assert.equal(
    where,
    `Deploying to the platform on port ${platform.port} (data in ${platform.folder}, process ${platform.supervisorPid})`,
  );
  assert.match(deployed!, /^Deployed shop as d[0-9a-z]{12} \(production\)$/);
  assert.equal(url, `  http://shop.localhost:${platform.port}`);
  await says('shop', 'one {}');
  first = JSON.parse((await ok('deploy', '--json'))[0]!) as Told;
});

test('variables of production, previews and branches are apart, and are not printed unasked', async () => {
  await ok('env', 'set', 'KEY=secret', 'OTHER=1');
  await says('shop', 'one {"KEY":"secret","OTHER":"1"}');
  file('src/index.ts', worker('two'));
  await ok('deploy', '--branch', 'login');
  await says('shop--login', 'two {}');
  await ok('env', 'set', 'KEY=test', '--target', 'preview');
  await says('shop--login', 'two {"KEY":"test"}');
  file('login.env', 'KEY=own\n');
  await ok('deploy', '--branch', 'login', '--env-file', 'login.env');
  await says('shop--login', 'two {"KEY":"own"}');
  await says('shop', 'one {"KEY":"secret","OTHER":"1"}');
  assert.deepEqual(await ok('env', 'list'), [
    'KEY    production',
    'OTHER  production',
    'KEY    previews',
    'KEY    previews of login',
  ]);
  assert.deepEqual(await ok('env', 'list', '--show', '--branch', 'login'), ['KEY  previews of login  own']);
  await ok('env', 'unset', 'OTHER');
  await says('shop', 'one {"KEY":"secret"}');
  const gone = await call('env', 'unset', 'OTHER');
  assert.deepEqual(
    [gone.code, gone.errors[0]],
    [1, 'error OTHER is not set for production of shop\n`platform env list` shows the variables.'],
  );
  assert.match((await call('env', 'set', 'A=1', '--branch', 'main')).errors[0]!, /main is the production branch/);
  assert.match((await call('env', 'lits')).errors[0]!, /Unknown command `platform env lits`. Did you mean list\?/);
  await ok('env', 'pull', 'production.env');
  assert.equal(readFileSync(path.join(project, 'production.env'), 'utf8'), "KEY='secret'\n");
  assert.equal((await call('env', 'pull', 'production.env')).code, 1);
});

test('a worker whose top level throws or overruns is not deployed, unless it is forced', async () => {
  file(
    'src/index.ts',
    "const settings = null;\nconsole.log('begins');\nsettings.port;\nexport default { fetch: () => new Response() };\n",
  );
  const refused = await call('deploy');
  assert.equal(refused.code, 1);
  assert.equal(
    refused.errors[0],
    "error The worker does not start, so nothing was deployed\nbegins\nThe worker threw while it was loaded: TypeError: Cannot read properties of null (reading 'port')\n    at src/index.ts:3:10\nFix the worker's top-level code (outside of handlers), or publish the worker anyway with --force.",
  );
  await says('shop', 'one {"KEY":"secret"}');
  await ok('deploy', '--branch', 'broken', '--force');
  assert.equal((await platform.fetch('shop--broken')).status, 500);
});

test('promote and rollback change what production serves, and the address of its branch follows', async () => {
  file('src/index.ts', worker('three'));
  second = JSON.parse((await ok('deploy', '--json'))[0]!) as Told;
  await says('shop', 'three {"KEY":"secret"}');
  await says('shop--main', 'three {"KEY":"secret"}');
  await ok('rollback');
  await says('shop', 'one {"KEY":"secret"}');
  await says('shop--main', 'one {"KEY":"secret"}');
  await ok('promote', second.deployment);
  await says('shop--main', 'three {"KEY":"secret"}');
  // A branch that is promoted works with what is production's.
  await ok('promote', 'login');
  await says('shop', 'two {"KEY":"secret"}');
  await ok('rollback');
  await says('shop', 'three {"KEY":"secret"}');
  await says('shop--login', 'two {"KEY":"own"}');
  const { deployments, production } = JSON.parse((await ok('deployments', '--json'))[0]!) as {
    production: string;
    deployments: { deployment: string; urls: string[] }[];
  };
  assert.equal(production, second.deployment);
  assert.equal(deployments.length, 6);
  assert.ok(deployments.some(({ deployment }) => deployment === first.deployment));
  assert.match(
    (await ok('deployments')).join('\n'),
    new RegExp(`${production}  main .* http://shop\\.localhost:${platform.port} production`),
  );
  assert.match(
    (await call('promote', 'nobody')).errors[0]!,
    /^error shop has no deployment and no branch "nobody"\n`platform deployments/,
  );
});

test('a plan is shown and set', async () => {
  assert.deepEqual(await ok('plan'), ['shop is on the plan free: 1000 ms of CPU per request by default']);
  assert.deepEqual(await ok('plan', 'pro'), ['shop is on the plan pro: 5000 ms of CPU per request by default']);
  const refused = await call('plan', 'por');
  assert.deepEqual(
    [refused.code, refused.errors[0]],
    [2, 'error Unknown plan "por". Did you mean pro?\nPlans: free, pro, enterprise.'],
  );
});

test('the log of a project is shown, of one branch, and goes on with what comes', async () => {
  file(
    'src/index.ts',
    "export default { fetch(request) { if (request.url.includes('/throw')) throw new Error('on purpose'); console.log('asked for', new URL(request.url).pathname); return new Response('ok'); } };\n",
  );
  await ok('deploy');
  await ok('deploy', '--branch', 'talk');
  await platform.fetch('shop', '/one');
  await platform.fetch('shop', '/throw?key=1');
  await platform.fetch('shop--talk', '/two');
  const lines = await ok('logs');
  assert.match(lines.join('\n'), / d[0-9a-z]{12} info  asked for \/one\n/);
  assert.match(lines.join('\n'), / error Uncaught Error: on purpose\n {2}\| {5}at .*src\/index\.ts:1:/);
  assert.match(lines.join('\n'), / warn  GET \/throw 500 worker_threw: .*on purpose \(CPU /);
  assert.deepEqual(
    (await ok('logs', '--branch', 'talk', '--json')).map((line) => (JSON.parse(line) as { text: string }).text),
    ['asked for /two'],
  );
  const following = recordingShell(project, { PLATFORM_HOME: home });
  const seen = Promise.withResolvers<void>();
  const ended = run(['logs', '-f', '--lines', '0'], {
    ...following,
    out: (line) => (following.out(line), line.includes('/three') && seen.resolve()),
  });
  while (following.output.length === 0) {
    await platform.fetch('shop', '/three');
    await Promise.race([seen.promise, new Promise((resolve) => setTimeout(resolve, 100))]);
  }
  following.stop();
  assert.equal(await ended, 0);
  assert.match(following.output[0]!, /asked for \/three$/);
});

test('metrics tell production from previews, and branches from each other', async () => {
  const { text } = await platform.ask('/metrics');
  const rows = [...text.matchAll(/^platform_deployment_invocations_total\{(.*)\} /gm)].map(([, labels]) => labels!);
  for (const wanted of ['branch="main",target="production"', 'branch="talk",target="preview"'])
    assert.ok(
      rows.some((labels) => labels.includes(`project="shop",${wanted},`)),
      `${wanted} of ${rows.join('; ')}`,
    );
});

test('a project that was never deployed is named, with those that were', async () => {
  assert.match(
    (await call('env', 'list', '--name', 'nothing')).errors[0]!,
    /There is no project "nothing".*\nDeploy it with `platform deploy`, or name one with --name: shop\./,
  );
});

test('the record of a platform that does not run any more is known to be stale', async () => {
  const dead = { ...(JSON.parse(readFileSync(record, 'utf8')) as object), pid: 2 ** 22 };
  const other = mkdtempSync(path.join(tmpdir(), 'home-'));
  mkdirSync(path.join(other, 'local'));
  writeFileSync(path.join(other, 'local/x.json'), JSON.stringify(dead));
  const shell = recordingShell(project, { PLATFORM_HOME: other });
  assert.equal(await run(['deployments'], shell), 1);
  assert.match(
    shell.errors[0]!,
    /No platform is running on this machine\. The one with its data in .* has stopped\nStart a platform/,
  );
  rmSync(other, { recursive: true });
});

test('a check needs the token of its user', async () => {
  const ask = (authorization: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${platform.privatePort}/_platform/check`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization },
      body: '{"project":"shop","record":""}',
    });
  assert.equal((await ask('')).status, 401);
  const { token } = JSON.parse(readFileSync(record, 'utf8')) as { token: string };
  assert.deepEqual(await (await ask(`Bearer ${token}`)).json(), { routed: false });
});

test('a class of durable objects is not lost by a deployment, and deleted where that is said', async () => {
  const code = (name: string): string =>
    `export class ${name} { constructor(ctx) { this.ctx = ctx; } add() { return this.ctx.storage.put('a', 1); } }
export default { async fetch(request, env) { await env.ROOM.getByName('lobby').add(); return new Response('${name}'); } };\n`;
  file('platform.yaml', 'kind: worker\nname: rooms\nobject: { ROOM: Room }\n');
  file('src/index.ts', code('Room'));
  await ok('deploy', '--prod');
  await says('rooms', 'Room');
  file('platform.yaml', 'kind: worker\nname: rooms\n');
  file('src/index.ts', 'export default { fetch: () => new Response("plain") };\n');
  const refused = await call('deploy', '--prod');
  assert.equal(refused.code, 1);
  assert.equal(
    refused.errors[0],
    'error Production has durable objects of the class Room, such as "lobby", but this deployment has no such class\n' +
      'Put the class back into "object" in platform.yaml, or add to "object_classes" either renamed: { Room: NewName } ' +
      'or deleted: [Room], which deletes these objects.',
  );
  const { deployment } = JSON.parse((await ok('deploy', '--branch', 'next', '--json'))[0]!) as Told;
  assert.match((await call('promote', deployment)).errors[0]!, /durable objects of the class Room/);
  await says('rooms', 'Room');
  file('platform.yaml', 'kind: worker\nname: rooms\nobject_classes: { deleted: [Room] }\n');
  assert.equal((await ok('deploy', '--prod')).at(-1), 'Deleted 1 durable object of the class Room');
  assert.deepEqual(
    (await ok('deploy', '--prod')).filter((line) => line.includes('object')),
    [],
  );
  file('platform.yaml', 'kind: worker\nname: shop\n');
});

test('a class of durable objects moves to another project when both say so', async () => {
  const code = (name: string): string =>
    `export class ${name} { constructor(ctx) { this.ctx = ctx; }
  async add() { const n = ((await this.ctx.storage.get('n')) ?? 0) + 1; await this.ctx.storage.put('n', n); return '${name} ' + n; } }
export default { async fetch(request, env) { return new Response(await env.ROOM.getByName('lobby').add()); } };\n`;
  const from = (yaml: string): void => file('platform.yaml', `kind: worker\nname: lobby\n${yaml}`);
  const to = (): void => {
    const received = 'object_classes: { received: { Hall: { project: lobby, class: Room } } }\n';
    file('platform.yaml', `kind: worker\nname: hall\nobject: { ROOM: Hall }\n${received}`);
    file('src/index.ts', code('Hall'));
  };
  from('object: { ROOM: Room }\n');
  file('src/index.ts', code('Room'));
  await ok('deploy', '--prod');
  await says('lobby', 'Room 1');
  const moved =
    'object: { ROOM: { class: Hall, project: hall } }\n' +
    'object_classes: { transferred: { Room: { project: hall, class: Hall } } }\n';
  from(moved);
  assert.match(
    (await call('deploy', '--prod')).errors[0]!,
    /transferred to hall, whose production does not receive it/,
  );
  to();
  await ok('deploy', '--prod');
  from(moved);
  await ok('deploy', '--prod');
  await says('lobby', 'Hall 2');
  await says('hall', 'Hall 3');
  file('platform.yaml', 'kind: worker\nname: hall\n');
  assert.match((await call('deploy', '--prod')).errors[0]!, /has the objects that lobby transferred/);
  from('');
  assert.match((await call('deploy', '--prod')).errors[0]!, /durable objects of the class Room, such as "lobby"/);
  file('platform.yaml', 'kind: worker\nname: shop\n');
});
