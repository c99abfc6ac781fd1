// Queues, timers and workflows as a worker sees them: a real isolate, the stores of a technology, and a broker between
// them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { defaultLimits, type DeliveryLimits } from '#core/limits.ts';
import { nextTime } from '#core/schedules/timer-next.ts';
import { startBroker, type Broker } from '#runtime/broker/broker.ts';
import { toEventEnd } from '#runtime/broker/delivery/delivery.ts';
import type { EventStores } from '#runtime/stores/event-stores.ts';
import { onlyInIsolates, startHandler, type TestHandler } from '#test/setup/handler.ts';
import { until } from '#test/setup/until.ts';

const yaml = `
queue: { MAIL: mail, DEAD: mail_dlq }
timer: { TIMER: reminders }
workflow: { ORDER: orders }
state: { KV: notes }
cron: { HOURLY: '0 * * * *' }
`;

// One route a call: `POST /<name>` with JSON arguments; what events bring is logged.
const worker = `
const calls = {
  send: (env, [payload, options]) => env.MAIL.send(payload, options),
  sendBatch: (env, [messages]) => env.MAIL.sendBatch(messages),
  sendTyped: async (env) => {
    await env.MAIL.send(new Uint8Array([1, 2, 3]).subarray(1), { contentType: 'bytes' });
    await env.MAIL.send({ typed: 'v8', at: new Date(0), map: new Map([[1, 2]]), not: NaN }, { contentType: 'v8' });
    await env.MAIL.sendBatch([{ body: 'as it is', contentType: 'text' }, { body: { $structured: 'mine' }, contentType: 'json' }]);
  },
  metrics: (env) => env.MAIL.metrics(),
  timerSet: (env, args) => env.TIMER.set(...args),
  timerGet: (env, args) => env.TIMER.get(...args),
  timerDelete: (env, args) => env.TIMER.delete(...args),
  timerList: (env, args) => env.TIMER.list(...args),
  trigger: (env, args) => env.ORDER.trigger(...args),
  createBatch: (env, args) => env.ORDER.createBatch(...args),
  execution: (env, args) => env.ORDER.getExecution(...args),
  status: async (env, [id]) => (await env.ORDER.get(id)).status(),
  cancel: (env, args) => env.ORDER.cancel(...args),
  pause: (env, args) => env.ORDER.pause(...args),
  resume: (env, args) => env.ORDER.resume(...args),
  restart: (env, args) => env.ORDER.restart(...args),
  list: (env, args) => env.ORDER.list(...args),
  sendEvent: (env, args) => env.ORDER.sendEvent(...args),
};
let calm = 0;
const kind = (value) => Object.prototype.toString.call(value).slice(8, -1);
export default {
  async fetch(request, env) {
    const args = await request.json();
    try {
      return Response.json({ value: (await calls[new URL(request.url).pathname.slice(1)](env, args)) ?? null });
    } catch (error) {
      return Response.json({ error: error.message, code: error.code });
    }
  },
  message(event) {
    if (event.payload instanceof ArrayBuffer) return console.log('bytes', new Uint8Array(event.payload).join());
    if (event.payload?.typed === 'v8') return console.log('v8', kind(event.payload.at), event.payload.map.get(1), event.payload.not);
    console.log('message', JSON.stringify([event.queueName, event.payload, event.attempt]));
    if (event.payload === 'poison' && event.queueName === 'mail') throw new Error('cannot be read');
    if (event.payload === 'hopeless' && event.queueName === 'mail') throw Object.assign(new Error('never'), { name: 'NonRetryableError' });
    if (event.payload === 'spin' && event.attempt === 1) for (;;);
  },
  timer(event) {
    console.log('timer', JSON.stringify([event.id, event.payload, event.intervalMs]));
  },
  scheduled(controller) {
    console.log('scheduled', controller.cron, controller.scheduledTime);
  },
  workflows: {
    orders: {
      async handler({ input, step, log, executionId }) {
        if (input.types) {
          const values = [
            await step.do('due', async () => new Date(0)),
            await step.do('tags', async () => new Map([['a', 1]])),
            await step.do('bytes', async () => new Uint8Array([1, 2]).buffer),
            await step.do('nothing', async () => {}),
            await step.do('large', async () => 2n ** 64n),
          ];
          const before = await step.do('look', async () => values.map(kind));
          await step.sleep('nap', 20);
          if (input.refused) await step.do('refused', async () => () => {});
          return { before, after: values.map(kind), due: values[0] };
        }
        const first = await step.run('double', () => {
          console.log('ran double of', executionId);
          return input.n * 2;
        });
        if (input.fail) await step.run('fail', () => { throw new Error('no luck'); }, { retries: 1, backoff: { delayMs: 10 } });
        if (input.spin) await step.run('spin', () => { for (;;); });
        if (input.nap) await step.sleep('nap', input.nap);
        let event = null;
        if (input.wait) event = await step.waitForEvent('approval', { type: 'approved', timeoutMs: input.wait });
        const parts = await Promise.all([step.run('a', async () => 'a'), step.run('b', async () => 'b')]);
        log('almost there', { first });
        return { first, parts, event: event?.payload ?? null };
      },
    },
  },
};
`;

