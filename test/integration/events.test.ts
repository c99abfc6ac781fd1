// Events that are no requests, given to workers in the real engine: what each handler receives, and what becomes of it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

let handler: TestHandler;

/** Of so long a function V8 seldom looks whether it is to end. */
const long = `if (globalThis.never) { const x = {}; ${'x.a = x.b + x.c;'.repeat(500)} }`;

before(async () => {
  handler = await startHandler(
    {
      mail: `export default {
        async message(event, env, ctx) {
          if (event.payload.retry) return event.retry({ delaySeconds: 7 });
          if (event.payload.throws) throw new Error('no such mailbox');
          if (event.payload.late) { event.ack(); throw new Error('after the fact'); }
          console.log(JSON.stringify([event.id, event.queueName, event.attempt, event.attempts, event.timestamp, event.payload]));
        },
      };`,
      batch: `export default {
        queue(batch) {
          for (const message of batch.messages) if (message.body.bad) message.retry();
          if (batch.messages.some(({ body }) => body.throws)) throw new Error('the batch fails');
          console.log(batch.queue, batch.messages.map(({ id, attempts, timestamp }) => [id, attempts, timestamp.getTime()].join()).join(' '));
        },
      };`,
      clock: `export default {
        timer({ id, scheduledTime, payload, intervalMs, binding }, env) { console.log(id, scheduledTime, JSON.stringify(payload), intervalMs, binding, env.vars.A); },
        scheduled(event) { if (event.name === 'quiet') { event.noRetry(); throw new Error('quietly'); } if (event.name === 'loud') throw new Error('loudly'); },
      };`,
      spin: `export default { async message({ payload }) { await null; if (payload === 'spin') for (;;); } };`,
      stuck: `export default { message() { ${long} const view = new Uint8Array(1_000_000); for (let i = 0; i < 1e5; i++) { view.fill(i); view.fill(i); view.fill(i); } } };`,
      hang: `export default { message() { return new Promise(() => {}); } };`,
      wait: `export default { message(event, env, ctx) { ctx.waitUntil(new Promise((resolve) => setTimeout(resolve, 20)).then(() => console.log('settled'))); } };`,
      long: `export default { workflows: { orders: { handler: ({ input }) => 'x'.repeat(input) } } };`,
      page: `export default { fetch: () => new Response('ok') };`,
    },
    {
      deliveryBytesMax: 1_000_000,
      cpu: { http: all(100), queue: all(200), timer: all(100), cron: all(100), workflow: all(100) },
    },
  );
});
after(() => handler.close());

function all(ms: number): { free: number; pro: number; enterprise: number } {
  return { free: ms, pro: ms, enterprise: ms };
}

function messages(...payloads: unknown[]): { queueName: string; messages: unknown[] } {
  return {
    queueName: 'letters',
    messages: payloads.map((payload, index) => ({
      id: `m${index}`,
      payload,
      attempt: 2,
      timestamp: 1_700_000_000_000,
    })),
  };
}

test('a message handler gets one message at a time, and each has an end of its own', async () => {
  const end = await handler.deliver(
    'mail',
    'queue',
    messages({ to: 'ada' }, { retry: true }, { throws: true }, { late: true }),
  );
  assert.deepEqual(end, {
    outcome: 'ok',
    result: {
      acked: ['m0', 'm3'],
      retry: [
        { id: 'm1', delaySeconds: 7 },
        { id: 'm2', error: 'no such mailbox' },
      ],
      thrown: 'no such mailbox',
    },
  });
  // The broker reads the result; people and metrics are told that the handler threw.
  const { kind, event, outcome } = handler.requests.at(-1)!;
  assert.deepEqual([kind, event], ['queue', { name: 'letters', id: '', attempt: 2, attemptsMax: 0 }]);
  assert.deepEqual(outcome, { kind: 'failed', code: 'worker_threw', details: { reason: 'no such mailbox' } });
  assert.equal((await handler.logged('mail', /m0/)).text, '["m0","letters",2,2,1700000000000,{"to":"ada"}]');
  assert.match((await handler.logged('mail', /no such mailbox/)).text, /^Uncaught Error: no such mailbox/);
});

