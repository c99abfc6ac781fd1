// What a broker keeps to over every technology of its stores: engines are stood in for by functions, everything else is real.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultDeliveryLimits, type DeliveryLimits } from '#core/delivery-limits.ts';
import { nextTime } from '#core/timer-next.ts';
import type { NewMessage } from '#runtime/bindings/queue.ts';
import { startBroker, type Broker } from '#runtime/broker/broker.ts';
import { toEventEnd, type Recipient, type WorkParts } from '#runtime/broker/delivery.ts';
import type { DeliveryEnd, EventKind } from '#runtime/invocation/delivery.ts';
import { failed, ok, type FailureCode } from '#runtime/invocation/outcome.ts';
import type { EventStores } from '#runtime/stores/event-stores.ts';

export type OpenBrokerStores = (limits: DeliveryLimits) => Promise<{ stores: EventStores; close(): Promise<void> }>;

type Deliver = (
  event: Record<string, unknown>,
  kind: EventKind,
  signal: AbortSignal,
  deployment: string,
) => Promise<DeliveryEnd> | DeliveryEnd;

const sender = { project: 'shop', branch: 'main', binding: 'MAIL' };
const owner = { project: 'shop', branch: 'main', deployment: 'd000000000001' };
const mail = { namespace: 'shop', resource: 'mail' };

export const done = (result: unknown = null): DeliveryEnd => ({ outcome: ok, result: JSON.stringify(result), cpuMs: 1 });
export const end = (code: FailureCode): DeliveryEnd => ({ outcome: failed(code), result: null, cpuMs: 1 });

interface Messages {
  readonly queueName: string;
  readonly messages: readonly { readonly id: string; readonly payload: unknown; readonly attempt: number; readonly timestamp: number }[];
}

export function message(id: string, fields: Partial<NewMessage> = {}): NewMessage {
  return { id, payload: JSON.stringify(id), dueAt: Date.now(), dedupeId: null, orderingKey: null, ...fields };
}

