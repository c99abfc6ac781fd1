// What the outbox keeps to over each technology of queues: a message of a transaction is in its queue once, whoever
// takes it there and whatever fails on the way. The databases are those of a real database service.
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { databaseOps, outboxOps } from '#core/database-request.ts';
import { defaultLimits, type DeliveryLimits } from '#core/limits.ts';
import { PlatformError } from '#core/errors.ts';
import type { NewMessage } from '#runtime/engine/bindings/queue.ts';
import type { EventStores } from '#runtime/stores/event-stores.ts';
import type { OutboxDeps, RunningOutbox } from '#runtime/stores/outbox.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';
import { startDatabases, type TestDatabases } from '#test/setup/databases.ts';
import { openOutbox } from '#test/setup/outbox.ts';
import { until } from '#test/setup/until.ts';

const sender = { project: 'shop', branch: 'main', binding: 'MAIL' };
const mail = { namespace: 'shop', resource: 'mail' };
const MINUTE = 60_000;

/** Registers the suite's tests. */
export function outboxContract(
  open: (limits: DeliveryLimits) => Promise<{ stores: EventStores; close(): Promise<void> }>,
): void {
  let databases: TestDatabases;
  let stores: EventStores;
  let close: () => Promise<void>;
  let count = 0;
  let place = { namespace: 'shop', resource: 'main' };
  const outboxes: RunningOutbox[] = [];

  before(async () => {
    databases = await startDatabases({ outboxMax: 50 });
    ({ stores, close } = await open(defaultLimits.delivery));
  });
  beforeEach(async () => {
    place = { namespace: 'shop', resource: `main${++count}` };
    await stores.queue.purge(mail);
    // Those of other tests.
    for (const found of await stores.outboxes.due(Number.MAX_SAFE_INTEGER, 0, 1000)) await stores.outboxes.drop(found);
  });
  afterEach(async () => {
    for (const outbox of outboxes.splice(0)) await outbox.close();
  });
  after(async () => {
    await databases.close();
    await close();
  });

  function outboxOf(deps: Partial<OutboxDeps> = {}): RunningOutbox {
    const outbox = openOutbox(databases.client, stores, defaultLimits.delivery, { log: () => {}, ...deps });
    outboxes.push(outbox);
    return outbox;
  }

  const message = (id: string, fields: Partial<NewMessage> = {}): NewMessage => ({
    id: `${id} of ${place.resource}`,
    payload: JSON.stringify(id),
    dueAt: 1,
    dedupeId: null,
    orderingKey: null,
    ...fields,
  });
  const ask = async (op: number, args: unknown, transaction = 0): Promise<Record<string, unknown>> =>
    JSON.parse((await databases.client.run(place, op, transaction, JSON.stringify(args))) as string) as Record<
      string,
      unknown
    >;

  /** Commits a transaction with these messages; nobody is told. */
  async function commit(outbox: RunningOutbox, ...ids: string[]): Promise<void> {
    const { t } = (await ask(databaseOps.begin, [])) as { t: number };
    for (const id of ids) assert.equal(await outbox.put(place, t, mail, sender, message(id)), '{}');
    await ask(databaseOps.commit, [], t);
  }
  const queued = async (): Promise<string[]> =>
    (await stores.queue.list(mail, { limit: 1000, after: 0 })).messages.map(
      ({ payload }) => JSON.parse(payload) as string,
    );
  const waiting = async (): Promise<number> => ((await ask(outboxOps.pending, []))['rows'] as unknown[]).length;
  const indexed = async (): Promise<string[]> =>
    (await stores.outboxes.due(Number.MAX_SAFE_INTEGER, 0, 1000)).map(({ resource }) => resource);

  test('what was committed is in the queue shortly after, in its order, and no longer in the outbox', async () => {
    const outbox = outboxOf();
    await commit(outbox, 'a', 'b');
    await commit(outbox, 'c');
    outbox.committed(place);
    await until(async () => (await waiting()) === 0);
    assert.deepEqual(await queued(), ['a', 'b', 'c']);
  });

  test('what the engine that committed it left is taken by another one that looks, once', async () => {
    await commit(outboxOf(), 'left', 'behind');
    await Promise.all([outboxOf().sweep(true), outboxOf().sweep(true), outboxOf().sweep(true)]);
    await outboxOf().sweep(true);
    assert.deepEqual(await queued(), ['left', 'behind']);
    assert.equal(await waiting(), 0);
  });

  test('two that take the same rows at once store each message once', async () => {
    const ids = Array.from({ length: 40 }, (_, index) => `n${index}`);
    await commit(outboxOf(), ...ids);
    // Both have read them before one of them has sent them.
    const both = Promise.withResolvers<void>();
    let readers = 0;
    const slow = (): RunningOutbox =>
      outboxOf({
        queue: {
          async send(...args) {
            if (++readers === 2) both.resolve();
            await both.promise;
            return stores.queue.send(...args);
          },
        },
      });
    for (const outbox of [slow(), slow()]) outbox.committed(place);
    await both.promise;
    await until(async () => (await waiting()) === 0);
    assert.deepEqual(await queued(), ids);
  });

  test('a message that was sent and not deleted is not stored again', async () => {
    await commit(outboxOf(), 'once');
    const failing = outboxOf({
      databases: {
        run(at, op, ...rest) {
          if (op === outboxOps.dequeue) throw new PlatformError('database_unavailable', { reason: 'test' });
          return databases.client.run(at, op, ...rest);
        },
      },
    });
    await failing.sweep(true);
    assert.deepEqual([await queued(), await waiting()], [['once'], 1]);
    await outboxOf().sweep(true);
    assert.deepEqual([await queued(), await waiting()], [['once'], 0]);
  });

  test('a dedupe id that the queue remembers sends nothing, also not when the row is taken twice', async () => {
    const outbox = outboxOf();
    const dedupeId = `same${place.resource}`;
    const { t } = (await ask(databaseOps.begin, [])) as { t: number };
    for (const id of ['x', 'y']) await outbox.put(place, t, mail, sender, message(id, { dedupeId }));
    await ask(databaseOps.commit, [], t);
    outbox.committed(place);
    await until(async () => (await waiting()) === 0);
    assert.deepEqual(await queued(), ['x']);
  });

  test('while the queue is away messages wait in the outbox, and go when it is back', async () => {
    let away = true;
    let asked = 0;
    const outbox = outboxOf({
      queue: {
        send(...args) {
          asked++;
          if (away) throw new PlatformError('store_unavailable');
          return stores.queue.send(...args);
        },
      },
    });
    await commit(outbox, 'patient');
    outbox.committed(place);
    await until(async () => asked > 0);
    assert.deepEqual([await queued(), await waiting()], [[], 1]);
    away = false;
    await until(async () => (await waiting()) === 0);
    assert.deepEqual(await queued(), ['patient']);
  });

  test('a database leaves the index when nothing was sent for a while, and no sooner', async () => {
    const outbox = outboxOf();
    await commit(outbox, 'a');
    await outbox.sweep(true);
    assert.deepEqual(await indexed(), [place.resource]);
    const later = outboxOf({ now: () => Date.now() + 6 * MINUTE });
    await later.sweep(true);
    assert.deepEqual(await indexed(), []);
  });

  test('a database that was touched since it was looked up stays in the index, and is due when it was', async () => {
    await stores.outboxes.touch(place, 100, 200);
    const [found] = await stores.outboxes.due(200, 300, 10);
    await stores.outboxes.touch(place, 150, 999);
    await stores.outboxes.drop(found!);
    assert.deepEqual(await stores.outboxes.due(299, 400, 10), []);
    assert.deepEqual(await stores.outboxes.due(300, 400, 10), [{ ...place, touchedAt: 150 }]);
  });

  test('a row that is no message, or in the name of another project, is dropped and said', async () => {
    const said: string[] = [];
    const outbox = outboxOf({ log: (_level, text) => said.push(text) });
    await commit(outbox, 'good');
    const good = { resource: 'mail', ...sender, payload: '"forged"', dueAt: 1, dedupeId: null, orderingKey: null };
    const { t } = (await ask(databaseOps.begin, [])) as { t: number };
    const forged = [
      '',
      '{}',
      'null',
      JSON.stringify({ ...good, project: 'rival' }),
      JSON.stringify({ ...good, payload: 'no JSON' }),
      JSON.stringify({ ...good, resource: 'a\0b' }),
      JSON.stringify({ ...good, dueAt: '1' }),
    ];
    for (const [index, text] of forged.entries()) await ask(outboxOps.enqueue, [`forged${index}`, text], t);
    await ask(databaseOps.commit, [], t);
    await outbox.sweep(true);
    assert.deepEqual([await queued(), await waiting(), said.length], [['good'], 0, forged.length]);
  });

  test('whatever a row holds, the outbox is emptied', async () => {
    const random = createSeededRandom();
    const pieces = [
      '"',
      '\\',
      '\0',
      '\ud800',
      '\\u0000',
      '{',
      '}',
      '[',
      'null',
      ':',
      ',',
      '1e999',
      '-0',
      'shop',
      'ü',
      '😀',
      'x'.repeat(300),
    ];
    const good: Record<string, unknown> = {
      resource: 'mail',
      ...sender,
      payload: '"fuzz"',
      dueAt: 1,
      dedupeId: null,
      orderingKey: null,
    };
    const values = [null, 1, -1, 1e300, '', 'shop', {}, [], true, '"\\u0000"', '"\ud800"'];
    const outbox = outboxOf();
    for (let round = 0; round < 3; round++) {
      await commit(outbox, `after${round}`);
      const { t } = (await ask(databaseOps.begin, [])) as { t: number };
      for (let index = 0; index < 40; index++) {
        const field = random.pick(Object.keys(good));
        const changed = { ...good, [field]: random.below(2) === 0 ? random.text(pieces, 4) : random.pick(values) };
        const text = random.below(3) === 0 ? random.text(pieces, 8) : JSON.stringify(changed);
        await ask(
          outboxOps.enqueue,
          [`fuzz${round} ${index} ${place.resource}${random.pick(['', 'ü', '\ud800', '"'])}`, text],
          t,
        );
      }
      await ask(databaseOps.commit, [], t);
      await outbox.sweep(true);
      assert.equal(await waiting(), 0, `seed ${random.seed}`);
      assert.ok((await queued()).includes(`after${round}`), `seed ${random.seed}`);
    }
  });

  test('a table of the worker that refers to the outbox does not hold its rows', async () => {
    const outbox = outboxOf();
    await commit(outbox, 'a');
    await ask(databaseOps.query, [
      'CREATE TABLE mine (id TEXT REFERENCES platform_internal_outbox (id) ON DELETE RESTRICT)',
      [],
    ]);
    const { r } = await ask(databaseOps.query, [
      'INSERT INTO mine SELECT id FROM platform_internal_outbox RETURNING id',
      [],
    ]);
    assert.equal((r as unknown[]).length, 1);
    await outbox.sweep(true);
    assert.deepEqual([await queued(), await waiting()], [['a'], 0]);
  });

  test('an outbox takes so many messages and no more', async () => {
    const outbox = outboxOf();
    await commit(outbox, ...Array.from({ length: 50 }, (_, index) => `n${index}`));
    const { t } = (await ask(databaseOps.begin, [])) as { t: number };
    assert.equal(
      await outbox.put(place, t, mail, sender, message('more')),
      '{"e":["SQLITE_FULL","more than 50 messages wait to be moved to their queues"]}',
    );
    await ask(databaseOps.rollback, [], t);
    await outbox.sweep(true);
    assert.equal((await queued()).length, 50);
    await commit(outbox, 'again');
  });
}
