import assert from 'node:assert/strict';
import { test } from 'node:test';
import createWorkflowEvents from '#runtime/engine/guest/events/workflow.ts';
import '#runtime/engine/guest/lazy/messages.ts';
import '#runtime/engine/guest/lazy/stored-values.ts';
import { useModule } from '#runtime/engine/guest/modules.ts';

/** One run of a run of three steps over a host that answers as told; resolves with its result and what was told. */
async function attempt(
  answer: (name: string, args: { name?: string }) => unknown,
): Promise<{ told: string[]; result: Promise<unknown> }> {
  const told: string[] = [];
  const { handle } = createWorkflowEvents({
    async callHost(name: string, args: { name?: string }) {
      told.push(`${name} ${args.name}`);
      return { value: answer(name, args), parts: [] };
    },
    noHandler: () => new Error('no handler'),
    setTimeout,
    clearTimeout,
    setImmediate,
    useModule,
  } as never);
  const worker = {
    workflows: {
      orders: async ({ step }: { step: { run(name: string, fn: () => unknown): Promise<unknown> } }) => {
        for (const name of ['a', 'b', 'c']) await step.run(name, () => name);
        return 'done';
      },
    },
  };
  const event = { workflow: 'orders', executionId: 'r1', lease: '1.x', input: null, steps: {} };
  return { told, result: handle(worker as never, {} as never, {} as never, event as never, []) as Promise<unknown> };
}

test('a run tells the host of each step before it goes on', async () => {
  const { told, result } = await attempt(() => ({}));
  assert.deepEqual(await result, { status: 'completed', output: 'done' });
  assert.deepEqual(told, ['workflow.stepDone a', 'workflow.stepDone b', 'workflow.stepDone c']);
});

test('where the host cannot store an update, the attempt is lost and the run has not failed', async () => {
  const { told, result } = await attempt((_name, { name }) => {
    if (name === 'b') throw Object.assign(new Error('The store is away'), { code: 'store_unavailable' });
    return {};
  });
  await assert.rejects(result, { code: 'store_unavailable' });
  assert.deepEqual(told, ['workflow.stepDone a', 'workflow.stepDone b']);
});

test('a word that the host refuses is an error of the step', async () => {
  const { result } = await attempt((name) => {
    if (name === 'workflow.stepDone')
      throw Object.assign(new Error('The result is too large'), { code: 'invalid_argument' });
    return {};
  });
  assert.deepEqual(await result, { status: 'failed', error: { name: 'Error', message: 'The result is too large' } });
});
