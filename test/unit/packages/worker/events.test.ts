// Queues, workflows, timers and schedules of packages/worker: which handler an event reaches, and what it is handed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { platform } from '#packages/worker/index.ts';

function message(payload: unknown, more: object = {}): never {
  const calls: unknown[] = [];
  return {
    id: 'm1',
    queueName: 'mail',
    payload,
    attempt: 2,
    timestamp: 5,
    calls,
    ack: () => calls.push('ack'),
    retry: (options: unknown) => calls.push(options),
    ...more,
  } as never;
}

test('a message reaches the handler of its binding, checked, with the state of the app', async () => {
  const seen: unknown[] = [];
  const worker = platform<{ vars: Record<string, string> }>()
    .state((ctx) => ({ greeting: `hello ${ctx.vars['NAME']}` }))
    .queue('MAIL' as never, { payload: z.object({ to: z.string() }) }, (ctx) => {
      ctx.ack();
      ctx.retry({ delaySeconds: 3 });
      seen.push(
        ctx.payload,
        ctx.id,
        ctx.queueName,
        ctx.attempt,
        ctx.state,
        (ctx.message as unknown as { calls: unknown }).calls,
      );
    })
    .queue('OTHER' as never, {}, () => void seen.push('other'))
    .build();
  const env = { vars: { NAME: 'Ada' } };
  await worker.message(message({ to: 'a', more: 1 }, { binding: 'MAIL' }), env);
  assert.deepEqual(seen, [{ to: 'a' }, 'm1', 'mail', 2, { greeting: 'hello Ada' }, ['ack', { delaySeconds: 3 }]]);
  await worker.message(message(1, { binding: 'OTHER' }), env);
  assert.equal(seen.at(-1), 'other');
  await assert.rejects(
    worker.message(message(1, { binding: 'NONE' }), env),
    /No handler for the queue NONE; there are: MAIL, OTHER/,
  );
  await assert.rejects(worker.message(message(1), env), /No handler for the queue mail/);
});

test('without the name of the binding, the name of the resource or the only handler decides', async () => {
  const seen: unknown[] = [];
  const one = platform()
    .queue('MAIL', {}, (ctx) => void seen.push(ctx.payload))
    .build();
  await one.message(message('only'), {});
  const two = platform()
    .queue('mail', {}, (ctx) => void seen.push(ctx.payload))
    .queue('other', {}, () => {})
    .build();
  await two.message(message('by resource'), {});
  assert.deepEqual(seen, ['only', 'by resource']);
});

test('a payload that does not fit fails before the handler, and says so without the value', async () => {
  const worker = platform()
    .queue('MAIL', { payload: z.object({ to: z.string() }) }, () => assert.fail('was called'))
    .build();
  await assert.rejects(worker.message(message({ to: 12345 }), {}), (error: Error) => {
    assert.equal(error.name, 'NonRetryableError');
    assert.match(error.message, /^A message of the queue mail does not fit its schema: to: Invalid input/);
    assert.doesNotMatch(error.message, /12345/);
    return true;
  });
});

test('a handler that throws leaves the retry to the platform', async () => {
  const worker = platform()
    .queue('MAIL', {}, async () => {
      throw new Error('mail server is down');
    })
    .build();
  await assert.rejects(worker.message(message(1), {}), /mail server is down/);
});

test('a workflow has its input checked and its output trimmed; onError is told when it failed', async () => {
  const told: unknown[] = [];
  const worker = platform()
    .state({ base: 10 })
    .workflow(
      'onboard',
      {
        input: z.object({ n: z.coerce.number() }),
        output: z.object({ sum: z.number() }),
        onError: (error, ctx) => void told.push(error.message, ctx.executionId),
      },
      async ({ input, step, state, log }) => {
        const sum = await step.run('add', () => input.n + state.base);
        log('added', { sum });
        return { sum, secret: 1 };
      },
    )
    .workflow('plain', {}, () => 'done')
    .build();
  const lines: unknown[] = [];
  const step = { run: (_name: string, fn: () => unknown) => fn() } as never;
  const context = (input: unknown) => ({
    input,
    step,
    log: (...words: unknown[]) => void lines.push(words),
    env: {},
    executionId: 'e1',
  });
  assert.deepEqual(await worker.workflows['onboard']!.handler(context({ n: '5' })), { sum: 15 });
  assert.deepEqual(lines, [['added', { sum: 15 }]]);
  await assert.rejects(
    worker.workflows['onboard']!.handler(context({})),
    /The input of the workflow onboard does not fit its schema/,
  );
  await worker.workflows['onboard']!.onError!(new Error('gave up'), context({}));
  assert.deepEqual(told, ['gave up', 'e1']);
  assert.equal(await worker.workflows['plain']!.handler(context(null)), 'done');
  assert.equal(worker.workflows['plain']!.onError, undefined);
});

test('timers and schedules reach their handlers, * takes the schedules nobody else does', async () => {
  const seen: unknown[] = [];
  const worker = platform()
    .timer(
      'REMIND',
      { payload: z.object({ n: z.number() }) },
      (ctx) => void seen.push(['remind', ctx.id, ctx.payload, ctx.scheduledTime]),
    )
    .timer('CLEAN', (ctx) => void seen.push(['clean', ctx.payload]))
    .cron('NIGHTLY', (ctx) => {
      ctx.noRetry();
      seen.push(['nightly', ctx.cron]);
    })
    .cron('*/5 * * * *', () => void seen.push(['five']))
    .cron('*', (ctx) => void seen.push(['any', ctx.cron]))
    .build();
  await worker.timer({ id: 't', binding: 'REMIND', scheduledTime: 9, payload: { n: 1 } }, {});
  await worker.timer({ id: 't', binding: 'CLEAN', scheduledTime: 9, payload: null }, {});
  await assert.rejects(worker.timer({ id: 't', scheduledTime: 9, payload: null }, {}), /No handler for the timer t/);
  const noRetry = (): void => void seen.push('no retry');
  await worker.scheduled({ name: 'NIGHTLY', cron: '0 3 * * *', scheduledTime: 1, noRetry }, {});
  await worker.scheduled({ cron: '*/5 * * * *', scheduledTime: 1, noRetry }, {});
  await worker.scheduled({ name: 'X', cron: '1 1 1 1 1', scheduledTime: 1, noRetry }, {});
  assert.deepEqual(seen, [
    ['remind', 't', { n: 1 }, 9],
    ['clean', null],
    'no retry',
    ['nightly', '0 3 * * *'],
    ['five'],
    ['any', '1 1 1 1 1'],
  ]);
});

test('state reaches only the handlers that come after it, and those of a mounted app', async () => {
  const seen: unknown[] = [];
  const jobs = platform().queue('B', {}, (ctx) => void seen.push(ctx.state));
  const worker = platform()
    .queue('A', {}, (ctx) => void seen.push(ctx.state))
    .state({ late: true })
    .route('/jobs', jobs)
    .build();
  await worker.message(message(1, { binding: 'A' }), {});
  await worker.message(message(1, { binding: 'B' }), {});
  assert.deepEqual(seen, [{}, { late: true }]);
});
