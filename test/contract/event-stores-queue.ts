// The cases of the event stores' contract about queues. Run by event-stores.ts.
import assert from 'node:assert/strict';
import type { NewMessage } from '#runtime/engine/bindings/queue.ts';
import type { EventStores } from '#runtime/stores/event-stores.ts';
import { DAY, sender, T0, type Fact } from './event-stores-case.ts';

const place = { namespace: 'shop', resource: 'mail' };

function message(id: string, fields: Partial<NewMessage> = {}): NewMessage {
  return { id, payload: JSON.stringify({ id }), dueAt: T0, dedupeId: null, orderingKey: null, ...fields };
}

const claim = async (
  { claims }: EventStores['queue'],
  lanes: readonly number[],
  at: number,
  options: { lease?: string; perLane?: number } = {},
): ReturnType<EventStores['queue']['claims']['claim']> =>
  claims.claim(lanes, options.perLane ?? 10, `${options.lease ?? 'me'}.1`, at, at + 60_000);

export function queueCases(fact: Fact): void {
  fact('messages are claimed in the order they were sent, each by one only', async ({ queue }) => {
    assert.deepEqual(await queue.send(place, sender, [message('a'), message('b')], T0), ['a', 'b']);
    await queue.send(place, sender, [message('c', { payload: '"\\u0000\\ud800 grüße"' })], T0 + 1);
    const lane = await queue.lanes.open(place.namespace, place.resource);
    const [first, second] = await Promise.all([
      claim(queue, [lane], T0 + 1, { lease: 'one', perLane: 2 }),
      claim(queue, [lane], T0 + 1, { lease: 'two', perLane: 2 }),
    ]);
    const all = [...first, ...second].toSorted((a, b) => a.seq - b.seq);
    assert.deepEqual(
      all.map((row) => [row.message_id, row.attempt, row.project, row.binding, row.namespace, row.resource]),
      ['a', 'b', 'c'].map((id) => [id, 1, 'shop', 'MAIL', 'shop', 'mail']),
    );
    assert.equal(all[2]!.payload, '"\\u0000\\ud800 grüße"');
    assert.deepEqual(await claim(queue, [lane], T0 + 2), []);
  });

  fact('a message is not there before its delay is over', async ({ queue }) => {
    await queue.send(place, sender, [message('later', { dueAt: T0 + 5000 })], T0);
    const lane = await queue.lanes.open('shop', 'mail');
    assert.deepEqual(await claim(queue, [lane], T0 + 4999), []);
    assert.deepEqual(await queue.claims.scan(), [{ lane, namespace: 'shop', due_at: T0 + 5000 }]);
    assert.equal((await claim(queue, [lane], T0 + 5000)).length, 1);
  });

  fact('a lease that ends makes a message due again; one that is renewed does not', async ({ queue }) => {
    await queue.send(place, sender, [message('a'), message('b')], T0);
    const lane = await queue.lanes.open('shop', 'mail');
    const [a, b] = await claim(queue, [lane], T0, { lease: 'dead' });
    assert.deepEqual(await queue.claims.renew([b!.seq], 'dead', T0 + 120_000), [b!.seq]);
    assert.deepEqual(await queue.claims.renew([a!.seq], 'other', T0 + 120_000), []);
    const again = await claim(queue, [lane], T0 + 60_000, { lease: 'next' });
    assert.deepEqual(
      again.map((row) => [row.message_id, row.attempt]),
      [['a', 2]],
    );
    assert.equal(await queue.claims.release(a!, T0, true), false);
    assert.deepEqual((await queue.claims.members()).toSorted(), ['dead', 'next']);
    await queue.claims.takeOver('dead', T0 + 61_000);
    assert.equal((await claim(queue, [lane], T0 + 61_000))[0]!.message_id, 'b');
  });

  fact('what was acknowledged is gone; what was let go is due when it was said, counted or not', async ({ queue }) => {
    await queue.send(place, sender, [message('a'), message('b'), message('c')], T0);
    const lane = await queue.lanes.open('shop', 'mail');
    const [a, b, c] = await claim(queue, [lane], T0);
    await queue.acknowledge([a!]);
    assert.equal(await queue.claims.release(b!, T0 + 10, true), true);
    assert.equal(await queue.claims.release(c!, T0 + 20, false), true);
    assert.deepEqual(
      (await claim(queue, [lane], T0 + 20)).map((row) => [row.message_id, row.attempt]),
      [
        ['b', 2],
        ['c', 1],
      ],
    );
  });

  fact('a dedupe id that is remembered gives the id it had first, also within one batch', async ({ queue }) => {
    const send = (id: string, at: number): Promise<string[]> =>
      queue.send(place, sender, [message(id, { dedupeId: 'order 7' })], at);
    assert.deepEqual(await send('first', T0), ['first']);
    assert.deepEqual(await send('second', T0 + 1), ['first']);
    const batch = [message('x', { dedupeId: 'x' }), message('plain'), message('y', { dedupeId: 'x' })];
    const [x, plain, y] = await queue.send(place, sender, batch, T0);
    assert.deepEqual([x === y, plain], [true, 'plain']);
    assert.deepEqual(
      await queue.send({ ...place, resource: 'other' }, sender, [message('o', { dedupeId: 'order 7' })], T0),
      ['o'],
    );
    assert.equal((await queue.metrics(place, T0)).backlogCount, 3);
    assert.deepEqual(await send('much later', T0 + 4 * DAY), ['much later']);
  });

  fact('many who send one dedupe id at once store one message', async ({ queue }) => {
    const all = Array.from({ length: 30 }, (_, n) =>
      queue.send(place, sender, [message(`m${n}`, { dedupeId: 'one' })], T0),
    );
    assert.equal(new Set((await Promise.all(all)).flat()).size, 1);
    assert.equal((await queue.metrics(place, T0)).backlogCount, 1);
  });

  fact('messages with one ordering key come one after the other, others beside them', async ({ queue }) => {
    const keyed = ['k1', 'k2', 'k3'].map((id) => message(id, { orderingKey: 'user 1' }));
    await queue.send(place, sender, [...keyed, message('free'), message('z1', { orderingKey: 'user 2' })], T0);
    const lane = await queue.lanes.open('shop', 'mail');
    const rows = await claim(queue, [lane], T0);
    assert.deepEqual(
      rows.map((row) => row.message_id),
      ['k1', 'free', 'z1'],
    );
    assert.deepEqual(await claim(queue, [lane], T0), []);
    await queue.claims.release(rows[0]!, T0 + 1000, true);
    assert.deepEqual(await claim(queue, [lane], T0 + 999), []);
    const [again] = await claim(queue, [lane], T0 + 1000);
    await queue.acknowledge([again!]);
    assert.equal((await claim(queue, [lane], T0 + 1000))[0]!.message_id, 'k2');
  });

  fact('a lane has room for so many at a time, and none while it is paused', async ({ queue }) => {
    await queue.send(
      place,
      sender,
      ['a', 'b', 'c'].map((id) => message(id)),
      T0,
    );
    const lane = await queue.lanes.open('shop', 'mail');
    await queue.lanes.set(lane, { concurrency: 2 });
    const rows = await claim(queue, [lane], T0);
    assert.deepEqual(
      rows.map((row) => [row.message_id, row.room]),
      [
        ['a', 2],
        ['b', 2],
      ],
    );
    assert.deepEqual(await claim(queue, [lane], T0), []);
    await queue.acknowledge([rows[0]!]);
    await queue.lanes.set(lane, { paused: true });
    assert.deepEqual(await claim(queue, [lane], T0), []);
    assert.deepEqual(await queue.claims.scan(), []);
    await queue.lanes.set(lane, { paused: false });
    assert.equal((await claim(queue, [lane], T0))[0]!.message_id, 'c');
  });

  fact('dead letters are kept aside with their reason, and come back when they are redriven', async ({ queue }) => {
    await queue.send(place, sender, [message('bad')], T0);
    const lane = await queue.lanes.open('shop', 'mail');
    const [row] = await claim(queue, [lane], T0);
    await queue.deadLetter(row!, 'it threw: \0\ud800', T0 + 5);
    const dead = await queue.lanes.open('shop', 'mail_dlq');
    assert.deepEqual(await claim(queue, [lane, dead], T0 + 10), []);
    const { messages } = await queue.list({ ...place, resource: 'mail_dlq' }, { limit: 10, after: 0 });
    assert.deepEqual(
      messages.map(({ id, deadReason, attempt }) => [id, deadReason, attempt]),
      [['bad', 'it threw: \ufffd', 1]],
    );
    assert.equal((await queue.metrics(place, T0)).deadCount, 1);
    assert.equal(await queue.redrive(place, T0 + 20), 1);
    const [again] = await claim(queue, [lane], T0 + 20);
    assert.deepEqual([again!.message_id, again!.attempt], ['bad', 1]);
    assert.equal((await queue.metrics(place, T0)).deadCount, 0);
  });

  fact('a single message is dropped, unless it is being delivered', async ({ queue }) => {
    await queue.send(place, sender, [message('a'), message('b')], T0);
    const lane = await queue.lanes.open('shop', 'mail');
    const [flying] = await claim(queue, [lane], T0, { perLane: 1 });
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

  fact(
    'dead letters are delivered where a deployment declares their queue, and stay when they fail there too',
    async ({ queue }) => {
      await queue.send(place, sender, [message('bad')], T0);
      const lane = await queue.lanes.open('shop', 'mail');
      const [row] = await claim(queue, [lane], T0);
      await queue.deadLetter(row!, 'once', T0);
      await queue.lanes.consume('shop', ['mail_dlq']);
      const dead = await queue.lanes.open('shop', 'mail_dlq');
      const [letter] = await claim(queue, [dead], T0);
      assert.deepEqual([letter!.message_id, letter!.attempt], ['bad', 1], 'where it lies its attempts begin anew');
      await queue.deadLetter(letter!, 'twice', T0);
      assert.deepEqual(await claim(queue, [dead], T0 + DAY), []);
      const { messages } = await queue.list({ ...place, resource: 'mail_dlq' }, { limit: 10, after: 0 });
      assert.deepEqual([messages[0]!.deadReason, messages[0]!.dueAt, messages[0]!.attempt], ['twice', null, 2]);
    },
  );

  fact('dead letters that are too old are swept, and dedupe ids with them', async ({ queue }) => {
    await queue.send(place, sender, [message('bad', { dedupeId: 'one' }), message('good')], T0);
    const lane = await queue.lanes.open('shop', 'mail');
    const [row] = await claim(queue, [lane], T0);
    await queue.deadLetter(row!, 'why', T0);
    await queue.sweep(T0 + 4 * DAY - 1);
    assert.equal((await queue.metrics(place, T0)).deadCount, 1);
    await queue.sweep(T0 + 4 * DAY);
    assert.equal((await queue.metrics(place, T0)).deadCount, 0);
  });

  fact('metrics count what waits and what is being delivered', async ({ queue }) => {
    await queue.send(place, sender, [message('a'), message('b')], T0);
    await queue.send({ namespace: 'other', resource: 'mail' }, sender, [message('c')], T0);
    const lane = await queue.lanes.open('shop', 'mail');
    await claim(queue, [lane], T0, { perLane: 1 });
    const metrics = { backlogCount: 2, backlogBytes: 20, inFlightCount: 1, oldestMessageTimestamp: T0, deadCount: 0 };
    assert.deepEqual(await queue.metrics(place, T0), metrics);
    assert.deepEqual(await queue.metrics({ namespace: 'nobody', resource: 'none' }, T0), {
      backlogCount: 0,
      backlogBytes: 0,
      inFlightCount: 0,
      oldestMessageTimestamp: null,
      deadCount: 0,
    });
    assert.equal(await queue.purge(place), 1);
  });

  fact('a thousand messages sent at once are all there, each once', async ({ queue }) => {
    await Promise.all(Array.from({ length: 1000 }, (_, n) => queue.send(place, sender, [message(`m${n}`)], T0)));
    const lane = await queue.lanes.open('shop', 'mail');
    await queue.lanes.set(lane, { concurrency: 2000 });
    const batches = await Promise.all(
      Array.from({ length: 4 }, async (_, n) => {
        const rows: string[] = [];
        for (;;) {
          const claimed = await claim(queue, [lane], T0, { lease: `l${n}`, perLane: 50 });
          if (claimed.length === 0) return rows;
          rows.push(...claimed.map((row) => row.message_id));
        }
      }),
    );
    const all = batches.flat();
    assert.deepEqual([all.length, new Set(all).size], [1000, 1000]);
  });
}
