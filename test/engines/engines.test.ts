// Several engines on one port: one is killed under load, and a second platform wants the same port.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { nodeFlags } from '#core/node-flags.mjs';
import { send } from '#test/setup/handler.ts';
import { startLoad } from '#test/setup/load.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { until } from '#test/setup/until.ts';

const supervisorScript = join(import.meta.dirname, '../../runtime/supervisor/main.ts');
let platform: TestPlatform;

before(async () => {
  platform = await startPlatform(
    {
      hello: `export default { fetch: () => new Response('hello') };`,
      traps: `// (module (memory 1) (func (export "read") (param i32) (result i32) local.get 0 i32.load))
        const bytes = new Uint8Array([0,97,115,109,1,0,0,0, 1,6,1,96,1,127,1,127, 3,2,1,0, 5,3,1,0,1, 7,8,1,4,114,101,97,100,0,0, 10,9,1,7,0,32,0,40,2,0,11]);
        const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes));
        export default { fetch() { let traps = 0; for (let i = 0; i < 100; i++) try { exports.read(1 << 30); } catch { traps++; } return new Response(exports.read(0) + ' ' + traps); } };`,
      waits: `export default { async fetch() { await new Promise((resolve) => setTimeout(resolve, 5000)); return new Response('late'); } };`,
    },
    { HANDLER_PROCESSES: '2' },
  );
  await platform.answers('hello', 'hello');
});
after(() => platform.close());

const serving = async () =>
  (await platform.state()).engines.filter(({ role, state }) => role === 'serving' && state === 'listening');
const isReady = async (): Promise<boolean> => {
  const { engines } = await platform.state();
  return (await serving()).length === 2 && engines.some(({ state }) => state === 'ready');
};
const ready = (): Promise<true> => until(isReady);

test('all engines answer on one port, and each has a place of its own', async () => {
  const engines = await serving();
  assert.deepEqual(engines.map(({ place }) => place).toSorted(), [0, 1]);
  assert.equal(new Set(engines.map(({ pid }) => pid)).size, 2);
  assert.equal((await platform.state()).port, platform.port);
});

test('kill -9 of one of two: its own connections may be lost, everything else answers, and it is replaced', async () => {
  await ready();
  const clients = 8;
  const load = startLoad({ port: platform.port, host: 'hello.localhost', text: 'hello', clients, keepAlive: true });
  await load.more(300);
  const [victim] = await serving();
  process.kill(victim!.pid, 'SIGKILL');
  await platform.restarted();
  await load.more(300);
  await load.stop();
  // One request of each client at the most: whoever comes again finds an engine.
  assert.ok(load.failures.length <= clients, `${load.failures.length} failures`);
  const now = await serving();
  assert.deepEqual(now.map(({ place }) => place).toSorted(), [0, 1]);
  assert.equal(now.find(({ place }) => place === victim!.place)?.restarts, 1);
  assert.equal((await platform.state()).deaths, 1);
});

test('requests without a connection to the dead engine are all answered', async () => {
  await ready();
  const [victim] = await serving();
  process.kill(victim!.pid, 'SIGKILL');
  const load = startLoad({ port: platform.port, host: 'hello.localhost', text: 'hello', clients: 1, keepAlive: false });
  await load.more(100);
  await load.stop();
  assert.ok(load.failures.length <= 1, load.failures.join(', '));
});

test('who was running at a death by an unknown hand is suspected, and the ledger is kept in a file', async () => {
  await ready();
  const { ledger } = await platform.state();
  for (const { exact } of ledger) assert.equal(exact, 0);
  if (ledger.length > 0)
    assert.match(await readFile(join(platform.folder, 'crash-ledger.json'), 'utf8'), /"version":1/);
});

test('a second platform on the same port ends and says why', async () => {
  const second = fork(supervisorScript, {
    execArgv: [...nodeFlags],
    env: {
      PATH: process.env['PATH'],
      FS_PATH: platform.folder,
      HANDLER_PORT: String(platform.port),
      HANDLER_PRIVATE_PORT: '0',
    },
    stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
  });
  let said = '';
  second.stdout!.on('data', (bytes: Buffer) => (said += bytes.toString()));
  const [code] = (await once(second, 'close')) as [number];
  assert.equal(code, 78);
  assert.match(said, new RegExp(`Port ${platform.port} is taken: stop what listens there, or set HANDLER_PORT`));
  assert.equal((await platform.fetch('hello')).text, 'hello');
});

test('an engine that finds what it needs away once the platform serves is an engine that died, and not the end of the platform', async () => {
  await ready();
  const files = join(platform.folder, 'files');
  await rename(files, `${files}-away`);
  await writeFile(files, 'no folder');
  const [victim] = await serving();
  process.kill(victim!.pid, 'SIGKILL');
  await platform.logged(({ msg, code }) => msg === 'Engine exited' && code === 78);
  await rm(files);
  await rename(`${files}-away`, files);
  await ready();
  assert.equal((await platform.fetch('hello')).text, 'hello');
});

test('a trap of WebAssembly is an exception in the worker, and the end of no engine', async () => {
  const { deaths } = await platform.state();
  assert.equal((await platform.fetch('traps')).text, '0 100');
  assert.equal((await platform.state()).deaths, deaths);
});

test('what engines say to the supervisor is not served on the public port', async () => {
  const answer = await send(platform.port, `localhost:${platform.port}`, '/_platform/health');
  assert.equal(answer.status, 404);
  const inside = await platform.fetch('hello', '/_platform/health');
  assert.equal(inside.text, 'hello');
});

test('a graceful stop ends all processes and leaves no socket behind', async () => {
  const own = await startPlatform(
    { hello: `export default { fetch: () => new Response('hello') };` },
    { HANDLER_PROCESSES: '2' },
  );
  const { engines } = await own.state();
  const folder = join(engines[0]!.socketPath, '..');
  assert.ok((await readdir(folder)).length >= 4);
  await own.close();
  assert.equal(existsSync(folder), false);
  for (const { pid } of engines) assert.throws(() => process.kill(pid, 0), /ESRCH/);
});

test('while the only engine is dead, connections wait for the next one instead of being refused', async () => {
  const alone = await startPlatform({ hello: `export default { fetch: () => new Response('hello') };` });
  try {
    await alone.answers('hello', 'hello');
    for (let death = 1; death <= 2; death++) {
      process.kill(alone.enginePid, 'SIGKILL');
      const restarted = alone.restarted();
      await until(async () => (await alone.state()).deaths >= death);
      const answers = await Promise.all(Array.from({ length: 20 }, () => alone.fetch('hello')));
      assert.deepEqual(new Set(answers.map(({ text }) => text)), new Set(['hello']));
      await restarted;
    }
  } finally {
    await alone.close();
  }
});
