// When sandboxes are made, woken, suspended, stopped and destroyed, over machines that only say what they are.
import assert from 'node:assert/strict';
import { duplexPair } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { PlatformError } from '#core/errors.ts';
import type { SandboxPlace } from '#core/sandbox/operations.ts';
import type { MachineSpec, MachineState, SandboxBackend } from '#sandbox/backends/backend.ts';
import type { IdleTimes, SandboxRows } from '#sandbox/service/rows.ts';
import { createMemoryRows } from '#sandbox/service/rows-memory.ts';
import { startSandboxes, type RunningSandboxes } from '#sandbox/service/sandboxes.ts';
import { eventually } from '#test/setup/whole-platform.ts';

const place: SandboxPlace = { project: 'shop', resource: 'work', id: 'a' };
const NEVER_MS = 2 ** 30;

interface Machines {
  readonly states: Map<string, MachineState>;
  readonly calls: string[];
  /** What machines were made and started of. */
  readonly specs: MachineSpec[];
  /** What the next calls of these names do first. */
  readonly before: Map<string, () => Promise<void> | void>;
}

function open(
  t: TestContext,
  given: { times?: IdleTimes; holder?: string; perProjectMax?: number; sizeOf?: (key: string) => number } = {},
): Machines & {
  readonly sandboxes: RunningSandboxes;
  readonly reports: string[];
  readonly sizes: Map<string, number>;
} {
  const { sizeOf } = given;
  const sizes = new Map<string, number>();
  const states = new Map<string, MachineState>();
  const [calls, reports]: string[][] = [[], []];
  const specs: MachineSpec[] = [];
  const before = new Map<string, () => Promise<void> | void>();
  const moving = (name: string, state: MachineState) => async (of: string | MachineSpec) => {
    const key = typeof of === 'string' ? of : of.key;
    calls!.push(name);
    if (typeof of !== 'string') specs.push(of);
    await before.get(name)?.();
    if (state === 'absent') states.delete(key);
    else states.set(key, state);
  };
  const backend: SandboxBackend = {
    provider: 'local',
    check: () => {},
    aiUrl: null,
    checkCopy: () => {},
    async copy(from, to) {
      calls!.push('copy');
      await before.get('copy')?.();
      assert.notEqual(states.get(from), 'running');
      states.set(to, 'stopped');
      return 4096;
    },
    create: moving('create', 'running'),
    resume: moving('resume', 'running'),
    suspend: moving('suspend', 'suspended'),
    stop: moving('stop', 'stopped'),
    destroy: moving('destroy', 'absent'),
    state: async (key) => states.get(key) ?? 'absent',
    keys: async () => [...states.keys()],
    ...(sizeOf !== undefined && {
      sizes: async () => new Map([...states.keys()].map((key) => [key, sizeOf(key)])),
    }),
    async connect(key) {
      calls!.push('connect');
      if (states.get(key) !== 'running') throw new PlatformError('sandbox_lost', { reason: 'it does not run' });
      return duplexPair()[0];
    },
    close: async () => {},
  };
  const { times = { idleMs: NEVER_MS, stopMs: NEVER_MS, destroyMs: NEVER_MS } } = given;
  const rows: SandboxRows = {
    ...createMemoryRows({ provider: 'local', perProjectMax: given.perProjectMax ?? 2, times }),
    async saveSizes(seen) {
      for (const [key, bytes] of seen) sizes.set(key, bytes);
    },
  };
  const sandboxes = startSandboxes({
    backend,
    rows:
      given.holder === undefined
        ? rows
        : { ...rows, claim: async () => ({ is: 'held', owner: given.holder!, leaseMs: 1000 }) },
    times,
    leaseMs: 1000,
    sweepMs: 5,
    perProjectMax: 2,
    machineMax: 'large',
    report: (message) => void reports!.push(message),
  });
  t.after(() => sandboxes.close());
  return { states, calls: calls!, specs, before, sandboxes, reports: reports!, sizes };
}

test('the first call makes the machine, and those that come meanwhile wait for the same', async (t) => {
  const { sandboxes, calls } = open(t);
  const held = await Promise.all(Array.from({ length: 20 }, () => sandboxes.hold(place)));
  assert.deepEqual(calls, ['create']);
  for (const one of held) one.release();
  assert.equal((await sandboxes.info(place))?.state, 'running');
  assert.equal(await sandboxes.info({ ...place, id: 'b' }), null);
});

