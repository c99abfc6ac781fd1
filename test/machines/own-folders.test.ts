// Machines without a shared folder: an API and handlers with a data folder each, one Postgres, and a server that speaks
// S3. Prints how long a promotion takes until all of them serve it.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '#postgres/embedded.ts';
import { engineUrlOf } from '#postgres/engine-role.ts';
import { freePort } from '#test/setup/free-port.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { startS3Server, variablesOf, type S3Server } from '#test/setup/s3-server.ts';
import { startUploadingApi, type UploadingApi } from '#test/setup/uploading-api.ts';
import { until } from '#test/setup/until.ts';

const run = promisify(execFile);
const root = mkdtempSync(path.join(tmpdir(), 'platform-machines-'));
const secret = (use: string): string => createHash('sha256').update(use).digest('hex');

let postgres: EmbeddedPostgres;
let s3: S3Server;
let api: UploadingApi;
let handlers: TestPlatform[] = [];
let handlerVariables: Record<string, string>;
let privatePorts: number[];
let project: string;
/** Everything but handlers is off. */
let isDark = false;

before(async () => {
  [postgres, s3] = await Promise.all([startEmbeddedPostgres({ folder: path.join(root, 'postgres') }), startS3Server()]);
  privatePorts = [await freePort(), await freePort()];
  const shared = {
    ...variablesOf(s3, 'ARTIFACTS_S3'),
    ARTIFACTS_S3_BUCKET: s3.bucket,
    PRIVATE_PORT_TOKEN: secret('private port'),
  };
  api = await startUploadingApi(root, {
    ...shared,
    PLATFORM_PARTS: 'api,builder',
    FS_PATH: path.join(root, 'api'),
    DATABASE_URL: postgres.url,
    AUTH_SECRET: secret('auth'),
    ENCRYPTION_KEY: secret('encryption'),
    WEB_TOKEN: secret('web'),
    API_PORT: '0',
    HANDLER_PRIVATE_PORT: '0',
    API_HANDLER_URL: privatePorts.map((port) => `http://127.0.0.1:${port}`).join(','),
  });
  handlerVariables = {
    ...shared,
    PLATFORM_PARTS: 'handler,mirror',
    DATABASE_URL: '',
    ENGINE_DATABASE_URL: engineUrlOf(postgres.url),
    ENGINE_SECRET: secret('engine'),
    DB_URL: 'tcp://127.0.0.1:1',
    DB_SERVICE_TOKEN: secret('databases'),
  };
  handlers = await Promise.all([0, 1].map(startHandler));
});

after(async () => {
  for (const handler of handlers) await handler.close();
  if (!isDark) await stopTheRest();
  rmSync(root, { recursive: true, force: true });
});

const startHandler = (index: number): Promise<TestPlatform> =>
  startPlatform(
    {},
    {
      ...handlerVariables,
      // One as `platform join` makes them, with the owner's account; the others have that of engines alone.
      ...(index === 1 && { DATABASE_URL: postgres.url, ENGINE_DATABASE_URL: '' }),
      FS_PATH: path.join(root, `handler-${index}`),
      HANDLER_PRIVATE_PORT: String(privatePorts[index] ?? 0),
    },
  );

async function stopTheRest(): Promise<void> {
  isDark = true;
  // It may not have started.
  await (api as UploadingApi | undefined)?.stop();
  await Promise.all([s3.close(), postgres.stop()]);
}

const deploy = (text: string, branch: string): Promise<string> =>
  api.deploy(project, branch, `export default { fetch: () => new Response('${text}') };`);

const answersOf = (label: string): Promise<string[]> =>
  Promise.all(handlers.map(async (handler) => (await handler.fetch(label)).text));

let second = '';

test('a deployment is served by every machine, and by none from a folder of another one', async () => {
  project = await api.createProject('shop');
  await deploy('one', 'main');
  assert.deepEqual(await answersOf('shop'), ['one', 'one']);
  second = await deploy('two', 'next');
  assert.deepEqual(await answersOf('shop--next'), ['two', 'two']);
  for (const index of [0, 1]) {
    const folder = path.join(root, `handler-${index}`);
    assert.equal(readdirSync(path.join(folder, 'artifacts')).length, 2);
    assert.ok(existsSync(path.join(folder, 'routes', 'shop.json')));
  }
  // The API keeps what was uploaded to it, and no routes.
  assert.equal(existsSync(path.join(root, 'api', 'routes', 'shop.json')), false);
});

test('a push is built, and its artifact reaches the API and the machines by the bucket alone', async () => {
  await api.createProject('pushed');
  const clone = path.join(root, 'clone');
  mkdirSync(path.join(clone, 'src'), { recursive: true });
  writeFileSync(path.join(clone, 'platform.yaml'), 'name: pushed\n');
  writeFileSync(path.join(clone, 'src/index.ts'), "export default { fetch: () => new Response('pushed') };\n");
  const git = (...args: string[]): unknown =>
    run('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...args], {
      cwd: clone,
      env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_TERMINAL_PROMPT: '0' },
    });
  await git('init', '-q', '-b', 'main');
  await git('add', '.');
  await git('commit', '-q', '-m', 'first');
  const { host } = new URL(api.origin);
  await git('push', '-q', `http://x:${api.token}@${host}/git/pushed.git`, 'main');
  await until(async () => (await answersOf('pushed')).every((text) => text === 'pushed'));
});

test('a promotion and a rollback are on all machines when they are confirmed', async () => {
  const times: number[] = [];
  for (const [at, body, text] of [
    [`/deployments/${second}/promote`, {}, 'two'],
    [`/projects/${project}/rollback`, {}, 'one'],
    [`/deployments/${second}/promote`, {}, 'two'],
    [`/projects/${project}/rollback`, {}, 'one'],
  ] as const) {
    const began = performance.now();
    const moved = api.call<{ routed: boolean }>('POST', at, body);
    await until(async () => (await answersOf('shop')).every((answer) => answer === text));
    times.push(Math.round(performance.now() - began));
    assert.equal((await moved).routed, true);
  }
  console.log(
    `from the request of a promotion or rollback to the first answers of both machines: ${times.join(', ')} ms`,
  );
});

test('a machine that joins serves what the others serve, before it listens', async () => {
  const joined = await startHandler(2);
  handlers.push(joined);
  assert.equal((await joined.fetch('shop')).text, 'one');
  assert.equal((await joined.fetch('shop--next')).text, 'two');
});

test('with API, Postgres and S3 away a killed machine starts again, and says how old its routes are', async () => {
  await stopTheRest();
  const [kept, killed] = handlers as [TestPlatform, TestPlatform];
  process.kill(killed.supervisorPid, 'SIGKILL');
  const again = await startHandler(1);
  handlers.push(again);
  assert.equal((await again.fetch('shop')).text, 'one');
  assert.equal((await again.fetch('shop--next')).text, 'two');
  assert.equal((await kept.fetch('shop')).text, 'one');
  await again.logged(({ msg }) => msg === 'Routes cannot be updated: this machine serves the last known ones');
  const age = await until(async () => {
    const health = JSON.parse((await again.ask('/_platform/health')).text) as { routesAgeSeconds?: number };
    return health.routesAgeSeconds === undefined ? null : [health.routesAgeSeconds];
  });
  assert.ok(age[0]! >= 0);
  assert.match((await again.ask('/metrics')).text, /^platform_routes_age_seconds \d/m);
});
