// Services through real processes: a script that says it is ready, and writes down when it starts and stops.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { EventEmitter } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { Services, type ServiceSpec } from '#runtime/supervisor/services/services.ts';
import { until } from '#test/setup/until.ts';

const script = `
import { appendFileSync } from 'node:fs';
const [name, file, mode] = process.argv.slice(2);
const say = (what) => appendFileSync(file, what + ' ' + name + '\\n');
if (mode === 'broken') process.exit(3);
say('start');
process.on('SIGTERM', () => { say('stop'); process.exit(0); });
process.on('disconnect', () => process.exit(1));
if (mode !== 'silent') process.send({ type: 'ready' });
`;

function setUp(t: TestContext): {
  spec: (name: string, mode?: string) => ServiceSpec;
  lines: () => string[];
  events: EventEmitter;
} {
  const folder = mkdtempSync(join(tmpdir(), 'platform-test-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'service.mjs');
  const log = join(folder, 'log');
  writeFileSync(file, script);
  writeFileSync(log, '');
  return {
    spec: (name, mode = 'good') => ({
      name,
      start: () => fork(file, [name, log, mode], { execArgv: [], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] }),
      readyMsMax: mode === 'silent' ? 300 : 20_000,
      stopMsMax: 5000,
    }),
    lines: () => readFileSync(log, 'utf8').trim().split('\n'),
    events: new EventEmitter(),
  };
}

test('services start in order and stop in reverse', async (t) => {
  const { spec, lines } = setUp(t);
  const services = new Services([spec('database'), spec('broker')], { onDeath() {}, onReady() {} });
  await services.start();
  assert.deepEqual(
    services.states().map(({ name, state, restarts }) => [name, state, restarts]),
    [
      ['database', 'ready', 0],
      ['broker', 'ready', 0],
    ],
  );
  await services.stop();
  assert.deepEqual(lines(), ['start database', 'start broker', 'stop broker', 'stop database']);
  assert.deepEqual(
    services.states().map(({ state, pid }) => [state, pid]),
    [
      ['stopped', null],
      ['stopped', null],
    ],
  );
});

test('one that dies is started again', async (t) => {
  const { spec, events } = setUp(t);
  const services = new Services([spec('broker')], {
    onDeath: (...death) => void events.emit('death', ...death),
    onReady: () => void events.emit('ready'),
  });
  await services.start();
  const [first] = services.states();
  const died = once(events, 'death');
  const again = once(events, 'ready');
  process.kill(first!.pid as number, 'SIGKILL');
  assert.deepEqual(await died, ['broker', null, 'SIGKILL', 0]);
  await again;
  const [second] = services.states();
  assert.equal(second?.restarts, 1);
  assert.notEqual(second?.pid, first!.pid);
  await services.stop();
});

test('one that cannot start, or never is ready, is an error', async (t) => {
  const { spec } = setUp(t);
  const hooks = { onDeath() {}, onReady() {} };
  await assert.rejects(
    new Services([spec('broker', 'broken')], hooks).start(),
    /Service broker ended before it was ready \(exit code 3\)/,
  );
  await assert.rejects(
    new Services([spec('broker', 'silent')], hooks).start(),
    /Service broker is not ready after 300 ms/,
  );
});

test('one on demand starts when it is wanted, ends when it is done, and is started again when it dies', async (t) => {
  const { spec, lines, events } = setUp(t);
  const services = new Services([spec('broker'), { ...spec('builder'), isOnDemand: true }], {
    onDeath: (name) => void events.emit('death', name),
    onReady: (name) => void events.emit('ready', name),
  });
  const pid = (): number | null => services.states()[1]!.pid;
  await services.start();
  assert.equal(services.want('broker'), false);
  assert.deepEqual(lines(), ['start broker']);
  assert.equal(services.want('builder'), true);
  services.want('builder');
  await once(events, 'ready');
  const first = pid()!;
  const died = once(events, 'death');
  process.kill(first, 'SIGKILL');
  assert.deepEqual(await died, ['builder']);
  await once(events, 'ready');
  const second = pid()!;
  assert.notEqual(second, first);
  // Exit code 0: it has nothing to do.
  process.kill(second, 'SIGTERM');
  await until(() => services.states()[1]!.state === 'stopped');
  services.want('builder');
  await once(events, 'ready');
  await services.stop();
  assert.deepEqual(lines().slice(1), [
    'start builder',
    'start builder',
    'stop builder',
    'start builder',
    'stop builder',
    'stop broker',
  ]);
});

test('one on demand that cannot start says so, and is tried again later only', async (t) => {
  const { spec, events } = setUp(t);
  let starts = 0;
  const broken = spec('builder', 'broken');
  const services = new Services([{ ...broken, isOnDemand: true, start: () => (starts++, broken.start()) }], {
    onDeath() {},
    onReady() {},
    onFailure: (...failure) => void events.emit('failure', ...failure),
  });
  await services.start();
  services.want('builder');
  const [name, error] = (await once(events, 'failure')) as [string, Error];
  assert.deepEqual([name, error.message], ['builder', 'Service builder ended before it was ready (exit code 3)']);
  services.want('builder');
  assert.equal(starts, 1);
  await services.stop();
});