test('a sandbox that nobody calls is suspended, stopped and destroyed, and comes back with its files until then', async (t) => {
  const times = { idleMs: 1, stopMs: NEVER_MS, destroyMs: NEVER_MS };
  const { sandboxes, calls, states } = open(t, { times });
  (await sandboxes.hold(place)).release();
  const [key] = states.keys();
  const is = (state: MachineState | undefined): Promise<boolean> =>
    eventually(String(state), async () => states.get(key!) === state);
  await is('suspended');
  (await sandboxes.hold(place)).release();
  await is('suspended');
  times.stopMs = 1;
  await is('stopped');
  times.idleMs = NEVER_MS;
  (await sandboxes.hold(place)).release();
  await is('running');
  times.idleMs = 1;
  await is('stopped');
  times.destroyMs = 1;
  await is(undefined);
  await eventually('no row', async () => (await sandboxes.info(place)) === null);
  assert.deepEqual(
    calls.filter((call) => call === 'create' || call === 'resume'),
    ['create', 'resume', 'resume'],
  );
});

test('what machines take on the disk is noted again and again, whether they run or not', async (t) => {
  let bytes = 4096;
  const { sandboxes, states, sizes } = open(t, { sizeOf: () => bytes });
  (await sandboxes.hold(place)).release();
  const [key] = states.keys();
  await eventually('noted', async () => sizes.get(key!) === 4096);
  await sandboxes.stop(place);
  bytes = 8192;
  await eventually('noted again', async () => sizes.get(key!) === 8192);
});

test('a sandbox with a call under way is not suspended', async (t) => {
  const { sandboxes, calls, reports } = open(t, { times: { idleMs: 1, stopMs: NEVER_MS, destroyMs: NEVER_MS } });
  const held = await sandboxes.hold(place);
  const other = await sandboxes.hold({ ...place, id: 'b' });
  other.release();
  // The other one shows that the sweeper has come by.
  await eventually('suspended', async () => (await sandboxes.info({ ...place, id: 'b' }))?.state === 'suspended');
  assert.equal((await sandboxes.info(place))?.state, 'running');
  assert.equal(calls.filter((call) => call === 'suspend').length, 1);
  held.release();
  held.release();
  await eventually('suspended', async () => (await sandboxes.info(place))?.state === 'suspended');
  assert.deepEqual(reports, []);
});

test('a machine that cannot be made is tried twice, and by the next call again', async (t) => {
  const { sandboxes, calls, before } = open(t);
  before.set('create', () => {
    throw new PlatformError('sandbox_unavailable', { reason: 'making the sandbox failed' });
  });
  await assert.rejects(sandboxes.hold(place), { code: 'sandbox_unavailable' });
  assert.deepEqual(calls, ['create', 'create']);
  assert.equal((await sandboxes.info(place))?.state, 'error');
  before.delete('create');
  (await sandboxes.hold(place)).release();
  assert.equal((await sandboxes.info(place))?.state, 'running');
});

test('a machine that was lost is started again with its files, for the call that finds out', async (t) => {
  const { sandboxes, calls, states } = open(t);
  const held = await sandboxes.hold(place);
  const [key] = states.keys();
  states.set(key!, 'stopped');
  const connections = await Promise.all([held.connect(), held.connect()]);
  assert.deepEqual(
    calls.filter((call) => call !== 'connect'),
    ['create', 'resume'],
  );
  states.delete(key!);
  connections.push(await held.connect());
  assert.equal(calls.filter((call) => call === 'create').length, 2);
  for (const connection of connections) connection.destroy();
  held.release();
});

test('destroying ends the calls in it at once, and the id is a new machine afterwards', async (t) => {
  const { sandboxes, states } = open(t);
  const held = await sandboxes.hold(place);
  const [key] = states.keys();
  const connection = await held.connect();
  const ended = new Promise<Error>((resolve) => connection.once('error', resolve));
  await sandboxes.destroy(place);
  assert.equal(((await ended) as PlatformError).code, 'sandbox_destroyed');
  await assert.rejects(held.connect(), { code: 'sandbox_destroyed' });
  held.release();
  assert.equal(states.size, 0);
  await sandboxes.destroy(place);
  (await sandboxes.hold(place)).release();
  assert.equal(states.size, 1);
  assert.notEqual([...states.keys()][0], key);
});

