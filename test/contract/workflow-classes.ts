// Workflows as classes, as a worker sees them: a real isolate, the stores of a technology, and a broker between them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { TestHandler } from '#test/setup/handler.ts';
import { until } from '#test/setup/until.ts';
import { startWorkflowEngine, type OpenStores, type WorkflowEngine } from '#test/setup/workflow-engine.ts';

const yaml = `
workflow:
  ORDER: { name: orders, class: Orders }
  PLAIN: plain
`;

const worker = `
import { WorkflowEntrypoint } from 'cloudflare:workers';
import { NonRetryableError } from 'cloudflare:workflows';

const fast = (more = {}) => ({ retries: { limit: 2, delay: 1, backoff: 'constant', ...more } });
const stories = {
  async event(step, { payload, timestamp, instanceId, workflowName }, self) {
    return { payload, isDate: timestamp instanceof Date, instanceId, workflowName, env: typeof self.env.ORDER.create, ctx: typeof self.ctx.waitUntil };
  },
  async context(step) {
    const seen = [];
    for (const n of [1, 2]) await step.do('same', async (ctx) => { seen.push(ctx); });
    await step.do('own', { retries: { limit: 1, delay: '2 minutes', backoff: 'linear' }, timeout: '1 hour' }, async (ctx) => { seen.push(ctx); });
    return seen;
  },
  async retries(step) {
    const attempts = [];
    const result = await step.do('flaky', fast(), async ({ attempt }) => {
      console.log('attempt', attempt);
      if (attempt < 3) throw new Error('not yet');
      return 'third';
    });
    return result;
  },
  async exhausted(step) {
    try {
      await step.do('hopeless', fast({ limit: 1 }), async () => { throw new RangeError('no luck'); });
    } catch (error) {
      return [error.name, error.message];
    }
  },
  async never(step) {
    await step.do('never', fast(), async () => { console.log('ran never'); throw new NonRetryableError('for good'); });
  },
  async named(step) {
    await step.do('named', fast(), async () => { console.log('ran named'); throw new NonRetryableError('for good', 'Refused'); });
  },
  async delays(step) {
    const told = [];
    await step.do('own delay', { retries: { limit: 2, delay: ({ ctx, error }) => { console.log('delay', ctx.attempt, ctx.step.name, error.message); return '0 seconds'; } } }, async ({ attempt }) => {
      if (attempt < 3) throw new Error('failure ' + attempt);
    });
    await step.do('odd delay', { retries: { limit: 2, delay: () => 'soon' } }, async () => { throw new Error('again'); });
  },
  async late(step) {
    await step.do('late', { retries: { limit: 0, delay: 0 }, timeout: 20 }, () => new Promise(() => {}));
  },
  async sleeps(step) {
    await step.sleep('nap', '0.02 seconds');
    await step.sleep('nap', 10);
    await step.sleepUntil('past', new Date(0));
    await step.sleepUntil('soon', Date.now() + 10);
    return 'awake';
  },
  async waits(step) {
    const event = await step.waitForEvent('approval', { type: 'approved', timeout: '1 hour' });
    return [event.type, event.payload.by, event.payload.at instanceof Date, event.timestamp instanceof Date];
  },
  async impatient(step) {
    await step.waitForEvent('approval', { type: 'approved', timeout: 20 });
  },
  async race(step) {
    const first = await Promise.race([step.sleep('long', '1 hour').then(() => 'slept'), step.do('quick', async () => 'quick')]);
    return first;
  },
  async beside(step) {
    await Promise.all([
      step.sleep('a nap', 30),
      step.do('slow', async () => { await new Promise((resolve) => setTimeout(resolve, 60)); }),
    ]);
    return 'both';
  },
  async undone(step) {
    const undo = (name) => ({ rollback: async ({ ctx, error, output, stepName }) => console.log('undo', name, ctx.step.name, error.message, output, stepName) });
    await step.do('first', async () => 1, undo('first'));
    await step.do('second', fast(), async () => 2, undo('second'));
    await step.do('third', fast({ limit: 0 }), async () => { throw new Error('broken'); });
  },
  long: (step) => step.do('n'.repeat(10_000), async () => console.log('ran long')),
  large: (step) => step.do('large', fast(), async () => { console.log('ran large'); return 'x'.repeat(2 * 1024 * 1024); }),
  function: (step) => step.do('function', fast(), async () => { console.log('ran function'); return () => {}; }),
  async numbered(step) {
    const names = [];
    for (const name of ['x#2', 'x', 'x']) names.push(await step.do(name, async () => name + names.length));
    return names;
  },
  async conditional(step) {
    if ((await step.do('count', async () => (globalThis.counted = (globalThis.counted ?? 0) + 1))) === 1) await step.do('once', async () => 1);
    await step.sleep('nap', 10);
    return 'done';
  },
};
export class Orders extends WorkflowEntrypoint {
  run(event, step) {
    return stories[event.payload.story ?? 'event'](step, event, this);
  }
}
const shown = (instance) => instance.id;
const calls = {
  create: async (env, [options]) => shown(await env.ORDER.create(options)),
  createBatch: async (env, [batch]) => {
    const made = await env.ORDER.createBatch(batch);
    return Array.isArray(made) ? made.map(shown) : { created: made.created.map(shown), errors: made.errors };
  },
  createPlain: async (env, [options]) => shown(await env.PLAIN.create(options)),
  trigger: (env, args) => env.ORDER.trigger(...args),
  status: async (env, [id]) => (await env.ORDER.get(id)).status(),
  plainStatus: async (env, [id]) => (await env.PLAIN.get(id)).status(),
  execution: (env, args) => env.ORDER.getExecution(...args),
  deleteBatch: (env, [ids]) => env.ORDER.deleteBatch(ids),
  sendDate: async (env, [id]) => (await env.ORDER.get(id)).sendEvent({ type: 'approved', payload: { by: 'ada', at: new Date(0) } }),
  on: async (env, [id, method, ...args]) => (await env.ORDER.get(id))[method](...args),
};
export default {
  async fetch(request, env) {
    const args = await request.json();
    try {
      return Response.json({ value: (await calls[new URL(request.url).pathname.slice(1)](env, args)) ?? null });
    } catch (error) {
      return Response.json({ error: error.message, code: error.code });
    }
  },
  workflows: { plain: ({ input }) => ({ input }) },
};
`;

