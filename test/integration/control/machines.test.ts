// Machines announce themselves in Postgres: who may join, when one is lost, and what operators do with it.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { run } from '#cli/main.ts';
import { reportMachines } from '#control/alerts/machines.ts';
import { serveApi } from '#control/process/servers.ts';
import { announceMachine, type AnnouncedMachine, type MachineFacts, type MachineLook } from '#postgres/machine.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { recordingShell } from '#test/unit/cli/recording-shell.ts';

let control: TestControl;
const open: AnnouncedMachine[] = [];
before(async () => {
  control = await startControl();
  await control.sql`UPDATE control.account SET is_admin = true WHERE id = ${control.owner.accountId}`;
});
after(() => control.close());
afterEach(async () => {
  for (const machine of open.splice(0)) await machine.close();
  await control.sql`TRUNCATE control.machine, control.alert_event CASCADE`;
});

/** A machine as a supervisor announces it. */
async function machine(
  facts: Partial<MachineFacts>,
  {
    now,
    edgeReadAt = () => null,
    routesAge = null,
  }: { now?: () => number; edgeReadAt?: () => string | null; routesAge?: number | null } = {},
) {
  const looks: MachineLook[] = [];
  const refusals: string[] = [];
  const announced = await announceMachine({
    url: control.databaseUrl,
    facts: {
      name: 'm1',
      isNameChosen: true,
      privateOrigin: 'http://10.0.0.1:8081',
      upstream: '10.0.0.1:4001',
      parts: ['handler'],
      version: '1.0.0',
      keyIds: ['aaaaaaaa'],
      clockMsMax: 10_000,
      ...facts,
    },
    figures: () => ({
      memoryBytes: 4096,
      memoryFreeBytes: 1024,
      diskBytes: 8192,
      diskFreeBytes: 2048,
      routesAgeSeconds: routesAge,
    }),
    edgeReadAt,
    onLook: (look) => looks.push(look),
    onRefused: (reason) => refusals.push(reason),
    onTrouble: (error) => assert.fail(error as Error),
    ...(now !== undefined && { now }),
  });
  open.push(announced);
  await announced.look();
  return { ...announced, looks, refusals };
}

const list = async () => (await control.call('GET', '/operator/machines')).body.items;
/** As it is after the machine was killed that long ago. */
const age = (name: string, seconds: number) =>
  control.sql`UPDATE control.machine SET seen_at = now() - ${seconds} * interval '1 second' WHERE name = ${name}`;
/** A row that no process renews. */
async function leftBehind(name: string, seconds: number, state = 'up'): Promise<void> {
  await control.sql`
    INSERT INTO control.machine (name, member, lock_key, state, private_origin, upstream, parts, version, key_ids,
      memory_bytes, memory_free_bytes, disk_bytes, disk_free_bytes)
    VALUES (${name}, 'b7-x', 7, ${state}, ${`http://${name}:8081`}, ${`${name}:4001`}, ${['handler']}, '1.0.0', ${[]}, 1, 1, 1, 1)`;
  await age(name, seconds);
}

test('a version that does not work beside those of the installation is refused', async () => {
  await control.sql`UPDATE control.platform SET version = '1.3.0', works_from = '1.2.0'`;
  try {
    assert.deepEqual((await machine({ version: '1.2.0' })).refusals, []);
    assert.deepEqual((await machine({ name: 'm2', version: '1.1.0' })).refusals, [
      'This is version 1.1.0, and the installation has version 1.3.0, which works beside 1.2.0 and newer ones: install one of these here',
    ]);
    assert.deepEqual(
      (await list()).map(({ name }: { name: string }) => name),
      ['m1'],
    );
  } finally {
    await control.sql`UPDATE control.platform SET version = '0.2.0', works_from = '0.2.0'`;
  }
});