test('other options than a sandbox has stop its machine, and start it with its files', async (t) => {
  const { sandboxes, calls, specs } = open(t);
  (await sandboxes.hold(place, { machine: 'small' })).release();
  (await sandboxes.hold(place, { machine: 'small' })).release();
  (await sandboxes.hold(place)).release();
  assert.deepEqual(calls, ['create']);
  (await sandboxes.hold(place, { machine: 'large', image: 'tools:3' })).release();
  assert.deepEqual(calls, ['create', 'stop', 'resume']);
  (await sandboxes.hold(place, { image: null })).release();
  assert.deepEqual(
    specs.map(({ options }) => options),
    [
      { machine: 'small', image: null, egress: null, ai: null },
      { machine: 'large', image: 'tools:3', egress: null, ai: null },
      { machine: 'large', image: null, egress: null, ai: null },
    ],
  );
});

test('options are changed once, whoever asks for them at the same time', async (t) => {
  const { sandboxes, calls } = open(t);
  (await sandboxes.hold(place)).release();
  const held = await Promise.all(Array.from({ length: 20 }, () => sandboxes.hold(place, { machine: 'large' })));
  for (const one of held) one.release();
  assert.deepEqual(calls, ['create', 'stop', 'resume']);
});

test('a sandbox whose machine could not be stopped keeps its options, and takes them with the next call', async (t) => {
  const { sandboxes, calls, before } = open(t);
  (await sandboxes.hold(place)).release();
  before.set('stop', () => {
    before.delete('stop');
    throw new PlatformError('sandbox_unavailable', { reason: 'the engine is away' });
  });
  await assert.rejects(sandboxes.hold(place, { machine: 'large' }), { code: 'sandbox_unavailable' });
  assert.equal((await sandboxes.info(place))?.machine, null);
  (await sandboxes.hold(place, { machine: 'large' })).release();
  assert.deepEqual(calls, ['create', 'stop', 'stop', 'resume']);
  assert.equal((await sandboxes.info(place))?.machine, 'large');
});

test('a machine larger than the operator allows is refused, and nothing is made', async (t) => {
  const { sandboxes, calls } = open(t);
  await assert.rejects(sandboxes.hold(place, { machine: 'xlarge' }), {
    code: 'sandbox_option_refused',
    message:
      'Sandboxes do not support these options: machine "xlarge" is larger than the operator allows, which is "large" (SANDBOX_MACHINE_MAX)',
  });
  assert.deepEqual(calls, []);
  assert.equal(await sandboxes.info(place), null);
});

test('a snapshot is taken of what stands still, and is no sandbox that is listed', async (t) => {
  const { sandboxes, calls, states } = open(t);
  (await sandboxes.hold(place, { machine: 'small' })).release();
  const made = await sandboxes.snapshot(place, 'base');
  assert.deepEqual({ ...made, createdAt: 0 }, { id: 'base', of: 'a', sizeBytes: 4096, createdAt: 0 });
  assert.deepEqual(calls, ['create', 'suspend', 'copy', 'resume']);
  assert.deepEqual([...states.values()], ['running', 'stopped']);
  const page = { prefix: '', cursor: '', limit: 10 };
  assert.deepEqual(
    (await sandboxes.list(place, page)).items.map(({ id }) => id),
    ['a'],
  );
  assert.deepEqual(await sandboxes.listSnapshots(place, page), { items: [made], cursor: null });
  await assert.rejects(sandboxes.snapshot(place, 'base'), {
    code: 'sandbox_exists',
    message: 'A snapshot base already exists',
  });
  await sandboxes.deleteSnapshot({ ...place, id: 'base' });
  await sandboxes.deleteSnapshot({ ...place, id: 'base' });
  assert.deepEqual([...states.values()], ['running']);
});

test('a sandbox begins with a snapshot where there is none yet, also when that sandbox is gone', async (t) => {
  const { sandboxes, calls } = open(t, { perProjectMax: 3 });
  (await sandboxes.hold(place)).release();
  await sandboxes.snapshot(place, 'base');
  await sandboxes.destroy(place);
  calls.length = 0;
  const b = { ...place, id: 'b' };
  const held = await Promise.all([1, 2, 3].map(() => sandboxes.hold(b, { snapshot: 'base' })));
  for (const one of held) one.release();
  (await sandboxes.hold(b, { snapshot: 'another' })).release();
  assert.deepEqual(calls, ['copy', 'resume']);
  await assert.rejects(sandboxes.hold({ ...place, id: 'c' }, { snapshot: 'none' }), {
    code: 'snapshot_not_found',
    message: 'Project shop has no snapshot none',
  });
  assert.equal(await sandboxes.info({ ...place, id: 'c' }), null);
  // Those of another project and another resource are theirs.
  await assert.rejects(sandboxes.hold({ ...b, project: 'blog' }, { snapshot: 'base' }), { code: 'snapshot_not_found' });
  await assert.rejects(sandboxes.hold({ ...b, resource: 'other' }, { snapshot: 'base' }), {
    code: 'snapshot_not_found',
  });
});

