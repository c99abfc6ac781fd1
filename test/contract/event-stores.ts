// What every technology of queues, timers, cron and workflows keeps to, store by store. Each runs it from a test file of its own;
// each test has fresh stores. Times are given, so nothing waits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultDeliveryLimits, type DeliveryLimits } from '#core/delivery-limits.ts';
import type { NewMessage } from '#runtime/bindings/queue.ts';
import type { EventStores } from '#runtime/stores/event-stores.ts';

export type OpenStores = (limits: DeliveryLimits) => Promise<{ stores: EventStores; close(): Promise<void> }>;

const t0 = 1_700_000_000_000;
const day = 86_400_000;
const place = { namespace: 'shop', resource: 'mail' };
const sender = { project: 'shop', branch: 'main', binding: 'MAIL' };
const owner = { project: 'shop', branch: 'main', deployment: 'd000000000001' };

function message(id: string, fields: Partial<NewMessage> = {}): NewMessage {
  return { id, payload: JSON.stringify({ id }), dueAt: t0, dedupeId: null, orderingKey: null, ...fields };
}

/** Registers the suite's tests. */
export function eventStoresContract(open: OpenStores): void {
  const fact = (title: string, run: (stores: EventStores) => Promise<void>, limits: Partial<DeliveryLimits> = {}): void => {
    test(title, async () => {
      const { stores, close } = await open({ ...defaultDeliveryLimits, ...limits });
      try {
        await run(stores);
      } finally {
        await close();
      }
    });
  };
  const claim = async (
    { claims }: EventStores['queue'],
    lanes: readonly number[],
    at: number,
    options: { lease?: string; perLane?: number } = {},
  ): ReturnType<EventStores['queue']['claims']['claim']> =>
    claims.claim(lanes, options.perLane ?? 10, `${options.lease ?? 'me'}.1`, at, at + 60_000);

  // Queues.

  fact('messages are claimed in the order they were sent, each by one only', async ({ queue }) => {
    assert.deepEqual(await queue.send(place, sender, [message('a'), message('b')], t0), ['a', 'b']);
    await queue.send(place, sender, [message('c', { payload: '"\\u0000\\ud800 grüße"' })], t0 + 1);
    const lane = await queue.lanes.open(place.namespace, place.resource);
    const [first, second] = await Promise.all([
      claim(queue, [lane], t0 + 1, { lease: 'one', perLane: 2 }),
      claim(queue, [lane], t0 + 1, { lease: 'two', perLane: 2 }),
    ]);
    const all = [...first, ...second].toSorted((a, b) => a.seq - b.seq);
    assert.deepEqual(
      all.map((row) => [row.message_id, row.attempt, row.project, row.binding, row.namespace, row.resource]),
      ['a', 'b', 'c'].map((id) => [id, 1, 'shop', 'MAIL', 'shop', 'mail']),
    );
    assert.equal(all[2]!.payload, '"\\u0000\\ud800 grüße"');
    assert.deepEqual(await claim(queue, [lane], t0 + 2), []);
  });

  fact('a message is not there before its delay is over', async ({ queue }) => {
    await queue.send(place, sender, [message('later', { dueAt: t0 + 5000 })], t0);
    const lane = await queue.lanes.open('shop', 'mail');
    assert.deepEqual(await claim(queue, [lane], t0 + 4999), []);
    assert.deepEqual(await queue.claims.scan(), [{ lane, namespace: 'shop', due_at: t0 + 5000 }]);
    assert.equal((await claim(queue, [lane], t0 + 5000)).length, 1);
  });

  fact('a lease that ends makes a message due again; one that is renewed does not', async ({ queue }) => {
    await queue.send(place, sender, [message('a'), message('b')], t0);
    const lane = await queue.lanes.open('shop', 'mail');
    const [a, b] = await claim(queue, [lane], t0, { lease: 'dead' });
    assert.deepEqual(await queue.claims.renew([b!.seq], 'dead', t0 + 120_000), [b!.seq]);
    assert.deepEqual(await queue.claims.renew([a!.seq], 'other', t0 + 120_000), []);
    const again = await claim(queue, [lane], t0 + 60_000, { lease: 'next' });
    assert.deepEqual(
      again.map((row) => [row.message_id, row.attempt]),
      [['a', 2]],
    );
    assert.equal(await queue.claims.release(a!, t0, true), false);
    assert.deepEqual((await queue.claims.members()).toSorted(), ['dead', 'next']);
    await queue.claims.takeOver('dead', t0 + 61_000);
    assert.equal((await claim(queue, [lane], t0 + 61_000))[0]!.message_id, 'b');
  });

  fact('what was acknowledged is gone; what was let go is due when it was said, counted or not', async ({ queue }) => {
    await queue.send(place, sender, [message('a'), message('b'), message('c')], t0);
    const lane = await queue.lanes.open('shop', 'mail');
    const [a, b, c] = await claim(queue, [lane], t0);
    await queue.acknowledge([a!]);
    assert.equal(await queue.claims.release(b!, t0 + 10, true), true);
    assert.equal(await queue.claims.release(c!, t0 + 20, false), true);
    assert.deepEqual(
      (await claim(queue, [lane], t0 + 20)).map((row) => [row.message_id, row.attempt]),
      [
        ['b', 2],
        ['c', 1],
      ],
    );
  });

  fact('a dedupe id that is remembered gives the id it had first, also within one batch', async ({ queue }) => {
    const send = (id: string, at: number): Promise<string[]> => queue.send(place, sender, [message(id, { dedupeId: 'order 7' })], at);
    assert.deepEqual(await send('first', t0), ['first']);
    assert.deepEqual(await send('second', t0 + 1), ['first']);
    const batch = [message('x', { dedupeId: 'x' }), message('plain'), message('y', { dedupeId: 'x' })];
    const [x, plain, y] = await queue.send(place, sender, batch, t0);
    assert.deepEqual([x === y, plain], [true, 'plain']);
    assert.deepEqual(await queue.send({ ...place, resource: 'other' }, sender, [message('o', { dedupeId: 'order 7' })], t0), ['o']);
    assert.equal((await queue.metrics(place, t0)).backlogCount, 3);
    assert.deepEqual(await send('much later', t0 + 4 * day), ['much later']);
  });

  fact('many who send one dedupe id at once store one message', async ({ queue }) => {
    const all = Array.from({ length: 30 }, (_, n) => queue.send(place, sender, [message(`m${n}`, { dedupeId: 'one' })], t0));
    assert.equal(new Set((await Promise.all(all)).flat()).size, 1);
    assert.equal((await queue.metrics(place, t0)).backlogCount, 1);
  });

  fact('messages with one ordering key come one after the other, others beside them', async ({ queue }) => {
    const keyed = ['k1', 'k2', 'k3'].map((id) => message(id, { orderingKey: 'user 1' }));
    await queue.send(place, sender, [...keyed, message('free'), message('z1', { orderingKey: 'user 2' })], t0);
    const lane = await queue.lanes.open('shop', 'mail');
    const rows = await claim(queue, [lane], t0);
    assert.deepEqual(
      rows.map((row) => row.message_id),
      ['k1', 'free', 'z1'],
    );
    assert.deepEqual(await claim(queue, [lane], t0), []);
    await queue.claims.release(rows[0]!, t0 + 1000, true);
    assert.deepEqual(await claim(queue, [lane], t0 + 999), []);
    const [again] = await claim(queue, [lane], t0 + 1000);
    await queue.acknowledge([again!]);
    assert.equal((await claim(queue, [lane], t0 + 1000))[0]!.message_id, 'k2');
  });

  fact('a lane has room for so many at a time, and none while it is paused', async ({ queue }) => {
    await queue.send(
      place,
      sender,
      ['a', 'b', 'c'].map((id) => message(id)),
      t0,
    );
    const lane = await queue.lanes.open('shop', 'mail');
    await queue.lanes.set(lane, { concurrency: 2 });
    const rows = await claim(queue, [lane], t0);
    assert.deepEqual(
      rows.map((row) => [row.message_id, row.room]),
      [
        ['a', 2],
        ['b', 2],
      ],
    );
    assert.deepEqual(await claim(queue, [lane], t0), []);
    await queue.acknowledge([rows[0]!]);
    await queue.lanes.set(lane, { paused: true });
    assert.deepEqual(await claim(queue, [lane], t0), []);
    assert.deepEqual(await queue.claims.scan(), []);
    await queue.lanes.set(lane, { paused: false });
    assert.equal((await claim(queue, [lane], t0))[0]!.message_id, 'c');
  });

  fact('dead letters are kept aside with their reason, and come back when they are redriven', async ({ queue }) => {
    await queue.send(place, sender, [message('bad')], t0);
    const lane = await queue.lanes.open('shop', 'mail');
    const [row] = await claim(queue, [lane], t0);
    await queue.bury(row!, 'it threw: \0\ud800', t0 + 5);
    const dead = await queue.lanes.open('shop', 'mail_dlq');
    assert.deepEqual(await claim(queue, [lane, dead], t0 + 10), []);
    const { messages } = await queue.list({ ...place, resource: 'mail_dlq' }, { limit: 10, after: 0 });
    assert.deepEqual(
      messages.map(({ id, deadReason }) => [id, deadReason]),
      [['bad', 'it threw: \ufffd']],
    );
    assert.equal((await queue.metrics(place, t0)).deadCount, 1);
    assert.equal(await queue.redrive(place, t0 + 20), 1);
    const [again] = await claim(queue, [lane], t0 + 20);
    assert.deepEqual([again!.message_id, again!.attempt], ['bad', 1]);
    assert.equal((await queue.metrics(place, t0)).deadCount, 0);
  });

  fact('a single message is dropped, unless it is being delivered', async ({ queue }) => {
    await queue.send(place, sender, [message('a'), message('b')], t0);
    const lane = await queue.lanes.open('shop', 'mail');
    const [flying] = await claim(queue, [lane], t0, { perLane: 1 });
    assert.equal(await queue.remove(place, flying!.message_id), false);
    assert.equal(await queue.remove({ ...place, namespace: 'other' }, 'b'), false);
    assert.equal(await queue.remove(place, 'b'), true);
    assert.equal(await queue.remove(place, 'b'), false);
    const { messages } = await queue.list(place, { limit: 10, after: 0 });
    assert.deepEqual(
      messages.map(({ id }) => id),
      ['a'],
    );
  });

  fact('dead letters are delivered where a deployment declares their queue, and stay when they fail there too', async ({ queue }) => {
    await queue.send(place, sender, [message('bad')], t0);
    const lane = await queue.lanes.open('shop', 'mail');
    const [row] = await claim(queue, [lane], t0);
    await queue.bury(row!, 'once', t0);
    await queue.lanes.consume('shop', ['mail_dlq']);
    const dead = await queue.lanes.open('shop', 'mail_dlq');
    const [letter] = await claim(queue, [dead], t0);
    assert.equal(letter!.message_id, 'bad');
    await queue.bury(letter!, 'twice', t0);
    assert.deepEqual(await claim(queue, [dead], t0 + day), []);
    const { messages } = await queue.list({ ...place, resource: 'mail_dlq' }, { limit: 10, after: 0 });
    assert.deepEqual([messages[0]!.deadReason, messages[0]!.dueAt], ['twice', null]);
  });

  fact('dead letters that are too old are swept, and dedupe ids with them', async ({ queue }) => {
    await queue.send(place, sender, [message('bad', { dedupeId: 'one' }), message('good')], t0);
    const lane = await queue.lanes.open('shop', 'mail');
    const [row] = await claim(queue, [lane], t0);
    await queue.bury(row!, 'why', t0);
    await queue.sweep(t0 + 4 * day - 1);
    assert.equal((await queue.metrics(place, t0)).deadCount, 1);
    await queue.sweep(t0 + 4 * day);
    assert.equal((await queue.metrics(place, t0)).deadCount, 0);
  });

  fact('metrics count what waits and what is being delivered', async ({ queue }) => {
    await queue.send(place, sender, [message('a'), message('b')], t0);
    await queue.send({ namespace: 'other', resource: 'mail' }, sender, [message('c')], t0);
    const lane = await queue.lanes.open('shop', 'mail');
    await claim(queue, [lane], t0, { perLane: 1 });
    const metrics = { backlogCount: 2, backlogBytes: 20, inFlightCount: 1, oldestMessageTimestamp: t0, deadCount: 0 };
    assert.deepEqual(await queue.metrics(place, t0), metrics);
    assert.deepEqual(await queue.metrics({ namespace: 'nobody', resource: 'none' }, t0), {
      backlogCount: 0,
      backlogBytes: 0,
      inFlightCount: 0,
      oldestMessageTimestamp: null,
      deadCount: 0,
    });
    assert.equal(await queue.purge(place), 1);
  });

  fact('a thousand messages sent at once are all there, each once', async ({ queue }) => {
    await Promise.all(Array.from({ length: 1000 }, (_, n) => queue.send(place, sender, [message(`m${n}`)], t0)));
    const lane = await queue.lanes.open('shop', 'mail');
    await queue.lanes.set(lane, { concurrency: 2000 });
    const batches = await Promise.all(
      Array.from({ length: 4 }, async (_, n) => {
        const rows: string[] = [];
        for (;;) {
          const claimed = await claim(queue, [lane], t0, { lease: `l${n}`, perLane: 50 });
          if (claimed.length === 0) return rows;
          rows.push(...claimed.map((row) => row.message_id));
        }
      }),
    );
    const all = batches.flat();
    assert.deepEqual([all.length, new Set(all).size], [1000, 1000]);
  });

  // Timers.

  const timer = { dueAt: t0 + 1000, payload: '{"a":1}', intervalMs: null, cron: null, timezone: null };

  fact('a timer is what it was set to last, and listed in the order of ids', async ({ timer: timers }) => {
    const at = { namespace: 'shop', resource: 'reminders' };
    for (const id of ['b', 'a/2', 'a/1', 'Z', 'a%']) await timers.set(at, sender, { ...timer, id }, t0);
    await timers.set(at, sender, { ...timer, id: 'b', dueAt: t0 + 9, intervalMs: 5000, payload: '2' }, t0);
    assert.deepEqual(await timers.get(at, 'b'), {
      id: 'b',
      scheduledTime: t0 + 9,
      payload: '2',
      intervalMs: 5000,
      cron: null,
      timezone: null,
    });
    assert.equal(await timers.get({ ...at, namespace: 'other' }, 'b'), null);
    const ids = async (page: { prefix: string; after: string; limit: number }): Promise<[string, boolean]> => {
      const { timers: found, more } = await timers.list(at, page);
      return [found.map(({ id }) => id).join(' '), more];
    };
    assert.deepEqual(await ids({ prefix: '', after: '', limit: 10 }), ['Z a% a/1 a/2 b', false]);
    assert.deepEqual(await ids({ prefix: 'a', after: 'a%', limit: 1 }), ['a/1', true]);
    assert.deepEqual(await ids({ prefix: 'a%', after: '', limit: 9 }), ['a%', false]);
    await timers.delete(at, 'b');
    await timers.delete(at, 'b');
    assert.equal(await timers.get(at, 'b'), null);
  });

  fact('a timer that is set anew while it fires stays as it was set', async ({ timer: timers }) => {
    const at = { namespace: 'shop', resource: 'reminders' };
    await timers.set(at, sender, { ...timer, id: 'a' }, t0);
    const lane = await timers.lanes.open('shop', 'reminders');
    const [row] = await timers.claims.claim([lane], 5, 'me.1', t0 + 1000, t0 + 9000);
    await timers.set(at, sender, { ...timer, id: 'a', dueAt: t0 + 5000 }, t0);
    await timers.settle(row!, null, 'ok', t0 + 1001);
    assert.equal((await timers.get(at, 'a'))?.scheduledTime, t0 + 5000);
    const [again] = await timers.claims.claim([lane], 5, 'me.1', t0 + 5000, t0 + 9000);
    assert.deepEqual([again!.attempt, again!.scheduled_at], [1, t0 + 5000]);
    await timers.settle(again!, null, 'ok', t0 + 5001);
    assert.equal(await timers.get(at, 'a'), null);
  });

  fact(
    'there are at most so many timers of a resource',
    async ({ timer: timers }) => {
      const at = { namespace: 'shop', resource: 'reminders' };
      for (const id of ['a', 'b', 'c']) await timers.set(at, sender, { ...timer, id }, t0);
      await assert.rejects(timers.set(at, sender, { ...timer, id: 'd' }, t0), /There are 3 timers, and may be 3/);
      await timers.delete(at, 'a');
      await timers.set(at, sender, { ...timer, id: 'd' }, t0);
    },
    { timersMax: 3 },
  );

  fact('the schedules of a project are those of its current deployment; an unchanged one keeps its time', async ({ cron }) => {
    const at = { namespace: 'shop', resource: 'shop' };
    const by = { project: 'shop', branch: 'main' };
    const hourly = { name: 'HOURLY', schedule: '0 * * * *', timezone: 'UTC' };
    const nightly = { name: 'NIGHTLY', schedule: '0 3 * * *', timezone: 'Europe/Vienna' };
    const now = Date.parse('2026-11-21T10:30:00Z');
    await cron.declare(at, by, [hourly, nightly], now);
    const times = async (): Promise<string[]> =>
      (await cron.list(at)).map(({ name, nextAt }) => `${name} ${new Date(nextAt).toISOString()}`);
    assert.deepEqual(await times(), ['HOURLY 2026-11-21T11:00:00.000Z', 'NIGHTLY 2026-11-22T02:00:00.000Z']);
    // It was due at 11:00 and has not fired yet: declaring it again does not lose that.
    await cron.declare(at, by, [hourly, { ...nightly, timezone: 'UTC' }], now + 3_600_000);
    assert.deepEqual(await times(), ['HOURLY 2026-11-21T11:00:00.000Z', 'NIGHTLY 2026-11-22T03:00:00.000Z']);
    assert.equal(await cron.trigger(at, 'NIGHTLY', now), true);
    assert.equal(await cron.trigger(at, 'NO SUCH', now), false);
    assert.deepEqual((await times())[1], 'NIGHTLY 2026-11-21T10:30:00.000Z');
    await cron.declare(at, by, [hourly], now);
    assert.equal((await times()).length, 1);
  });

  // Workflows.

  const flow = { namespace: 'shop', resource: 'orders' };
  const claimRun = async ({ workflow }: EventStores, at: number, lease = 'me'): ReturnType<EventStores['workflow']['claims']['claim']> =>
    workflow.claims.claim([await workflow.lanes.open('shop', 'orders')], 10, `${lease}.${at}`, at, at + 60_000);

  fact('a run is started once, however often its id is triggered', async (stores) => {
    const { workflow } = stores;
    await Promise.all([1, 2, 3].map((n) => workflow.trigger(flow, owner, { id: 'order-7', input: `${n}` }, t0)));
    const found = await workflow.get(flow, 'order-7');
    assert.deepEqual([found!.status, found!.deployment, found!.createdAt, found!.startedAt], ['pending', 'd000000000001', t0, null]);
    assert.equal((await claimRun(stores, t0)).length, 1);
    assert.equal(await workflow.get({ ...flow, namespace: 'other' }, 'order-7'), null);
  });

  fact('steps are written down, given back, and done once', async (stores) => {
    const { workflow } = stores;
    await workflow.trigger(flow, owner, { id: 'r', input: '{}' }, t0);
    const [row] = await claimRun(stores, t0);
    const begun = await workflow.begin(row!, t0);
    assert.deepEqual(begun?.steps, []);
    const { run } = begun!;
    assert.equal(await workflow.step('shop', run, '__proto__', { kind: 'done', result: '{"ok":true}' }, t0 + 1), true);
    const failure = { kind: 'failed', error: '{"name":"Error","message":"no"}', attempts: 1, wakeAt: t0 + 5000 } as const;
    assert.equal(await workflow.step('shop', run, 'flaky', failure, t0 + 2), true);
    assert.equal(await workflow.step('shop', run, 'nap', { kind: 'sleep', wakeAt: t0 + 3000 }, t0 + 2), true);
    assert.equal(await workflow.hasProgressed(row!, t0 + 1), true);
    await workflow.settle(row!, { status: 'suspended' }, t0 + 3);
    assert.deepEqual(await claimRun(stores, t0 + 2999), []);
    const [again] = await claimRun(stores, t0 + 3000);
    assert.equal(again!.attempt, 1);
    const later = await workflow.begin(again!, t0 + 3000);
    assert.deepEqual(
      later!.steps.map(({ name, kind, status, attempts, result, wakeAt }) => [name, kind, status, attempts, result, wakeAt]),
      [
        ['__proto__', 'run', 'done', 0, '{"ok":true}', null],
        ['flaky', 'run', 'waiting', 1, null, t0 + 5000],
        ['nap', 'sleep', 'done', 0, null, t0 + 3000],
      ],
    );
    await workflow.step('shop', later!.run, 'flaky', { kind: 'done', result: '1' }, t0 + 3001);
    await workflow.settle(again!, { status: 'completed', output: '"fin"' }, t0 + 3002);
    const ended = await workflow.get(flow, 'r');
    assert.deepEqual([ended!.status, ended!.output, ended!.startedAt, ended!.completedAt], ['completed', '"fin"', t0, t0 + 3002]);
    const history = await workflow.history(flow, 'r');
    assert.deepEqual(
      history!.steps.map(({ name, status, attempts }) => [name, status, attempts]),
      [
        ['__proto__', 'done', 0],
        ['flaky', 'done', 1],
        ['nap', 'done', 0],
      ],
    );
  });

  fact('a stretch whose lease is gone changes nothing any more, and no namespace writes into another', async (stores) => {
    const { workflow } = stores;
    await workflow.trigger(flow, owner, { id: 'r', input: '{}' }, t0);
    const [old] = await claimRun(stores, t0, 'old');
    const { run: oldRun } = (await workflow.begin(old!, t0))!;
    const [row] = await claimRun(stores, t0 + 60_000, 'new');
    assert.equal(await workflow.begin(old!, t0 + 60_000), null);
    const { run } = (await workflow.begin(row!, t0 + 60_000))!;
    assert.equal(await workflow.step('shop', oldRun, 'late', { kind: 'done', result: '1' }, t0 + 60_001), false);
    assert.equal(await workflow.waitForEvent('shop', oldRun, { name: 'e', type: 'x', timeoutAt: null }, t0), false);
    assert.equal(await workflow.step('thief', run, 'mine', { kind: 'done', result: '1' }, t0 + 60_001), false);
    await workflow.log('thief', run, { message: 'hello', content: null }, t0);
    await workflow.settle(old!, { status: 'completed', output: '1' }, t0 + 60_002);
    assert.equal((await workflow.get(flow, 'r'))!.status, 'running');
    assert.deepEqual(await workflow.history(flow, 'r'), { steps: [], log: [] });
  });

  fact('an event that comes first waits for the run, one that comes later wakes it, a late one is for the next wait', async (stores) => {
    const { workflow } = stores;
    await workflow.trigger(flow, owner, { id: 'r', input: '{}' }, t0);
    await workflow.sendEvent(flow, 'r', { type: 'paid', payload: '1' }, t0);
    await workflow.sendEvent(flow, 'r', { type: 'paid', payload: '2' }, t0 + 1);
    const [row] = await claimRun(stores, t0 + 1);
    const { run } = (await workflow.begin(row!, t0 + 1))!;
    const wait = (name: string, type: string, timeoutAt: number | null = null): ReturnType<typeof workflow.waitForEvent> =>
      workflow.waitForEvent('shop', run, { name, type, timeoutAt }, t0 + 2);
    assert.equal(await wait('first', 'paid'), `{"type":"paid","payload":1,"timestamp":${t0}}`);
    assert.equal(await wait('second', 'paid'), `{"type":"paid","payload":2,"timestamp":${t0 + 1}}`);
    assert.equal(await wait('third', 'shipped'), null);
    await workflow.settle(row!, { status: 'suspended' }, t0 + 3);
    assert.deepEqual(await claimRun(stores, t0 + day), []);
    await workflow.sendEvent(flow, 'r', { type: 'shipped', payload: '"x"' }, t0 + day);
    const [again] = await claimRun(stores, t0 + day);
    const { steps } = (await workflow.begin(again!, t0 + day))!;
    assert.equal(steps[2]!.result, `{"type":"shipped","payload":"x","timestamp":${t0 + day}}`);
  });

  fact('an event that comes while the stretch still runs is not lost when it suspends', async (stores) => {
    const { workflow } = stores;
    await workflow.trigger(flow, owner, { id: 'r', input: '{}' }, t0);
    const [row] = await claimRun(stores, t0);
    const { run } = (await workflow.begin(row!, t0))!;
    assert.equal(await workflow.waitForEvent('shop', run, { name: 'e', type: 'go', timeoutAt: t0 + day }, t0), null);
    await workflow.sendEvent(flow, 'r', { type: 'go', payload: 'null' }, t0 + 1);
    await workflow.settle(row!, { status: 'suspended' }, t0 + 2);
    const [again] = await claimRun(stores, t0 + 2);
    assert.equal((await workflow.begin(again!, t0 + 2))!.steps[0]!.status, 'done');
  });

  fact('a wait that nothing ends in time fails', async (stores) => {
    const { workflow } = stores;
    await workflow.trigger(flow, owner, { id: 'r', input: '{}' }, t0);
    const [row] = await claimRun(stores, t0);
    const { run } = (await workflow.begin(row!, t0))!;
    await workflow.waitForEvent('shop', run, { name: 'e', type: 'go', timeoutAt: t0 + 1000 }, t0);
    await workflow.settle(row!, { status: 'suspended' }, t0 + 1);
    const [again] = await claimRun(stores, t0 + 1000);
    const { steps } = (await workflow.begin(again!, t0 + 1000))!;
    assert.deepEqual([steps[0]!.status, JSON.parse(steps[0]!.error!)['name']], ['failed', 'TimeoutError']);
  });

  fact('a run that is cancelled ends at once, and what it tells afterwards does not count', async (stores) => {
    const { workflow } = stores;
    await workflow.trigger(flow, owner, { id: 'r', input: '{}' }, t0);
    const [row] = await claimRun(stores, t0);
    const { run } = (await workflow.begin(row!, t0))!;
    await workflow.cancel(flow, 'r', t0 + 1);
    await workflow.cancel(flow, 'r', t0 + 2);
    assert.equal(await workflow.step('shop', run, 's', { kind: 'done', result: '1' }, t0 + 2), false);
    await workflow.settle(row!, { status: 'completed', output: '1' }, t0 + 3);
    const found = await workflow.get(flow, 'r');
    assert.deepEqual([found!.status, found!.completedAt], ['cancelled', t0 + 1]);
    await assert.rejects(workflow.cancel(flow, 'none', t0), { code: 'execution_not_found' });
    await assert.rejects(workflow.sendEvent(flow, 'r', { type: 'x', payload: '1' }, t0), { code: 'execution_state' });
  });

  fact('a run that is paused keeps what its step returned, and goes on when it is resumed', async (stores) => {
    const { workflow } = stores;
    await workflow.trigger(flow, owner, { id: 'r', input: '{}' }, t0);
    const [row] = await claimRun(stores, t0);
    const { run } = (await workflow.begin(row!, t0))!;
    await workflow.pause(flow, 'r');
    assert.equal((await workflow.get(flow, 'r'))!.status, 'paused');
    assert.equal(await workflow.step('shop', run, 's', { kind: 'done', result: '1' }, t0 + 1), false);
    await workflow.settle(row!, { status: 'suspended' }, t0 + 2);
    assert.deepEqual(await claimRun(stores, t0 + day), []);
    await workflow.resume(flow, 'r', t0 + day);
    const [again] = await claimRun(stores, t0 + day);
    assert.equal((await workflow.begin(again!, t0 + day))!.steps[0]!.status, 'done');
  });

  fact('a run restarts from the beginning, or from a step, on the deployment that is named', async (stores) => {
    const { workflow } = stores;
    await workflow.trigger(flow, owner, { id: 'r', input: '{}' }, t0);
    const [row] = await claimRun(stores, t0);
    const { run } = (await workflow.begin(row!, t0))!;
    for (const name of ['a', 'b', 'c']) await workflow.step('shop', run, name, { kind: 'done', result: '1' }, t0);
    await workflow.settle(row!, { status: 'failed', error: '{"name":"Error","message":"x"}' }, t0 + 1);
    await assert.rejects(workflow.restart(flow, 'r', { fromStep: 'z', deployment: null }, t0), /has no step z/);
    await workflow.restart(flow, 'r', { fromStep: 'b', deployment: 'd000000000002' }, t0 + 2);
    const found = await workflow.get(flow, 'r');
    assert.deepEqual([found!.status, found!.error, found!.deployment], ['pending', null, 'd000000000002']);
    const [again] = await claimRun(stores, t0 + 2);
    assert.deepEqual(
      (await workflow.begin(again!, t0 + 2))!.steps.map(({ name }) => name),
      ['a'],
    );
    await workflow.restart(flow, 'r', { fromStep: null, deployment: null }, t0 + 3);
    const [third] = await claimRun(stores, t0 + 3);
    assert.deepEqual((await workflow.begin(third!, t0 + 3))!.steps, []);
  });

  fact(
    'steps, waiting events and log lines of a run have their bounds',
    async (stores) => {
      const { workflow } = stores;
      await workflow.trigger(flow, owner, { id: 'r', input: '{}' }, t0);
      const [row] = await claimRun(stores, t0);
      const { run } = (await workflow.begin(row!, t0))!;
      for (const name of ['a', 'b']) await workflow.step('shop', run, name, { kind: 'done', result: '1' }, t0);
      await assert.rejects(workflow.step('shop', run, 'c', { kind: 'sleep', wakeAt: t0 }, t0), /at most 2 steps/);
      await assert.rejects(workflow.waitForEvent('shop', run, { name: 'd', type: 'x', timeoutAt: null }, t0), /at most 2 steps/);
      for (const n of [1, 2]) await workflow.sendEvent(flow, 'r', { type: 'x', payload: `${n}` }, t0);
      await assert.rejects(workflow.sendEvent(flow, 'r', { type: 'x', payload: '3' }, t0), /has 2 events that nothing waits for/);
      for (const n of [1, 2, 3]) await workflow.log('shop', run, { message: `line ${n}`, content: n === 1 ? '{"n":1}' : null }, t0 + n);
      assert.deepEqual(
        (await workflow.history(flow, 'r'))!.log.map((line) => ({ ...line })),
        [
          { at: t0 + 1, message: 'line 1', content: '{"n":1}' },
          { at: t0 + 2, message: 'line 2', content: null },
        ],
      );
    },
    { workflowStepsMax: 2, workflowEventsMax: 2, workflowLogLinesMax: 2 },
  );

  fact(
    'the results of a run are bounded together, those of events too: they come with each of its stretches',
    async ({ workflow }) => {
      await workflow.trigger(flow, owner, { id: 'large', input: '{}' }, t0);
      const lane = await workflow.lanes.open(flow.namespace, flow.resource);
      const [row] = await workflow.claims.claim([lane], 10, 'me.1', t0, t0 + 60_000);
      const { run } = (await workflow.begin(row!, t0))!;
      const result = JSON.stringify('x'.repeat(60));
      for (const name of ['waits', 'too'])
        assert.equal(await workflow.waitForEvent(flow.namespace, run, { name, type: name, timeoutAt: null }, t0), null);
      assert.equal(await workflow.step(flow.namespace, run, 'one', { kind: 'done', result }, t0), true);
      await workflow.sendEvent(flow, 'large', { type: 'waits', payload: '1' }, t0);
      await assert.rejects(workflow.sendEvent(flow, 'large', { type: 'too', payload: result }, t0), {
        code: 'invalid_argument',
        message: 'The results of the steps of a run may have 150 bytes as JSON together',
      });
      assert.equal(await workflow.step(flow.namespace, run, 'two', { kind: 'done', result }, t0), true);
      await assert.rejects(workflow.step(flow.namespace, run, 'three', { kind: 'done', result }, t0), { code: 'invalid_argument' });
    },
    { workflowHistoryBytesMax: 150 },
  );

  fact('a page of runs ends early where they are large', async ({ workflow }) => {
    const input = JSON.stringify('x'.repeat(900_000));
    for (let number = 0; number < 20; number++) await workflow.trigger(flow, owner, { id: `run${number}`, input }, t0);
    const found: number[] = [];
    let before: number | null = null;
    do {
      const page = await workflow.list(flow, { status: null, limit: 100, before });
      found.push(page.executions.length);
      before = page.next;
    } while (before !== null);
    assert.deepEqual(found, [10, 10]);
  });

  fact('runs are listed newest first, a page at a time, by status, and dropped long after their end', async (stores) => {
    const { workflow } = stores;
    for (const id of ['a', 'b', 'c']) await workflow.trigger(flow, owner, { id, input: '{}' }, t0);
    await workflow.cancel(flow, 'b', t0);
    const { executions, next } = await workflow.list(flow, { status: null, limit: 2, before: null });
    assert.deepEqual(
      executions.map(({ id }) => id),
      ['c', 'b'],
    );
    const rest = await workflow.list(flow, { status: null, limit: 2, before: next });
    assert.deepEqual([rest.executions.map(({ id }) => id), rest.next], [['a'], null]);
    const cancelled = await workflow.list(flow, { status: 'cancelled', limit: 5, before: null });
    assert.deepEqual(
      cancelled.executions.map(({ id }) => id),
      ['b'],
    );
    await workflow.sweep(t0 + 30 * day);
    assert.equal(await workflow.get(flow, 'b'), null);
    assert.equal((await workflow.get(flow, 'a'))?.status, 'pending');
  });
}
