// The cases of the broker's contract about runs of workflows. Run by broker.ts.
import assert from 'node:assert/strict';
import type { EventStores } from '#runtime/stores/event-stores.ts';
import { until } from '#test/setup/until.ts';
import { done, end, owner, type Fact } from './broker-case.ts';

export function workflowCases(fact: Fact): void {
  const orders = { namespace: 'shop', resource: 'orders' };
  const run = (stores: EventStores, id: string, now: number): Promise<boolean> =>
    stores.workflow.trigger(orders, owner, { id, input: '{"n":1}' }, now);
  const statusOf = async (stores: EventStores, id: string): Promise<string | undefined> =>
    (await stores.workflow.get(orders, id))?.status;

  fact(
    'a run goes to the deployment that started it, sleeps without being claimed, and ends',
    async ({ stores, start, now, pass }) => {
      const seen: unknown[] = [];
      await start(async (event, kind, _signal, deployment) => {
        const lease = event['lease'] as string;
        seen.push([kind, deployment, event['executionId'], event['input'], event['steps']]);
        const steps = event['steps'] as Record<string, { status: string; result?: unknown }>;
        if (steps['load'] === undefined) {
          await stores.workflow.step('shop', lease, 'load', { kind: 'done', result: '{"user":7}' }, now());
          await stores.workflow.step('shop', lease, 'nap', { kind: 'sleep', wakeAt: now() + 86_400_000 }, now());
          return done({ status: 'suspended' });
        }
        return done({ status: 'completed', output: steps['load'].result });
      });
      await run(stores, 'r', now());
      await until(async () => (await stores.workflow.history(orders, 'r'))!.steps.length === 2);
      await until(async () => (await stores.workflow.claims.members()).length === 0);
      assert.equal(await statusOf(stores, 'r'), 'pending');
      pass(86_400_000);
      await until(async () => (await statusOf(stores, 'r')) === 'completed');
      assert.equal((await stores.workflow.get(orders, 'r'))!.output, '{"user":7}');
      const steps = {
        load: { kind: 'run', status: 'done', result: { user: 7 } },
        nap: { kind: 'sleep', status: 'done' },
      };
      assert.deepEqual(seen, [
        ['workflow', 'd000000000001', 'r', { n: 1 }, {}],
        ['workflow', 'd000000000001', 'r', { n: 1 }, steps],
      ]);
    },
  );

  fact(
    'a broker holds no more history of runs at a time than it may, and comes to all of them',
    async ({ stores, start, now }) => {
      let running = 0;
      let most = 0;
      await start(async () => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running--;
        return done({ status: 'completed', output: 1 });
      });
      const input = JSON.stringify('x'.repeat(900));
      const ids = Array.from({ length: 12 }, (_, index) => `run${index}`);
      for (const id of ids) await stores.workflow.trigger(orders, owner, { id, input }, now());
      await until(async () =>
        (await Promise.all(ids.map((id) => statusOf(stores, id)))).every((status) => status === 'completed'),
      );
      assert.ok(most <= 2, `${most} at a time`);
    },
    { workflowHistoryBytesMax: 1000, workflowValueBytesMax: 1000, inFlightBytesMax: 3000 },
  );

  fact(
    'a run that ends its invocation is tried again, and failed with the reason when it gets nowhere',
    async ({ stores, start, now }) => {
      let attempts = 0;
      await start(() => {
        attempts++;
        return end('cpu_limit_exceeded');
      });
      await run(stores, 'r', now());
      await until(async () => (await statusOf(stores, 'r')) === 'failed');
      assert.equal(attempts, 4);
      assert.deepEqual(JSON.parse((await stores.workflow.get(orders, 'r'))!.error!), {
        name: 'cpu_limit_exceeded',
        message: 'CPU limit exceeded',
      });
    },
  );

  fact('an engine that dies in a step repeats that step only', async ({ stores, start, now }) => {
    const ran: string[] = [];
    let died = false;
    await start(async (event) => {
      const lease = event['lease'] as string;
      const steps = event['steps'] as Record<string, unknown>;
      for (const name of ['a', 'b', 'c']) {
        if (steps[name] !== undefined) continue;
        ran.push(name);
        if (name === 'b' && !died) {
          died = true;
          throw new Error('socket hang up');
        }
        assert.equal(await stores.workflow.step('shop', lease, name, { kind: 'done', result: '1' }, now()), true);
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
        await stores.workflow.waitForEvent(
          'shop',
          event['lease'] as string,
          { name: 'paid', type: 'paid', timeoutAt: null },
          now(),
        );
      return done({ status: 'suspended' });
    });
    await run(stores, 'r', now());
    await until(async () => (await stores.workflow.history(orders, 'r'))!.steps.length === 1);
    await stores.workflow.sendEvent(orders, 'r', { type: 'paid', payload: '42' }, now());
    await until(async () => (await statusOf(stores, 'r')) === 'completed');
    assert.equal((await stores.workflow.get(orders, 'r'))!.output, '42');
  });
}
