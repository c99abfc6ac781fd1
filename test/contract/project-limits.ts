// What a project may keep in state and queues, over each technology. Several engines write; each has bounds of its own
// over what all keep.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { NewMessage } from '#runtime/engine/bindings/queue.ts';
import type { StateStore } from '#runtime/engine/bindings/state.ts';
import { limitQueue, limitState, queueLimit, stateLimit } from '#runtime/stores/project-limits.ts';
import type { EventStores } from '#runtime/stores/event-stores.ts';
import type { Sql } from '#runtime/stores/sql.ts';

/** Stores under test. */
interface LimitedStores {
  readonly events: EventStores & { readonly sql: Sql };
  readonly state: StateStore;
  /** Bytes of state that a namespace keeps. */
  stateBytes(namespace: string): Promise<number>;
  close(): Promise<void>;
}

/** Registers the suite's tests. */
export function projectLimitsContract(open: () => Promise<LimitedStores>): void {
  let opened: LimitedStores;
  let events: LimitedStores['events'];
  before(async () => {
    opened = await open();
    ({ events } = opened);
  });
  after(() => opened.close());
  const stateLimitOf = (bytesMax: number): ReturnType<typeof stateLimit> =>
    stateLimit((namespace) => opened.stateBytes(namespace), bytesMax);

  const now = Date.now();
  const place = { namespace: 'shop', resource: 'ledger' };
  const record = (bytes: number): { value: Uint8Array; metadata: null; expiresAt: null } => ({
    value: new Uint8Array(bytes),
    metadata: null,
    expiresAt: null,
  });

  test('state that another engine has written counts, and another project is not refused', async () => {
    const limit = stateLimitOf(10_000);
    const one = limitState(opened.state, stateLimitOf(10_000));
    const other = limitState(opened.state, limit);
    await one.put(place, 'large', record(9000), now);
    await assert.rejects(async () => one.put(place, 'more', record(1000), now), {
      code: 'quota_exceeded',
      message: 'The state of this project would exceed 10000 bytes',
    });
    await other.put(place, 'small', record(1), now);
    while (limit.estimate('shop') < 9000) await new Promise((resolve) => setImmediate(resolve));
    await assert.rejects(async () => other.put(place, 'more', record(2000), now), { code: 'quota_exceeded' });
    await assert.rejects(async () => other.update(place, 'json', () => JSON.stringify('x'.repeat(2000)), now), {
      code: 'quota_exceeded',
    });
    assert.deepEqual(await other.get(place, ['more', 'json'], now), [null, null]);
    await other.put({ ...place, namespace: 'other' }, 'large', record(9000), now);
    assert.equal(await other.update(place, 'json', () => '1', now), '1');
  });

  test('messages that wait and dead letters count', async () => {
    const message = (bytes: number): NewMessage => ({
      id: crypto.randomUUID(),
      payload: JSON.stringify('x'.repeat(bytes)),
      dueAt: now,
      dedupeId: null,
      orderingKey: null,
    });
    const send = async (store: ReturnType<typeof limitQueue>, bytes: number): Promise<string[]> =>
      store.send(place, { project: 'shop', branch: 'main', binding: 'JOBS' }, [message(bytes)], now);
    const limit = queueLimit(events.sql, 10_000);
    const other = limitQueue(events.queue, limit);
    await send(limitQueue(events.queue, queueLimit(events.sql, 10_000)), 9000);
    await send(other, 1);
    while (limit.estimate('shop') < 9000) await new Promise((resolve) => setImmediate(resolve));
    await assert.rejects(send(other, 2000), {
      code: 'quota_exceeded',
      message: 'The messages of this project would exceed 10000 bytes',
    });
    await events.queue.purge(place);
    // Those of a preview count for its project.
    const preview = { ...place, namespace: 'shop~~login' };
    await events.queue.send(preview, { project: 'shop', branch: 'login', binding: 'JOBS' }, [message(9000)], now);
    const later = limitQueue(events.queue, queueLimit(events.sql, 10_000));
    await send(later, 1);
    await assert.rejects(
      async () => {
        for (;;) await later.send(preview, { project: 'shop', branch: 'login', binding: 'JOBS' }, [message(500)], now);
      },
      { code: 'quota_exceeded' },
    );
    await events.queue.purge(preview);
    await events.queue.purge(place);
    await send(limitQueue(events.queue, queueLimit(events.sql, 10_000)), 2000);
  });
}