const ofInvocations = onlyInIsolates('a server has no CPU budget of its own');

/** Registers the suite's tests. */
export function eventBindingsContract(
  open: (limits: DeliveryLimits) => Promise<{ stores: EventStores; close(): Promise<void> }>,
): void {
  let handler: TestHandler;
  let broker: Broker;
  let stores: EventStores;
  let close: () => Promise<void>;

  before(async () => {
    const limits = { ...defaultLimits.delivery, pollMs: 50, backoffMs: 20, backoffMsMax: 40 };
    const opened = await open(limits);
    stores = opened.stores;
    handler = await startHandler(
      { shop: { files: worker, yaml } },
      { cpu: cpuOf(150) },
      {
        stores: { state: null, files: null, events: { ...stores, limits } },
      },
    );
    await stores.queue.lanes.consume('shop', ['mail', 'mail_dlq']);
    const presence = await stores.join(() => {});
    broker = await startBroker({
      stores,
      wake: stores.wake,
      presence,
      nextTime,
      resolve: ({ deployment }) => deployment ?? handler.deploymentOf('shop'),
      deliver: async (deployment, kind, event) => toEventEnd(await handler.handler.deliver(deployment, kind, event)),
      limits,
      now: Date.now,
      random: () => 0,
      onEvent: () => {},
    });
    close = async () => {
      await broker.close(1000);
      await presence.close();
      await handler.close();
      await opened.close();
    };
  });
  after(() => close());

  async function call<Value = unknown>(name: string, ...args: unknown[]): Promise<Value> {
    const { value, error } = (await raw(name, ...args)) as { value: Value; error?: string };
    assert.equal(error, undefined);
    return value;
  }
  async function raw(name: string, ...args: unknown[]): Promise<unknown> {
    return (await handler.fetch('shop', `/${name}`, { method: 'POST', body: JSON.stringify(args) })).json();
  }
  const logged = (pattern: RegExp): Promise<unknown> => handler.logged('shop', pattern);
  const count = (pattern: RegExp): number => handler.logs.filter(({ text }) => pattern.test(text)).length;
  const orders = { namespace: 'shop', resource: 'orders' };
  // Not through the worker: a request beside a step that spins is answered 503 with its isolate.
  async function ended(id: string): Promise<{ status: string; output: unknown; errorMessage: string | null }> {
    await until(async () =>
      ['completed', 'failed', 'cancelled'].includes((await stores.workflow.get(orders, id))!.status),
    );
    const { status, output, error } = (await stores.workflow.get(orders, id))!;
    const errorMessage = error === null ? null : (JSON.parse(error) as { message: string }).message;
    return { status, output: output === null ? null : (JSON.parse(output) as unknown), errorMessage };
  }

  test('a message that is sent comes to the message handler', async () => {
    const { messageId } = await call<{ messageId: string }>('send', { to: 'ada', text: 'grüße \u{1f600}\0' });
    assert.match(messageId, /^[0-9a-f-]{36}$/);
    await logged(/^message \["mail",\{"to":"ada","text":"grüße \u{1f600}\\u0000"\},1\]$/u);
  });

  test('a batch is sent whole, and its ids are in order', async () => {
    const { messageIds } = await call<{ messageIds: string[] }>('sendBatch', [
      { payload: 'b1' },
      { body: 'b2', delaySeconds: 0.05 },
    ]);
    assert.equal(new Set(messageIds).size, 2);
    await logged(/"b1"/);
    await logged(/"b2"/);
  });

  test('a body comes as its content type says: bytes, text, or what structuredClone can copy', async () => {
    await call('sendTyped');
    await logged(/^bytes 2,3$/);
    await logged(/^v8 Date 2 NaN$/);
    await logged(/^message \["mail","as it is",1\]$/);
    await logged(/^message \["mail",\{"\$structured":"mine"\},1\]$/);
  });

  test('a dedupe id sends a message once', async () => {
    const first = await call('send', 'only once', { dedupeId: 'k' });
    assert.deepEqual(await call('send', 'only once', { dedupeId: 'k' }), first);
    await logged(/"only once"/);
    await until(async () => (await call<{ backlogCount: number }>('metrics')).backlogCount === 0);
    assert.equal(count(/"only once"/), 1);
  });

  test('a message whose handler throws every time comes to the dead letters, whose queue is declared', async () => {
    await call('send', 'poison');
    await logged(/^message \["mail_dlq","poison",1\]$/);
    assert.equal(count(/^message \["mail","poison"/), 4);
  });

  test('a message whose handler throws a NonRetryableError goes to the dead letters at once', async () => {
    await call('send', 'hopeless');
    await logged(/^message \["mail_dlq","hopeless",1\]$/);
    assert.equal(count(/^message \["mail","hopeless"/), 1);
  });

  test('a message that uses up its CPU is tried again in a fresh isolate', ofInvocations, async () => {
    await raw('send', 'spin');
    await logged(/"spin",2\]/);
  });

  test('what is no message is refused with a reason', async () => {
    const refused: [string, unknown[], RegExp][] = [
      ['send', ['x'.repeat(131_072)], /^The message has 131074 bytes as JSON, and may have 131072$/],
      ['send', ['x', { delaySeconds: -1 }], /^delaySeconds must be a number of at least 0$/],
      ['send', ['x', { delaySeconds: 90_000 }], /^delaySeconds must be at most 86400$/],
      ['send', ['x', { dedupeId: 'a\0' }], /^dedupeId must not contain NUL$/],
      ['send', ['x', { contentType: 'nonsense' }], /^contentType must be json, text, bytes or v8, not nonsense$/],
      ['send', [{}, { contentType: 'text' }], /^A message of contentType text must be a string$/],
      [
        'send',
        ['x', { contentType: 'bytes' }],
        /^A message of contentType bytes must be an ArrayBuffer or a view of one$/,
      ],
      ['send', ['x', { orderingKey: 'x'.repeat(129) }], /^orderingKey has 129 bytes, and may have 128$/],
      [
        'sendBatch',
        [Array.from({ length: 101 }, () => ({ payload: 1 }))],
        /^A batch has 101 messages, and may have 100$/,
      ],
      ['sendBatch', [null], /^sendBatch takes a list of messages: \[\{ body \}, \.\.\.\]$/],
      ['sendBatch', ['text'], /^sendBatch takes a list of messages/],
      ['sendBatch', [[1]], /^sendBatch takes a list of messages/],
      ['createBatch', ['text'], /^createBatch takes a list: \[\{ id, params \}, \.\.\.\]$/],
      ['sendBatch', [[]], /^There must be at least one message$/],
      ['timerSet', ['t', 'tomorrow'], /^The time must be a Date/],
      ['timerSet', ['', 0], /^The id must not be empty$/],
      ['timerSet', ['t', 0, { intervalMs: 10 }], /^intervalMs must be a whole number from 1000/],
      ['timerSet', ['t', 0, { cron: '61 * * * *' }], /^cron: "61" is not a minute/],
      ['timerSet', ['t', 0, { cron: '* * * * *', timezone: 'Mars' }], /^timezone must be the name of a time zone/],
      ['timerSet', ['t', 0, { cron: '* * * * *', intervalMs: 5000 }], /^intervalMs and cron exclude each other$/],
      ['timerList', [{ cursor: '%' }], /^The cursor is not valid$/],
      ['trigger', [1, { id: 'x'.repeat(300) }], /^The id has 300 bytes, and may have 256$/],
      ['cancel', ['none'], /^Workflow orders has no run none$/],
      ['list', [{ status: 'odd' }], /^status must be one of/],
    ];
    for (const [name, args, pattern] of refused) {
      const { error } = (await raw(name, ...args)) as { error?: string };
      assert.match(error ?? 'nothing', pattern, name);
    }
  });

  test('a timer fires once with its payload, and is gone', async () => {
    await call('timerSet', 'soon', { afterMs: 20 }, { payload: { invoice: 7 } });
    await logged(/^timer \["soon",\{"invoice":7\},null\]$/);
    await until(async () => (await call('timerGet', 'soon')) === null);
  });

  test('timers are read, listed and deleted', async () => {
    const at = Date.now() + 3_600_000;
    await call('timerSet', 'x/1', at, 'the payload itself');
    await call('timerSet', 'x/2', at, { payload: 1, intervalMs: 60_000 });
    await call('timerSet', 'x/3', at, { cron: '0 9 * * *', timezone: 'Europe/Vienna' });
    assert.deepEqual(await call('timerGet', 'x/1'), {
      id: 'x/1',
      scheduledTime: at,
      payload: 'the payload itself',
      intervalMs: null,
    });
    const page = await call<{ timers: { id: string; timezone?: string }[]; cursor: string }>('timerList', {
      prefix: 'x/',
      limit: 2,
    });
    assert.deepEqual(
      page.timers.map(({ id }) => id),
      ['x/1', 'x/2'],
    );
    const rest = await call<{ timers: { id: string; timezone?: string }[]; cursor: null }>('timerList', {
      prefix: 'x/',
      cursor: page.cursor,
    });
    assert.deepEqual([rest.timers[0]!.id, rest.timers[0]!.timezone, rest.cursor], ['x/3', 'Europe/Vienna', null]);
    for (const id of ['x/1', 'x/2', 'x/3', 'x/3']) await call('timerDelete', id);
    assert.deepEqual(await call('timerList', { prefix: 'x/' }), { timers: [], cursor: null });
  });

  test('a schedule calls the scheduled handler', async () => {
    const place = { namespace: 'shop', resource: 'shop' };
    await stores.cron.declare(
      place,
      { project: 'shop', branch: 'main' },
      [{ name: 'HOURLY', schedule: '0 * * * *', timezone: 'UTC' }],
      Date.now(),
    );
    await stores.cron.trigger(place, 'HOURLY', Date.now());
    await logged(/^scheduled 0 \* \* \* \*/);
  });

  test('a workflow runs its steps once each, and gives its output', async () => {
    const { executionId } = await call<{ executionId: string }>('trigger', { n: 21 });
    const { status, output } = await ended(executionId);
    assert.deepEqual([status, output], ['completed', { first: 42, parts: ['a', 'b'], event: null }]);
    const history = await stores.workflow.history(orders, executionId);
    assert.deepEqual(history!.steps.map(({ name, status: of }) => `${name} ${of}`).toSorted(), [
      'a done',
      'b done',
      'double done',
    ]);
    assert.deepEqual(
      history!.log.map(({ message, content }) => [message, content]),
      [['almost there', '{"first":42}']],
    );
  });

  test('a workflow sleeps, wakes, and does not repeat what it had done', async () => {
    await call('trigger', { n: 1, nap: 80 }, { id: 'sleeper' });
    assert.equal((await ended('sleeper')).status, 'completed');
    assert.equal(count(/^ran double of sleeper$/), 1);
  });

  test('a run that sleeps is pending, and waiting as other platforms call it', async () => {
    await call('trigger', { n: 1, nap: 3_600_000 }, { id: 'asleep' });
    const statusOf = async (): Promise<string> => (await call<{ status: string }>('execution', 'asleep')).status;
    await until(async () => count(/^ran double of asleep$/) === 1 && (await statusOf()) === 'pending');
    assert.deepEqual(await call('status', 'asleep'), { status: 'waiting', output: null });
    await call('cancel', 'asleep');
    assert.deepEqual(await call('status', 'asleep'), { status: 'terminated', output: null });
  });

  test('what a step returned is the same before and after a sleep, of each type that structuredClone can copy', async () => {
    await call('trigger', { types: true }, { id: 'typed' });
    await ended('typed');
    const { output } = await call<{ output: Record<string, unknown> }>('execution', 'typed');
    const kinds = ['Date', 'Map', 'ArrayBuffer', 'Undefined', 'BigInt'];
    assert.deepEqual(output, { before: kinds, after: kinds, due: '1970-01-01T00:00:00.000Z' });
  });

  test('a step whose result cannot be stored fails the run at once, by its name', async () => {
    await call('trigger', { types: true, refused: true }, { id: 'refused' });
    const { status, errorMessage } = await ended('refused');
    assert.equal(status, 'failed');
    assert.match(errorMessage!, /^The result of step "refused" cannot be stored: The function .* cannot be cloned$/);
  });

  test('a workflow waits for an event, or until its time is over', async () => {
    await call('trigger', { n: 1, wait: 3_600_000 }, { id: 'patient' });
    await call('sendEvent', 'patient', { type: 'other' });
    await call('sendEvent', 'patient', { type: 'approved', payload: { by: 'ada' } });
    assert.deepEqual((await ended('patient')).output, { first: 2, parts: ['a', 'b'], event: { by: 'ada' } });
    await call('trigger', { n: 1, wait: 30 }, { id: 'hasty' });
    const { status, errorMessage } = await ended('hasty');
    assert.deepEqual([status, errorMessage], ['failed', 'The event did not arrive in time']);
  });

  test('a step that fails is tried again, and fails the run with its reason', async () => {
    await call('trigger', { n: 1, fail: true }, { id: 'unlucky' });
    const { status, errorMessage } = await ended('unlucky');
    assert.deepEqual([status, errorMessage], ['failed', 'no luck']);
    const history = await stores.workflow.history(orders, 'unlucky');
    assert.deepEqual(
      history!.steps.map(({ name, status: of, attempts }) => [name, of, attempts]),
      [
        ['double', 'done', 0],
        ['fail', 'failed', 2],
      ],
    );
  });

  test('a step that uses up the CPU of its invocation fails the run, with what it was', ofInvocations, async () => {
    await raw('trigger', { n: 1, spin: true }, { id: 'spinner' });
    const { status, errorMessage } = await ended('spinner');
    assert.deepEqual([status, errorMessage], ['failed', 'CPU limit exceeded']);
    assert.equal(count(/^ran double of spinner$/), 1);
  });

  test('a run is paused, resumed, cancelled and restarted from a step', async () => {
    await call('trigger', { n: 1, wait: 3_600_000 }, { id: 'steered' });
    await logged(/^ran double of steered$/);
    await until(async () => (await stores.workflow.history(orders, 'steered'))!.steps.length === 2);
    await call('pause', 'steered');
    assert.equal((await call<{ status: string }>('execution', 'steered')).status, 'paused');
    await call('resume', 'steered');
    await call('cancel', 'steered');
    assert.equal((await call<{ status: string }>('execution', 'steered')).status, 'cancelled');
    await call('restart', 'steered', { fromStep: 'approval' });
    await call('sendEvent', 'steered', { type: 'approved', payload: 1 });
    assert.equal((await ended('steered')).status, 'completed');
    assert.equal(count(/^ran double of steered$/), 1);
    await call('restart', 'steered');
    await until(() => count(/^ran double of steered$/) === 2);
    await call('cancel', 'steered');
    const { executions } = await call<{ executions: { id: string }[] }>('list', { status: 'cancelled', limit: 1 });
    assert.equal(executions[0]!.id, 'steered');
  });
}

function cpuOf(ms: number): import('#core/limits.ts').CpuLimits {
  const row = { free: ms, pro: ms, enterprise: ms };
  return { http: { free: 1000, pro: 1000, enterprise: 1000 }, queue: row, timer: row, cron: row, workflow: row };
}