test('a machine is listed with what it says of itself, and is gone when it stops', async () => {
  const own = await machine({ parts: ['handler', 'api'] });
  const [{ announcedAt, seenAt, ...row }] = await list();
  assert.deepEqual(row, {
    name: 'm1',
    status: 'up',
    privateOrigin: 'http://10.0.0.1:8081',
    upstream: '10.0.0.1:4001',
    parts: ['handler', 'api'],
    version: '1.0.0',
    memoryBytes: 4096,
    memoryFreeBytes: 1024,
    diskBytes: 8192,
    diskFreeBytes: 2048,
  });
  assert.ok(Date.parse(seenAt) >= Date.parse(announcedAt));
  assert.deepEqual(own.looks.at(-1)!.serving, [{ name: 'm1', upstream: '10.0.0.1:4001' }]);
  await own.close();
  assert.deepEqual(await list(), []);
});

test('the second of two machines with one name is refused; a name that nobody chose gets a number', async () => {
  const first = await machine({});
  const second = await machine({ privateOrigin: 'http://10.0.0.2:8081' });
  const third = await machine({ isNameChosen: false });
  await first.look();
  await second.look();
  await third.look();
  assert.deepEqual(second.refusals, [
    'Another machine is called m1 (http://10.0.0.1:8081): give this one another MACHINE_NAME',
  ]);
  assert.deepEqual([first.refusals, third.refusals], [[], []]);
  await first.look();
  await third.look();
  assert.deepEqual(
    (await list()).map(({ name }: { name: string }) => name),
    ['m1', 'm1-2'],
  );
});

test('a machine that was killed gets its name back once its lease has ended', async () => {
  await leftBehind('m1', 3);
  const again = await machine({});
  await again.look();
  assert.deepEqual([again.looks, again.refusals], [[], []]);
  await age('m1', 6);
  await again.look();
  assert.equal(again.looks.at(-1)!.name, 'm1');
});

test('another ENCRYPTION_KEY is refused, one that is being replaced is not', async () => {
  await machine({});
  const other = await machine({ name: 'm2', keyIds: ['bbbbbbbb'] });
  const both = await machine({ name: 'm3', keyIds: ['bbbbbbbb', 'aaaaaaaa'] });
  const none = await machine({ name: 'm4', keyIds: [] });
  assert.deepEqual(other.refusals, ['ENCRYPTION_KEY differs from that of machine m1: give this machine the same key']);
  assert.deepEqual([both.refusals, none.refusals], [[], []]);
});

test('a clock that is off is refused with the difference', async () => {
  const ahead = await machine({}, { now: () => Date.now() + 300_000 });
  const behind = await machine({ name: 'm2' }, { now: () => Date.now() - 60_000 });
  assert.match(
    ahead.refusals[0]!,
    /^The clock of this machine is (?:299|300) s ahead of that of Postgres, and 10 s are allowed/,
  );
  assert.match(behind.refusals[0]!, /^The clock of this machine is (?:59|60) s behind that of Postgres/);
  assert.deepEqual(await list(), []);
});

test('a lost machine is reported once, and when it is back', async () => {
  await leftBehind('m1', 16);
  await leftBehind('m2', 12);
  await leftBehind('m3', 60, 'drained');
  await reportMachines(control.deps);
  await reportMachines(control.deps);
  const events = async () =>
    (await control.sql`SELECT type, name FROM control.alert_event ORDER BY created_at`).map((row) => ({ ...row }));
  assert.deepEqual(await events(), [{ type: 'fired', name: 'Machine m1 is lost' }]);
  assert.deepEqual(
    (await list()).map(({ status }: { status: string }) => status),
    ['lost', 'lost', 'lost'],
  );
  await machine({});
  await reportMachines(control.deps);
  assert.deepEqual((await events())[1], { type: 'resolved', name: 'Machine m1 is lost' });
});

test('a machine that serves old routes for a while is reported once, and when they are current', async () => {
  await machine({}, { routesAge: 61 });
  await machine({ name: 'm2' }, { routesAge: 60 });
  await machine({ name: 'm3' });
  const report = () => reportMachines(control.deps);
  const events = async () =>
    (await control.sql`SELECT type, name, message FROM control.alert_event ORDER BY created_at`).map((row) => ({
      ...row,
    }));
  await report();
  assert.deepEqual(await events(), []);
  await control.sql`UPDATE control.machine SET routes_old_at = routes_old_at - interval '16 seconds'`;
  await report();
  await report();
  assert.deepEqual(await events(), [
    {
      type: 'fired',
      name: 'Routes of machine m1 are old',
      message:
        'It serves those of 61 seconds ago: its mirror cannot read Postgres or the bucket of artifacts, or its disk is full. Check its log.',
    },
  ]);
  await control.sql`UPDATE control.machine SET routes_age_seconds = 0`;
  await report();
  await report();
  assert.deepEqual((await events()).slice(1), [
    { type: 'resolved', name: 'Routes of machine m1 are old', message: 'They are current.' },
  ]);
});