test('a fork has the options of the sandbox, and there is none of that id before', async (t) => {
  const { sandboxes, calls } = open(t);
  await assert.rejects(sandboxes.fork(place, 'b'), {
    code: 'sandbox_copy_refused',
    message: /sandbox a does not exist/,
  });
  (await sandboxes.hold(place, { machine: 'large' })).release();
  await sandboxes.fork(place, 'b');
  assert.deepEqual(calls, ['create', 'suspend', 'copy', 'resume']);
  const { state, machine } = (await sandboxes.info({ ...place, id: 'b' }))!;
  assert.deepEqual([state, machine], ['stopped', 'large']);
  await assert.rejects(sandboxes.fork(place, 'b'), { code: 'sandbox_exists', message: 'A sandbox b already exists' });
});

test('a copy that fails leaves the sandbox running and nothing else, and snapshots count as sandboxes', async (t) => {
  const { sandboxes, states, before } = open(t);
  (await sandboxes.hold(place)).release();
  before.set('copy', () => {
    before.delete('copy');
    throw new PlatformError('sandbox_unavailable', { reason: 'the disk is full' });
  });
  await assert.rejects(sandboxes.snapshot(place, null), { code: 'sandbox_unavailable' });
  assert.deepEqual([...states.values()], ['running']);
  assert.match((await sandboxes.snapshot(place, null)).id, /^[0-9a-f]{16}$/);
  await assert.rejects(sandboxes.snapshot(place, null), { code: 'sandbox_limit' });
  await sandboxes.destroyProject('shop');
  assert.equal(states.size, 0);
});

test('one that could not be destroyed can be used, and destroyed later', async (t) => {
  const { sandboxes, before, states } = open(t);
  (await sandboxes.hold(place)).release();
  before.set('destroy', () => {
    throw new PlatformError('sandbox_unavailable', { reason: 'destroying the sandbox failed' });
  });
  await assert.rejects(sandboxes.destroy(place), { code: 'sandbox_unavailable' });
  (await sandboxes.hold(place)).release();
  before.delete('destroy');
  await sandboxes.destroy(place);
  assert.equal(states.size, 0);
});

test('all sandboxes of a project are destroyed, and no others', async (t) => {
  const { sandboxes, states } = open(t);
  const other = { ...place, project: 'blog' };
  for (const each of [place, { ...place, id: 'b' }, other]) (await sandboxes.hold(each)).release();
  await sandboxes.destroyProject('shop');
  assert.equal(states.size, 1);
  assert.equal((await sandboxes.info(other))?.state, 'running');
  assert.deepEqual(
    (await sandboxes.list({ project: 'shop', resource: 'work' }, { prefix: '', cursor: '', limit: 9 })).items,
    [],
  );
});

test('a project has as many sandboxes as it may', async (t) => {
  const { sandboxes } = open(t);
  for (const id of ['a', 'b']) (await sandboxes.hold({ ...place, id })).release();
  await assert.rejects(sandboxes.hold({ ...place, id: 'c' }), {
    code: 'sandbox_limit',
    message: 'Another sandbox of shop would exceed 2 (SANDBOX_PER_PROJECT_MAX)',
  });
});

test('machines that belong to no sandbox are destroyed', async (t) => {
  const { sandboxes, states, reports } = open(t);
  (await sandboxes.hold(place)).release();
  states.set('leftover', 'running');
  await eventually('gone', async () => !states.has('leftover'));
  assert.equal(states.size, 1);
  assert.deepEqual(reports, ['machine leftover belongs to no sandbox: destroyed']);
});

test('what another replica has is not touched, and said with who has it', async (t) => {
  const { sandboxes, calls } = open(t, { holder: 'b http://10.0.0.2:80' });
  await assert.rejects(sandboxes.hold(place), {
    code: 'sandbox_unavailable',
    details: {
      reason: 'another replica of the service has it (b http://10.0.0.2:80)',
      owner: 'b http://10.0.0.2:80',
      leaseMs: 1000,
    },
  });
  assert.deepEqual(calls, []);
});