/** Waits until something is so; the condition is looked at whenever something may have changed. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setImmediate(resolve));
}

/** Registers the suite's tests. */
export function brokerContract(open: OpenBrokerStores): void {
  interface Setting {
    readonly stores: EventStores;
    readonly said: string[];
    /** Moves the broker's clock. */ pass(ms: number): void;
    now(): number;
    start(deliver: Deliver, parts?: Partial<WorkParts>): Promise<Broker>;
  }
  const fact = (title: string, run: (setting: Setting) => Promise<void>, changed: Partial<DeliveryLimits> = {}): void => {
    test(title, async () => {
      const limits = { ...defaultDeliveryLimits, pollMs: 20, backoffMs: 10, backoffMsMax: 20, ...changed };
      const { stores, close } = await open(limits);
      const said: string[] = [];
      const brokers: Broker[] = [];
      const presences: { close(): Promise<void> }[] = [];
      let passed = 0;
      const now = (): number => Date.now() + passed;
      try {
        await run({
          stores,
          said,
          now,
          pass: (ms) => void (passed += ms),
          async start(deliver, parts = {}) {
            const presence = await stores.join(() => {});
            presences.push(presence);
            const broker = await startBroker({
              stores,
              wake: stores.wake,
              presence,
              nextTime,
              resolve: ({ deployment }) => deployment ?? owner.deployment,
              deliver: async (deployment, kind, event, signal) =>
                toEventEnd(await deliver(JSON.parse(event) as Record<string, unknown>, kind, signal, deployment)),
              limits,
              now,
              random: () => 0,
              onEvent: (_level, text) => void said.push(text),
              ...parts,
            });
            brokers.push(broker);
            return broker;
          },
        });
      } finally {
        await Promise.all(brokers.map((broker) => broker.close(0)));
        await Promise.all(presences.map((presence) => presence.close()));
        await close();
      }
    });
  };
  const send = (stores: EventStores, ...messages: NewMessage[]): Promise<string[]> => stores.queue.send(mail, sender, messages, Date.now());
  const ids = (event: unknown): string[] => (event as Messages).messages.map(({ id }) => id);
  const backlog = async (stores: EventStores): Promise<number> => (await stores.queue.metrics(mail, Date.now())).backlogCount;

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
        { limits: { ...defaultDeliveryLimits, pollMs: 3_600_000 } },
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

  fact('a message that keeps failing is tried four times, alone after the first, and lies with the dead letters', async (setting) => {
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
    assert.deepEqual([messages[0]!.id, messages[0]!.deadReason], ['poison', 'cannot be read']);
    assert.deepEqual(said, ['A message failed for good and lies with the dead letters']);
  });

  fact('a message that ends the invocation costs its neighbours one attempt', async ({ stores, start }) => {
    await send(stores, message('a'), message('spinner'), message('b'));
    const attempts = new Map<string, number>();
    await start((event) => {
      for (const { id, attempt } of (event as unknown as Messages).messages) attempts.set(id, attempt);
      return ids(event).includes('spinner') ? end('cpu_limit_exceeded') : done({ acked: ids(event), retry: [] });
    });
    await until(async () => (await stores.queue.metrics(mail, Date.now())).deadCount === 1 && (await backlog(stores)) === 0);
    assert.deepEqual(Object.fromEntries(attempts), { a: 2, spinner: 4, b: 2 });
  });

  fact('a retry that asks for a delay gets it', async ({ stores, start, pass }) => {
    await send(stores, message('a'));
    const seen: number[] = [];
    await start((event) => {
      seen.push((event as unknown as Messages).messages[0]!.attempt);
      return seen.length === 1 ? done({ acked: [], retry: [{ id: 'a', delaySeconds: 3600.0001 }] }) : done({ acked: ['a'], retry: [] });
    });
    await until(async () => (await stores.queue.list(mail, { limit: 1, after: 0 })).messages[0]!.dueAt! > Date.now() + 3_500_000);
    assert.deepEqual(seen, [1]);
    pass(3_600_000);
    await until(async () => (await backlog(stores)) === 0);
    assert.deepEqual(seen, [1, 2]);
  });

  fact('what nobody takes waits without losing an attempt', async ({ stores, start }) => {
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
    const list = Array.from({ length: 12 }, (_, n) => message(`${n % 2 === 0 ? 'x' : 'y'}${n}`, { orderingKey: n % 2 === 0 ? 'x' : 'y' }));
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
      { queues: (namespace) => (namespace === 'shop' ? { mail: { maxRetries: 1, retryDelayMs: 60_000, deadLetter: 'lost' } } : {}) },
    );
    await until(() => seen.length === 1);
    await until(async () => (await stores.queue.metrics(mail, now())).inFlightCount === 0);
    pass(75_000);
    // There it is tried as often as any message is, and stays.
    await until(async () => (await stores.queue.list({ ...mail, resource: 'lost' }, { limit: 5, after: 0 })).messages[0]?.dueAt === null);
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
      Array.from({ length: 20 }, (_, batch) => send(stores, ...Array.from({ length: 10 }, (_, n) => message(`${batch}-${n}`)))),
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

  const reminders = { namespace: 'shop', resource: 'reminders' };
  const timer = { payload: '{"a":1}', intervalMs: null, cron: null, timezone: null };

  fact('a timer fires once across brokers, with what it was set to', async ({ stores, start, now }) => {
    const seen: unknown[] = [];
    const deliver: Deliver = (event, kind) => {
      seen.push([kind, event]);
      return done();
    };
    await start(deliver);
    await start(deliver);
    const dueAt = now() + 30;
    await stores.timer.set(reminders, { ...sender, binding: 'TIMER' }, { ...timer, id: 'a', dueAt }, now());
    await until(async () => (await stores.timer.get(reminders, 'a')) === null);
    const event = { binding: 'TIMER', id: 'a', scheduledTime: dueAt, intervalMs: null, payload: { a: 1 } };
    assert.deepEqual(seen, [['timer', event]]);
  });

  fact('an interval that was missed fires once after a downtime, then at its old pace', async ({ stores, start, now, pass }) => {
    const first = now() + 60_000;
    await stores.timer.set(reminders, sender, { ...timer, id: 'a', dueAt: first, intervalMs: 60_000 }, now());
    pass(3_600_000);
    const seen: number[] = [];
    await start((event) => {
      seen.push(event['scheduledTime'] as number);
      return done();
    });
    await until(async () => (await stores.timer.get(reminders, 'a'))!.scheduledTime > first);
    const next = (await stores.timer.get(reminders, 'a'))!.scheduledTime;
    assert.deepEqual(seen, [first]);
    assert.equal((next - first) % 60_000, 0);
    assert.ok(next > now() && next <= now() + 60_000);
  });

  fact('a clock that jumps back does not fire a timer twice', async ({ stores, start, now, pass }) => {
    pass(7_200_000);
    const seen: number[] = [];
    await start((event) => {
      seen.push(event['scheduledTime'] as number);
      return done();
    });
    const dueAt = now();
    await stores.timer.set(reminders, sender, { ...timer, id: 'a', dueAt, intervalMs: 3_600_000 }, now());
    await until(async () => seen.length === 1 && (await stores.timer.get(reminders, 'a'))!.scheduledTime === dueAt + 3_600_000);
    pass(-7_200_000);
    await stores.timer.set(reminders, sender, { ...timer, id: 'probe', dueAt: now() }, now());
    await until(async () => (await stores.timer.get(reminders, 'probe')) === null);
    assert.deepEqual(seen, [dueAt, seen[1]]);
  });

  fact('a timer that fails is tried again, and given up after four times', async ({ stores, start, now }) => {
    let tries = 0;
    await start(() => {
      tries++;
      return end('worker_threw');
    });
    await stores.timer.set(reminders, sender, { ...timer, id: 'a', dueAt: now() }, now());
    await until(async () => (await stores.timer.get(reminders, 'a')) === null);
    assert.equal(tries, 4);
  });

  fact('a timer that its own handler sets anew goes on', async ({ stores, start, now }) => {
    let fired = 0;
    await start(async () => {
      if (++fired < 3) await stores.timer.set(reminders, sender, { ...timer, id: 'a', dueAt: now() }, now());
      return done();
    });
    await stores.timer.set(reminders, sender, { ...timer, id: 'a', dueAt: now() }, now());
    await until(async () => (await stores.timer.get(reminders, 'a')) === null);
    assert.equal(fired, 3);
  });

  fact('a schedule runs when it is due, and not twice for one time', async ({ stores, start, now, pass }) => {
    const at = { namespace: 'shop', resource: 'shop' };
    const seen: unknown[] = [];
    const recipients: Recipient[] = [];
    await start(
      (event, kind) => {
        seen.push([kind, event]);
        return done({ noRetry: false });
      },
      { resolve: (recipient) => (recipients.push(recipient), owner.deployment) },
    );
    const hourly = [{ name: 'HOURLY', schedule: '0 * * * *', timezone: 'UTC' }];
    await stores.cron.declare(at, { project: 'shop', branch: 'main' }, hourly, now());
    const { nextAt } = (await stores.cron.list(at))[0]!;
    pass(nextAt - now() + 10);
    await until(async () => (await stores.cron.list(at))[0]!.lastOutcome === 'ok');
    assert.deepEqual(seen, [['cron', { name: 'HOURLY', cron: '0 * * * *', scheduledTime: nextAt }]]);
    assert.deepEqual([recipients[0]!.kind, recipients[0]!.project, recipients[0]!.branch], ['cron', 'shop', 'main']);
    assert.equal((await stores.cron.list(at))[0]!.nextAt, nextAt + 3_600_000);
  });

  const orders = { namespace: 'shop', resource: 'orders' };
  const run = (stores: EventStores, id: string, now: number): Promise<void> =>
    stores.workflow.trigger(orders, owner, { id, input: '{"n":1}' }, now);
  const statusOf = async (stores: EventStores, id: string): Promise<string | undefined> => (await stores.workflow.get(orders, id))?.status;

  fact('a run goes to the deployment that started it, sleeps without being claimed, and ends', async ({ stores, start, now, pass }) => {
    const seen: unknown[] = [];
    await start(async (event, kind, _signal, deployment) => {
      const token = event['run'] as string;
      seen.push([kind, deployment, event['executionId'], event['input'], event['steps']]);
      const steps = event['steps'] as Record<string, { status: string; result?: unknown }>;
      if (steps['load'] === undefined) {
        await stores.workflow.step('shop', token, 'load', { kind: 'done', result: '{"user":7}' }, now());
        await stores.workflow.step('shop', token, 'nap', { kind: 'sleep', wakeAt: now() + 86_400_000 }, now());
        return done({ status: 'suspended' });
      }
      return done({ status: 'completed', output: steps['load'].result });
    });
    await run(stores, 'r', now());
    await until(async () => (await stores.workflow.history(orders, 'r'))!.steps.length === 2);
    await until(async () => (await stores.workflow.claims.members()).length === 0);
    assert.equal(await statusOf(stores, 'r'), 'running');
    pass(86_400_000);
    await until(async () => (await statusOf(stores, 'r')) === 'completed');
    assert.equal((await stores.workflow.get(orders, 'r'))!.output, '{"user":7}');
    const steps = { load: { kind: 'run', status: 'done', result: { user: 7 } }, nap: { kind: 'sleep', status: 'done' } };
    assert.deepEqual(seen, [
      ['workflow', 'd000000000001', 'r', { n: 1 }, {}],
      ['workflow', 'd000000000001', 'r', { n: 1 }, steps],
    ]);
  });

  fact('a run that ends its invocation is tried again, and failed with the reason when it gets nowhere', async ({ stores, start, now }) => {
    let stretches = 0;
    await start(() => {
      stretches++;
      return end('cpu_limit_exceeded');
    });
    await run(stores, 'r', now());
    await until(async () => (await statusOf(stores, 'r')) === 'failed');
    assert.equal(stretches, 4);
    assert.deepEqual(JSON.parse((await stores.workflow.get(orders, 'r'))!.error!), {
      name: 'cpu_limit_exceeded',
      message: 'CPU limit exceeded',
    });
  });

  fact('an engine that dies in a step repeats that step only', async ({ stores, start, now }) => {
    const ran: string[] = [];
    let died = false;
    await start(async (event) => {
      const token = event['run'] as string;
      const steps = event['steps'] as Record<string, unknown>;
      for (const name of ['a', 'b', 'c']) {
        if (steps[name] !== undefined) continue;
        ran.push(name);
        if (name === 'b' && !died) {
          died = true;
          throw new Error('socket hang up');
        }
        assert.equal(await stores.workflow.step('shop', token, name, { kind: 'done', result: '1' }, now()), true);
      }
      return done({ status: 'completed', output: null });
    });
    await run(stores, 'r', now());
    await until(async () => (await statusOf(stores, 'r')) === 'completed');
    assert.deepEqual(ran, ['a', 'b', 'b', 'c']);
  });

  fact('a run that waits for an event goes on when it comes', async ({ stores, start, now }) => {
    await start(async (event) => {
      const steps = event['steps'] as Record<string, { status: string; result?: { payload: unknown } }>;
      if (steps['paid']?.status === 'done') return done({ status: 'completed', output: steps['paid'].result!.payload });
      if (steps['paid'] === undefined)
        await stores.workflow.waitForEvent('shop', event['run'] as string, { name: 'paid', type: 'paid', timeoutAt: null }, now());
      return done({ status: 'suspended' });
    });
    await run(stores, 'r', now());
    await until(async () => (await stores.workflow.history(orders, 'r'))!.steps.length === 1);
    await stores.workflow.sendEvent(orders, 'r', { type: 'paid', payload: '42' }, now());
    await until(async () => (await statusOf(stores, 'r')) === 'completed');
    assert.equal((await stores.workflow.get(orders, 'r'))!.output, '42');
  });
}