test('a machine drains when another one serves, and only once edges have read that', async () => {
  const own = await machine({});
  const drain = () => control.call('POST', '/operator/machines/m1/drain');
  assert.deepEqual(
    [(await drain()).status, (await drain()).body.message],
    [409, 'No other machine serves requests that m1 could hand over to: start another machine first'],
  );
  let readAt: string | null = null;
  const edge = await machine(
    { name: 'm2', upstream: '10.0.0.2:4001', parts: ['handler', 'edge'] },
    {
      edgeReadAt: () => readAt,
    },
  );
  assert.equal((await drain()).body.status, 'draining');
  await own.look();
  assert.deepEqual([own.looks.at(-1)!.state, own.looks.at(-1)!.isLeftByEdges], ['draining', false]);
  await edge.look();
  assert.deepEqual(edge.looks.at(-1)!.serving, [{ name: 'm2', upstream: '10.0.0.2:4001' }]);
  readAt = edge.looks.at(-1)!.at;
  await edge.look();
  await own.look();
  assert.equal(own.looks.at(-1)!.isLeftByEdges, true);
  own.setDrained();
  await own.look();
  assert.equal((await list())[0].status, 'drained');
  assert.equal((await control.call('POST', '/operator/machines/m2/drain')).status, 409);
});

test('only lost and drained machines are removed, and one that still runs is refused', async () => {
  const own = await machine({});
  const refused = await control.call('DELETE', '/operator/machines/m1');
  assert.deepEqual(
    [refused.status, refused.body.message],
    [409, 'm1 is up: drain it first, or stop it, which removes it'],
  );
  await control.sql`UPDATE control.machine SET state = 'drained'`;
  assert.equal((await control.call('DELETE', '/operator/machines/m1')).status, 204);
  assert.equal((await control.call('DELETE', '/operator/machines/m1')).status, 404);
  await own.look();
  assert.deepEqual(own.refusals, [
    'Machine m1 was removed from the installation, or another machine uses its name now: restart it to join again',
  ]);
  const [event] = await control.sql<{ action: string; subject_id: string }[]>`
    SELECT action, subject_id FROM control.audit_event WHERE subject_kind = 'machine' ORDER BY at DESC LIMIT 1`;
  assert.deepEqual({ ...event }, { action: 'machine.remove', subject_id: 'm1' });
});

test('the command lists, drains and removes machines', async () => {
  await leftBehind('m1', 60);
  await machine({ name: 'm2' });
  const server = await serveApi({ host: '127.0.0.1', port: 0, fetch: (request) => control.fetch(request) });
  const platform = async (...words: string[]) => {
    const shell = recordingShell('/', {
      PLATFORM_HOME: '/nowhere',
      PLATFORM_API_URL: `http://127.0.0.1:${server.port}`,
      PLATFORM_API_TOKEN: control.owner.token,
    });
    const code = await run(words, shell);
    return { code, output: shell.output, errors: shell.errors };
  };
  try {
    assert.match(
      (await platform('machines')).output.join('\n'),
      /^m1\tlost\tm1:4001\thandler\t1\.0\.0\t0\.0 GB of 0\.0 GB\t0\.0 GB of 0\.0 GB\t.+\nm2\tup\t10\.0\.0\.1:4001/,
    );
    const drained = await platform('machines', 'drain', 'm1');
    assert.equal(drained.code, 1);
    assert.match(drained.errors.join('\n'), /m1 is lost: remove it, or start it again/);
    assert.deepEqual((await platform('machines', 'remove', 'm1', '-y')).output, ['Removed m1']);
    assert.equal(JSON.parse((await platform('machines', 'list', '--json')).output.join('')).machines.length, 1);
  } finally {
    await server.close();
  }
});