test('a queue handler gets the batch; what it throws has the undecided messages delivered again', async () => {
  assert.deepEqual(await handler.deliver('batch', 'queue', messages({}, { bad: true })), {
    outcome: 'ok',
    result: { acked: ['m0'], retry: [{ id: 'm1' }] },
  });
  await handler.logged('batch', /^letters m0,2,1700000000000 m1,2,1700000000000$/);
  assert.deepEqual(await handler.deliver('batch', 'queue', messages({}, { bad: true }, { throws: true })), {
    outcome: 'ok',
    result: {
      acked: [],
      retry: [{ id: 'm0', error: 'the batch fails' }, { id: 'm1' }, { id: 'm2', error: 'the batch fails' }],
      thrown: 'the batch fails',
    },
  });
});

test('a timer and a schedule reach their handlers', async () => {
  const timer = { binding: 'CLOCK', id: 't1', scheduledTime: 5, payload: { a: 1 }, intervalMs: null };
  assert.deepEqual(await handler.deliver('clock', 'timer', timer), { outcome: 'ok', result: null });
  await handler.logged('clock', /^t1 5 \{"a":1\} null CLOCK undefined$/);
  const cron = { name: 'nightly', cron: '0 3 * * *', scheduledTime: 9 };
  assert.deepEqual(await handler.deliver('clock', 'cron', cron), { outcome: 'ok', result: { noRetry: false } });
  assert.deepEqual(await handler.deliver('clock', 'cron', { ...cron, name: 'quiet' }), {
    outcome: 'ok',
    result: { noRetry: true, thrown: 'quietly' },
  });
  assert.deepEqual(await handler.deliver('clock', 'cron', { ...cron, name: 'loud' }), {
    outcome: 'worker_threw',
    result: null,
  });
});

test('an event has the CPU budget of its kind, and a breach fails it alone', async () => {
  const spins = handler.deliver('spin', 'queue', messages('spin'));
  assert.deepEqual(await spins, { outcome: 'cpu_limit_exceeded', result: null });
  await handler.logged('spin', /^CPU limit exceeded: used 2\d\d ms of 200 ms/);
  assert.deepEqual(await handler.deliver('spin', 'queue', messages('be good')), {
    outcome: 'ok',
    result: { acked: ['m0'], retry: [] },
  });
});

test('an event whose code cannot be ended has had its attempt', async () => {
  // Which of both it is depends on when V8 looks; `isolate_replaced` would have it come again for ever.
  const { outcome } = await handler.deliver('stuck', 'queue', messages(1));
  assert.match(outcome, /^(?:isolate_lost|cpu_limit_exceeded)$/);
});

test('a handler that can never answer is ended', async () => {
  assert.deepEqual(await handler.deliver('hang', 'queue', messages(1)), { outcome: 'never_answered', result: null });
});

test('an event ends when what waitUntil was given has settled', async () => {
  assert.deepEqual(await handler.deliver('wait', 'queue', messages(1)), {
    outcome: 'ok',
    result: { acked: ['m0'], retry: [] },
  });
  assert.ok(handler.logs.some(({ project, text }) => project === 'wait' && text === 'settled'));
});

test('what a handler answers is bounded, since the engine hands it on', async () => {
  const run = { workflow: 'orders', executionId: 'e1', run: 'r1', input: 1_000_000, steps: {} };
  assert.deepEqual(await handler.deliver('long', 'workflow', run), { outcome: 'worker_threw', result: null });
  await handler.logged(
    'long',
    /^Event failed: what the handler answers has 10000\d\d characters as JSON, and may have 1000000$/,
  );
  assert.equal((await handler.deliver('long', 'workflow', { ...run, input: 900_000 })).outcome, 'ok');
});

test('a worker without the handler says which one is missing', async () => {
  assert.equal((await handler.deliver('page', 'queue', messages(1))).outcome, 'no_event_handler');
  await handler.logged('page', /^The worker exports no message handler$/);
  assert.equal((await handler.deliver('page', 'timer', {})).outcome, 'no_event_handler');
  assert.equal((await handler.fetch('mail')).status, 500);
  assert.equal(((await handler.fetch('mail')).json() as { code: string }).code, 'no_fetch_handler');
});

test('an event for a deployment that is not there is refused', async () => {
  const { outcome } = await handler.handler.deliver('dnobodynobody', 'queue', { head: '{}', bodies: [] });
  assert.deepEqual(outcome, { kind: 'failed', code: 'deployment_not_found', details: { deployment: 'dnobodynobody' } });
});
