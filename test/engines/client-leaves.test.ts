// Clients that leave a request that the engine of their connection has forwarded to the home of its deployment: what
// runs on there is what runs on without a forward (test/integration/client-leaves.test.ts).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { leavingWorker, testLeavings } from '#test/setup/client-leaves.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';

let platform: TestPlatform;
before(async () => {
  platform = await startPlatform({ app: leavingWorker }, { HANDLER_PROCESSES: '2', HANDLER_FORWARDS_MAX: '1000000' });
});
after(() => platform.close());

testLeavings(() => ({ port: platform.port, host: 'app.localhost' }), 6);

test('some of them were forwarded', async () => {
  const { text } = await platform.ask('/metrics');
  const forwarded = [...text.matchAll(/^platform_requests_forwarded_total(?:\{.*\})? (\d+)$/gm)].map(([, n]) =>
    Number(n),
  );
  assert.ok(forwarded.reduce((sum, n) => sum + n, 0) > 0, String(forwarded));
});