interface Status {
  readonly status: string;
  readonly output?: unknown;
  readonly error?: { readonly name: string; readonly message: string };
}

/** Registers the suite's tests. */
export function workflowClassesContract(open: OpenStores): void {
  let engine: WorkflowEngine;
  let handler: TestHandler;

  before(async () => {
    engine = await startWorkflowEngine({ files: worker, yaml }, open);
    ({ handler } = engine);
  });
  after(() => engine.close());

  async function raw(name: string, ...args: unknown[]): Promise<{ value?: unknown; error?: string; code?: string }> {
    const answer = await handler.fetch('shop', `/${name}`, { method: 'POST', body: JSON.stringify(args) });
    return answer.json() as { value?: unknown; error?: string; code?: string };
  }
  async function call<Value>(name: string, ...args: unknown[]): Promise<Value> {
    const { value, error } = await raw(name, ...args);
    assert.equal(error, undefined);
    return value as Value;
  }
  const statusOf = (id: string): Promise<Status> => call<Status>('status', id);
  const ended = (id: string): Promise<Status> =>
    until(async () => {
      const found = await statusOf(id);
      return ['complete', 'errored', 'terminated'].includes(found.status) && found;
    });
  const outcome = async (story: string): Promise<Status> =>
    ended(await call('create', { id: story, params: { story } }));
  const count = (text: string): number => handler.logs.filter((line) => line.text === text).length;

  test('run gets the event of Cloudflare, and the class has ctx and env', async () => {
    assert.deepEqual(await outcome('event'), {
      status: 'complete',
      output: {
        payload: { story: 'event' },
        isDate: true,
        instanceId: 'event',
        workflowName: 'orders',
        env: 'function',
        ctx: 'function',
      },
    });
    assert.deepEqual(Object.keys(await call<object>('execution', 'event')), [
      'id',
      'status',
      'input',
      'output',
      'errorMessage',
      'startedAt',
      'completedAt',
    ]);
  });

  test('a step gets its name, its count, its attempt and its configuration', async () => {
    const defaults = { retries: { limit: 5, delay: 10_000, backoff: 'exponential' }, timeout: '10 minutes' };
    const own = { retries: { limit: 1, delay: '2 minutes', backoff: 'linear' }, timeout: '1 hour' };
    assert.deepEqual((await outcome('context')).output, [
      { step: { name: 'same', count: 1 }, attempt: 1, config: defaults },
      { step: { name: 'same', count: 2 }, attempt: 1, config: defaults },
      { step: { name: 'own', count: 1 }, attempt: 1, config: own },
    ]);
  });

  test('a step is retried, and its last error is thrown into run with its name', async () => {
    assert.deepEqual(await outcome('retries'), { status: 'complete', output: 'third' });
    assert.deepEqual(
      [1, 2, 3, 4].map((attempt) => count(`attempt ${attempt}`)),
      [1, 1, 1, 0],
    );
    assert.deepEqual((await outcome('exhausted')).output, ['RangeError', 'no luck']);
  });

  test('a NonRetryableError ends the run at once, also under another name', async () => {
    assert.deepEqual(await outcome('never'), {
      status: 'errored',
      output: null,
      error: { name: 'NonRetryableError', message: 'for good' },
    });
    assert.deepEqual((await outcome('named')).error, { name: 'Refused', message: 'for good' });
    assert.deepEqual([count('ran never'), count('ran named')], [1, 1]);
  });

  test('a function computes the delay; what is no time fails the step', async () => {
    const { error } = await outcome('delays');
    assert.deepEqual([count('delay 1 own delay failure 1'), count('delay 2 own delay failure 2')], [1, 1]);
    assert.deepEqual(error, {
      name: 'NonRetryableDelayError',
      message:
        'The delay function of step "odd delay" returned an invalid delay: A time must be milliseconds or a text such as "5 minutes", not soon',
    });
  });

  test('an attempt and a wait for an event time out with the error of Cloudflare', async () => {
    const error = { name: 'WorkflowTimeoutError', message: 'Execution timed out after 20ms' };
    assert.deepEqual((await outcome('late')).error, error);
    assert.deepEqual((await outcome('impatient')).error, error);
  });

  test('a run sleeps for a time, until a time, and not until a time in the past', async () => {
    assert.deepEqual(await outcome('sleeps'), { status: 'complete', output: 'awake' });
  });

  test('an event brings its payload with the types of structuredClone, and its time', async () => {
    await call('create', { id: 'waits', params: { story: 'waits' } });
    await until(async () => (await statusOf('waits')).status === 'waiting');
    await call('sendDate', 'waits');
    assert.deepEqual((await ended('waits')).output, ['approved', 'ada', true, true]);
    assert.deepEqual(await raw('sendDate', 'waits'), {
      error: 'Run waits is completed, so it cannot take an event',
      code: 'execution_state',
    });
  });

  test('a sleep beside a step holds up neither a race nor the run', async () => {
    assert.deepEqual((await outcome('race')).output, 'quick');
    assert.deepEqual((await outcome('beside')).output, 'both');
  });

  test('rollbacks of a failed run are called from the last to the first', async () => {
    assert.deepEqual((await outcome('undone')).error, { name: 'Error', message: 'broken' });
    assert.deepEqual(
      handler.logs.map(({ text }) => text).filter((text) => text.startsWith('undo')),
      ['undo second second broken 2 second-1', 'undo first first broken 1 first-1'],
    );
  });

  test('a name or result that is too large fails the run with the reason, and is not retried', async () => {
    assert.equal((await outcome('long')).error!.message, 'The name of a step has 10000 bytes, and may have 256');
    assert.equal(
      (await outcome('large')).error!.message,
      'The result of a step has 2097154 bytes as JSON, and may have 1048576',
    );
    assert.match((await outcome('function')).error!.message, /^The result of step "function" cannot be stored: /);
    assert.deepEqual([count('ran long'), count('ran large'), count('ran function')], [0, 1, 1]);
  });

  test('a step that is named like the number of another is a step of its own', async () => {
    assert.deepEqual((await outcome('numbered')).output, ['x#20', 'x1', 'x2']);
  });

  test('a run may end without a step that an earlier attempt had', async () => {
    assert.equal((await outcome('conditional')).output, 'done');
  });

  test('create refuses an id that exists, a batch omits it or names it; functions return the run', async () => {
    await ended(await call('create', { id: 'first' }));
    assert.deepEqual(await raw('create', { id: 'first' }), {
      error: 'instance.already_exists: Workflow orders already has a run first',
      code: 'execution_exists',
    });
    assert.deepEqual(await call('trigger', {}, { id: 'first' }), { executionId: 'first' });
    assert.deepEqual(await call('createBatch', [{ id: 'first' }, { id: 'batch-1' }]), ['batch-1']);
    assert.deepEqual(await call('createBatch', { instances: [{ id: 'first' }, { id: 'batch-2' }] }), {
      created: ['batch-2'],
      errors: [
        {
          index: 0,
          id: 'first',
          code: 409,
          message: 'instance.already_exists: Workflow orders already has a run first',
        },
      ],
    });
    const { created } = await call<{ created: string[] }>('createBatch', { count: 3, params: { story: 'event' } });
    assert.equal(new Set(created).size, 3);
    assert.equal((await raw('createBatch', { count: 101 })).error, 'createBatch takes 1 to 100 runs, not 101');
    for (const _ of [1, 2]) assert.equal(await call('createPlain', { id: 'again' }), 'again');
    await until(async () => (await call<Status>('plainStatus', 'again')).status === 'complete');
    assert.deepEqual(await call('plainStatus', 'again'), { status: 'complete', output: { input: null } });
  });

  test('a run is paused, resumed, terminated, restarted from a step and deleted', async () => {
    await call('create', { id: 'steered', params: { story: 'waits' } });
    await until(async () => (await statusOf('steered')).status === 'waiting');
    await call('on', 'steered', 'pause');
    assert.equal((await statusOf('steered')).status, 'paused');
    await call('on', 'steered', 'resume');
    await call('on', 'steered', 'terminate');
    assert.equal((await statusOf('steered')).status, 'terminated');
    assert.equal(
      (await raw('on', 'steered', 'terminate')).error,
      'Run steered is cancelled, so it cannot be terminated',
    );
    const from = { name: 'approval', count: 1, type: 'waitForEvent' };
    assert.match(
      (await raw('on', 'steered', 'restart', { from: { ...from, count: 2 } })).error!,
      /has no step approval/,
    );
    assert.match(
      (await raw('on', 'steered', 'restart', { from: { ...from, type: 'do' } })).error!,
      /has no step approval/,
    );
    await call('on', 'steered', 'restart', { from });
    await call('sendDate', 'steered');
    assert.equal((await ended('steered')).status, 'complete');
    assert.match((await raw('on', 'steered', 'subscribe')).error!, /^subscribe is not supported here/);
    await call('on', 'steered', 'delete');
    assert.match((await raw('status', 'steered')).error!, /^instance\.not_found/);
    assert.deepEqual(await call('deleteBatch', ['first', 'none']), {
      deleted: [{ id: 'first' }],
      errors: [{ id: 'none', code: 404, message: 'Workflow orders has no run none' }],
    });
  });
}
