// What deployments use, told by engines that are processes: nothing is lost over the death of one but its last second.
import '#test/setup/over-processes.ts';
import '#test/integration/usage.test.ts';
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { UsageBatch } from '#core/usage-row.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { until } from '#test/setup/until.ts';

let platform: TestPlatform;
before(async () => {
  platform = await startPlatform({ shop: `export default { fetch: () => new Response('hello') };` });
  await platform.answers('shop', 'hello');
});
after(() => platform.close());

test('what an engine has told is there after its death', async () => {
  const ask = async (acknowledged: string | null): Promise<UsageBatch> =>
    (await platform.ask('/_platform/usage', { acknowledged })).json() as UsageBatch;
  const first = await until(async () => {
    const batch = await ask(null);
    return batch.id === null ? null : batch;
  });
  process.kill(platform.enginePid, 'SIGKILL');
  await platform.restarted();
  assert.deepEqual(await ask(null), first);
});
