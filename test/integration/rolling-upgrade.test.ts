// One machine at a time is upgraded, and one that did not come back stops the others: the turn, over a real Postgres.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { noteStep, takeTurn } from '#operations/upgrade/turn.ts';
import { openPostgres, type Postgres } from '#postgres/connection.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let sql: Postgres;
before(async () => {
  database = await createTestDatabase();
  sql = openPostgres({ url: database.url, name: 'test', connectionsMax: 4 });
});
after(async () => {
  await sql.close();
  await database.close();
});
afterEach(() => sql.all('TRUNCATE control.rolling_upgrade, control.machine, control.audit_event CASCADE'));

const quiet = (): void => {};
/** The turn of a machine, for as long as its work lasts. A session keeps its lock: each turn has a pool of its own. */
async function turn<Result>(
  name: string,
  work: (isOwnOpen: boolean) => Result | Promise<Result>,
  { skip = null, say = quiet }: { skip?: string | null; say?: (line: string) => void } = {},
): Promise<Result> {
  const own = openPostgres({ url: database.url, name: 'test turn', connectionsMax: 1 });
  try {
    return await own.session(async (session) => work((await takeTurn(session, name, skip, say)).isOwnOpen));
  } finally {
    await own.close();
  }
}

const step = (machine: string, what: 'draining' | 'restarting' | 'done' | 'failed', reason?: string): Promise<void> =>
  noteStep(sql, {
    machine,
    from_version: '1.0.0',
    to_version: '1.1.0',
    step: what,
    ...(reason !== undefined && { reason }),
  });

test('a machine waits until the one before has had its turn, and says for which', async () => {
  const order: string[] = [];
  const said: string[] = [];
  let second: Promise<unknown> = Promise.resolve();
  await turn('m1', async () => {
    await step('m1', 'draining');
    const isWaiting = new Promise<void>((resolve) => {
      second = turn('m2', () => order.push('m2'), {
        say(line) {
          said.push(line);
          resolve();
        },
      });
    });
    await isWaiting;
    order.push('m1');
    await step('m1', 'done');
  });
  await second;
  assert.deepEqual(order, ['m1', 'm2']);
  assert.deepEqual(said, ['Waiting: m1 is being upgraded']);
});

test('a machine that did not come back stops the others until it is mended or left out', async () => {
  await step('m1', 'failed', 'it is not ready within 300 s');
  await assert.rejects(turn('m2', quiet), {
    message: 'm1 did not come back with version 1.1.0: it is not ready within 300 s',
    advice:
      'Repair it, and run `platform upgrade --rolling` on m1 again. If it is gone for good, add `--skip m1` here.',
  });
  assert.equal(await turn('m2', (isOwnOpen) => isOwnOpen, { skip: 'm1' }), false);
  assert.equal(await turn('m1', (isOwnOpen) => isOwnOpen), true);
  await sql.all(`INSERT INTO control.machine (name, member, lock_key, parts, version, key_ids, memory_bytes,
      memory_free_bytes, disk_bytes, disk_free_bytes)
    VALUES ('m1', 'b1-x', 1, '{handler}', '1.1.0', '{}', 1, 1, 1, 1)`);
  assert.equal(await turn('m2', (isOwnOpen) => isOwnOpen), false);
});

test('an interrupted upgrade names its step and continues there', async () => {
  for (const [what, word] of [
    ['draining', 'drained'],
    ['restarting', 'restarted'],
  ] as const) {
    await step('m1', what);
    await assert.rejects(turn('m2', quiet), {
      message: `The upgrade of m1 to version 1.1.0 was interrupted while it was ${word}`,
    });
  }
  assert.equal(await turn('m1', (isOwnOpen) => isOwnOpen), true);
});

test('the end of an upgrade is in the audit log', async () => {
  await step('m1', 'draining');
  await step('m1', 'done');
  assert.deepEqual(
    await sql.all(`SELECT subject_id, details FROM control.audit_event WHERE action = 'machine.upgrade'`),
    [{ subject_id: 'm1', details: { from: '1.0.0', to: '1.1.0', result: 'done' } }],
  );
});
