import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startDashboard, type PlatformDashboard } from '#test/setup/dashboard-browser.ts';

let dashboard: PlatformDashboard;
before(async () => {
  dashboard = await startDashboard();
});
after(() => dashboard?.close());

test('signing in leads to the projects', async () => {
  const page = await dashboard.visit('/');
  assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'Projects');
  assert.deepEqual(dashboard.complaints, []);
});
