// The cases of the broker's contract about messages. Run by broker.ts.
import assert from 'node:assert/strict';
import { defaultLimits } from '#core/limits.ts';
import type { NewMessage } from '#runtime/engine/bindings/queue.ts';
import type { EventStores } from '#runtime/stores/event-stores.ts';
import { until } from '#test/setup/until.ts';
import { done, end, mail, message, owner, sender, type Deliver, type Fact, type Messages } from './broker-case.ts';

export function queueCases(fact: Fact): void {
  const send = (stores: EventStores, ...messages: NewMessage[]): Promise<string[]> =>
    stores.queue.send(mail, sender, messages, Date.now());
  const ids = (event: unknown): string[] => (event as Messages).messages.map(({ id }) => id);
  const backlog = async (stores: EventStores): Promise<number> =>
    (await stores.queue.metrics(mail, Date.now())).backlogCount;

  fact('messages go out together, and are gone when they are acknowledged', async ({ stores, start }) => {
    await send(stores, message('a'), message('b'), message('c'));
    const seen: unknown[] = [];
    await start((event, kind) => {
      seen.push([kind, event]);
      return done({ acked: ids(event), retry: [] });
    });
    await until(async () => (await backlog(stores)) === 0);
    const [[kind, event]] = seen as [[string, Messages & { binding: string }]];
    assert.equal(seen.length, 1);
    assert.deepEqual([kind, event.queueName, event.binding, ids(event)], ['queue', 'mail', 'MAIL', ['a', 'b', 'c']]);
    assert.deepEqual([event.messages[0]!.payload, event.messages[0]!.attempt], ['a', 1]);
  });

  fact(
    'a message that is sent while the broker waits is delivered at once, and a delayed one when it is due',
    async ({ stores, start }) => {
      const seen: [string, number][] = [];
      await start(
        (event) => {
          for (const id of ids(event)) seen.push([id, Date.now()]);
          return done({ acked: ids(event), retry: [] });
        },
        { limits: { ...defaultLimits.delivery, pollMs: 3_600_000 } },
      );
      await send(stores, message('now'));
      await until(() => seen.length === 1);
      const dueAt = Date.now() + 100;
      await send(stores, message('later', { dueAt }), message('much later', { dueAt: dueAt + 50 }));
      await until(() => seen.length === 3);
      assert.deepEqual(
        seen.map(([id]) => id),
        ['now', 'later', 'much later'],
      );
      assert.ok(seen[1]![1] >= dueAt && seen[2]![1] >= dueAt + 50);
    },
  );

  fact(
    'a message that keeps failing is tried four times, alone after the first, and lies with the dead letters',
    async (setting) => {
      const { stores, start, said } = setting;
      await send(stores, message('good'), message('poison'));
      const seen: [string[], number][] = [];
      await start((event) => {
        const list = (event as unknown as Messages).messages;
        seen.push([ids(event), list[0]!.attempt]);
        const retry = list.filter(({ id }) => id === 'poison').map(({ id }) => ({ id, error: 'cannot be read' }));
        return done({ acked: ids(event).filter((id) => id !== 'poison'), retry });
      });
      await until(async () => (await stores.queue.metrics(mail, Date.now())).deadCount === 1);
      assert.deepEqual(seen, [
        [['good', 'poison'], 1],
        [['poison'], 2],
        [['poison'], 3],
        [['poison'], 4],
      ]);
      const { messages } = await stores.queue.list({ ...mail, resource: 'mail_dlq' }, { limit: 5, after: 0 });
      assert.deepEqual(
        [messages[0]!.id, messages[0]!.deadReason, messages[0]!.attempt],
        ['poison', 'cannot be read', 4],
      );
      assert.deepEqual(said, ['message moved to dead letters']);
    },
  );

  fact('a message that ends the invocation costs its neighbours one attempt', async ({ stores, start }) => {
    await send(stores, message('a'), message('spinner'), message('b'));
    const attempts = new Map<string, number>();
    await start((event) => {
      for (const { id, attempt } of (event as unknown as Messages).messages) attempts.set(id, attempt);
      return ids(event).includes('spinner') ? end('cpu_limit_exceeded') : done({ acked: ids(event), retry: [] });
    });
    await until(
      async () => (await stores.queue.metrics(mail, Date.now())).deadCount === 1 && (await backlog(stores)) === 0,
    );
    assert.deepEqual(Object.fromEntries(attempts), { a: 2, spinner: 4, b: 2 });
  });

  fact('a retry that asks for a delay gets it', async ({ stores, start, pass }) => {
    await send(stores, message('a'));
    const seen: number[] = [];
    await start((event) => {
      seen.push((event as unknown as Messages).messages[0]!.attempt);
      return seen.length === 1
        ? done({ acked: [], retry: [{ id: 'a', delaySeconds: 3600.0001 }] })
        : done({ acked: ['a'], retry: [] });
    });
    await until(
      async () => (await stores.queue.list(mail, { limit: 1, after: 0 })).messages[0]!.dueAt! > Date.now() + 3_500_000,
    );
    assert.deepEqual(seen, [1]);
    pass(3_600_000);
    await until(async () => (await backlog(stores)) === 0);
    assert.deepEqual(seen, [1, 2]);
  });

  fact('what has no consumer waits without losing an attempt', async ({ stores, start }) => {
    await send(stores, message('a'));
    let deployed = false;
    const seen: number[] = [];
    let refusals = 0;
    await start(
      (event) => {
        if (refusals++ < 2) return end('isolate_replaced');
        seen.push((event as unknown as Messages).messages[0]!.attempt);
        return done({ acked: ['a'], retry: [] });
      },
      { resolve: () => (deployed ? owner.deployment : ((deployed = true), owner.deployment)) },
    );
    await until(async () => (await backlog(stores)) === 0);
    assert.deepEqual(seen, [1]);
  });

  fact('an engine that dies loses nothing: its messages are delivered to another one', async ({ stores, start }) => {
    await send(stores, message('a'), message('b'));
    let deaths = 0;
    const seen: string[] = [];
    await start((event) => {
      if (deaths++ === 0) throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
      seen.push(...ids(event));
      return done({ acked: ids(event), retry: [] });
    });
    await until(async () => (await backlog(stores)) === 0);
    assert.deepEqual(seen.toSorted(), ['a', 'b']);
  });

  fact('messages of one ordering key are never delivered beside or before one another', async ({ stores, start }) => {
    const list = Array.from({ length: 12 }, (_, n) =>
      message(`${n % 2 === 0 ? 'x' : 'y'}${n}`, { orderingKey: n % 2 === 0 ? 'x' : 'y' }),
    );
    await send(stores, ...list);
    const seen: string[] = [];
    let failures = 0;
    await start((event) => {
      const [first] = ids(event);
      // The second of x fails once: those behind it wait.
      if (first === 'x2' && failures++ === 0) return end('worker_threw');
      seen.push(...ids(event));
      return done({ acked: ids(event), retry: [] });
    });
    await until(async () => (await backlog(stores)) === 0);
    assert.deepEqual(
      seen.filter((id) => id.startsWith('x')),
      ['x0', 'x2', 'x4', 'x6', 'x8', 'x10'],
    );
    assert.deepEqual(
      seen.filter((id) => id.startsWith('y')),
      ['y1', 'y3', 'y5', 'y7', 'y9', 'y11'],
    );
  });

  fact(
    'a queue with a long backlog does not keep those of other projects waiting',
    async ({ stores, start }) => {
      await stores.queue.send(
        mail,
        sender,
        Array.from({ length: 400 }, (_, n) => message(`flood ${n}`)),
        Date.now(),
      );
      await stores.queue.send({ namespace: 'other', resource: 'mail' }, sender, [message('single')], Date.now());
      const seen: string[] = [];
      await start((event) => {
        seen.push(...ids(event));
        return done({ acked: ids(event), retry: [] });
      });
      await until(() => seen.includes('single') && seen.length === 401);
      assert.ok(seen.indexOf('single') <= 40, `after ${seen.indexOf('single')} others`);
    },
    { inFlightMax: 20 },
  );

  fact('a queue has attempts, pauses and dead letters of its own', async ({ stores, start, now, pass }) => {
    await send(stores, message('poison'));
    const seen: string[] = [];
    const at: number[] = [];
    await stores.queue.lanes.consume('shop', ['lost']);
    await start(
      (event) => {
        seen.push((event as unknown as Messages).queueName);
        at.push(now());
        return end('worker_threw');
      },
      {
        queues: (namespace) =>
          namespace === 'shop' ? { mail: { maxRetries: 1, retryDelayMs: 60_000, deadLetter: 'lost' } } : {},
      },
    );
    await until(() => seen.length === 1);
    await until(async () => (await stores.queue.metrics(mail, now())).inFlightCount === 0);
    pass(75_000);
    // There it is tried as often as any message is, and stays.
    await until(
      async () =>
        (await stores.queue.list({ ...mail, resource: 'lost' }, { limit: 5, after: 0 })).messages[0]?.dueAt === null,
    );
    assert.deepEqual(seen, ['mail', 'mail', 'lost', 'lost', 'lost', 'lost']);
    assert.ok(at[1]! - at[0]! >= 60_000);
    assert.deepEqual(await stores.queue.metrics({ ...mail, deadLetter: 'lost' }, now()), {
      backlogCount: 0,
      backlogBytes: 0,
      inFlightCount: 0,
      oldestMessageTimestamp: null,
      deadCount: 1,
    });
    assert.equal(await stores.queue.redrive({ ...mail, deadLetter: 'lost' }, now()), 1);
  });

  fact('a message that says that another attempt would not help gets none', async ({ stores, start }) => {
    await send(stores, message('poison'), message('good'));
    let deliveries = 0;
    await start((event) => {
      deliveries++;
      const acked = ids(event).filter((id) => id !== 'poison');
      return done({ acked, retry: [{ id: 'poison', error: 'does not fit', final: true }] });
    });
    await until(async () => (await backlog(stores)) === 0);
    assert.equal(deliveries, 1);
    const { messages } = await stores.queue.list({ ...mail, resource: 'mail_dlq' }, { limit: 5, after: 0 });
    assert.deepEqual(
      messages.map(({ id, deadReason }) => [id, deadReason]),
      [['poison', 'does not fit']],
    );
  });

  fact('a queue works on so many messages at a time as it may', async ({ stores, start }) => {
    await send(stores, ...Array.from({ length: 30 }, (_, n) => message(`m${n}`)));
    await stores.queue.lanes.set(await stores.queue.lanes.open('shop', 'mail'), { concurrency: 3 });
    let running = 0;
    let most = 0;
    await start(async (event) => {
      running += ids(event).length;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= ids(event).length;
      return done({ acked: ids(event), retry: [] });
    });
    await until(async () => (await backlog(stores)) === 0);
    assert.equal(most, 3);
  });

  fact('two brokers share the work, and each message is delivered once', async ({ stores, start }) => {
    const seen: string[] = [];
    const deliver: Deliver = (event) => {
      seen.push(...ids(event));
      return done({ acked: ids(event), retry: [] });
    };
    await start(deliver);
    await start(deliver);
    await Promise.all(
      Array.from({ length: 20 }, (_, batch) =>
        send(stores, ...Array.from({ length: 10 }, (_, n) => message(`${batch}-${n}`))),
      ),
    );
    await until(async () => (await backlog(stores)) === 0);
    assert.deepEqual([seen.length, new Set(seen).size], [200, 200]);
  });

  fact('a broker that ends lets its deliveries finish, then takes them back', async ({ stores, start }) => {
    await send(stores, message('slow'));
    let begun!: () => void;
    const began = new Promise<void>((resolve) => (begun = resolve));
    const broker = await start(async (_event, _kind, signal) => {
      begun();
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
      return done();
    });
    await began;
    await broker.close(0);
    const [waiting] = (await stores.queue.list(mail, { limit: 1, after: 0 })).messages;
    assert.deepEqual([waiting!.id, waiting!.attempt], ['slow', 1]);
    assert.deepEqual(await stores.queue.claims.members(), []);
  });
}
