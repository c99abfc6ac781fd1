// What deployments use, from an engine through the supervisor to the ledger of the control plane: nothing twice.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { UsageBatch } from '#core/usage-row.ts';
import { takeUsage } from '#control/usage/collect.ts';
import { newId } from '#control/records/ids.ts';
import type { PrivatePort } from '#control/process/private-port.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { startPlatformHere, type PlatformHere } from '#test/setup/platform-here.ts';
import { until } from '#test/setup/until.ts';

const worker = `
export default {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === '/burn') { const until = Date.now() + 20; while (Date.now() < until); }
    if (pathname === '/throw') throw new Error('no');
    return new Response('hello');
  },
  async timer() {},
};`;

let platform: PlatformHere;
let control: TestControl;
before(async () => {
  platform = await startPlatformHere({ shop: worker }, {}, { databases: false });
  await platform.answers('shop', 'hello');
  const privatePort: PrivatePort = {
    async ask(path, body) {
      const { status, json } = await platform.ask(path, body);
      return { status, body: json() as never };
    },
  } as PrivatePort;
  control = await startControl({ privatePort });
});
after(async () => {
  await control.close();
  await platform.close();
});

const ask = async (acknowledged: string | null): Promise<UsageBatch> =>
  (await platform.ask('/_platform/usage', { acknowledged })).json() as UsageBatch;

test('requests are counted by route and failure, and told until somebody has kept them', async () => {
  for (const path of ['/api/users/7', '/api/users/8?x=1', '/throw', '/burn']) await platform.fetch('shop', path);
  let last: string | null = null;
  const rows: UsageBatch['rows'][number][] = [];
  /** Whether all four have come: two engines, or two moments, report apart. */
  const take = async (): Promise<boolean> => {
    const batch = await ask(last);
    if (batch.id !== null) {
      last = batch.id;
      rows.push(...batch.rows);
    }
    return rows.reduce((total, { invocations }) => total + invocations, 0) >= 4;
  };
  const sum = (route: string, of: 'invocations' | 'failures' | 'cpuMs'): number =>
    rows.filter((row) => row.route === route).reduce((total, row) => total + row[of], 0);
  await until(take);
  assert.deepEqual(
    [
      sum('/api/users/*', 'invocations'),
      sum('/throw', 'invocations'),
      sum('/throw', 'failures'),
      sum('/burn', 'failures'),
    ],
    [2, 1, 1, 0],
  );
  assert.ok(sum('/burn', 'cpuMs') > 1);
  const [worst] = rows.filter(({ route }) => route === '/throw').flatMap(({ costliest }) => costliest);
  assert.match(worst!.id, /^[0-9a-f]{12}-\d+$/);
  assert.equal(worst!.isFailure, true);
  assert.deepEqual([...new Set(rows.map(({ project, kind }) => `${project} ${kind}`))], ['shop http']);
  // The same batch until it is acknowledged.
  await platform.fetch('shop', '/again');
  const first = await until(async () => {
    const batch = await ask(last);
    return batch.id === null ? null : batch;
  });
  assert.deepEqual(await ask(last), first);
  assert.deepEqual(await ask('another'), first);
  await ask(first.id);
});

test('a batch that comes twice is in the ledger once', async () => {
  const { sql, organizationId } = control;
  const id = newId('project');
  await sql`INSERT INTO control.project (id, organization_id, name) VALUES (${id}, ${organizationId}, 'shop')`;
  await platform.answers('shop', 'hello', '/ledger');
  const invocations = async (): Promise<number> => {
    const [row] = await sql<{ count: string | number }[]>`
      SELECT coalesce(sum(invocations), 0) AS count FROM control.usage WHERE project_id = ${id} AND route = '/ledger'`;
    return Number(row!.count);
  };
  const kept = await until(() => takeUsage(control.deps, null));
  await until(async () => {
    await takeUsage(control.deps, kept);
    return (await invocations()) > 0;
  });
  const before = await invocations();
  await takeUsage(control.deps, null);
  await takeUsage(control.deps, null);
  assert.equal(await invocations(), before);
  const answer = await control.call('GET', `/projects/${id}/usage?groupBy=route`);
  const { items, budget } = answer.body;
  const used = items.find(({ route }: { route: string }) => route === '/ledger');
  assert.equal(used.invocations, before);
  assert.equal(used.cpuMsP50 > 0 && used.cpuMsP50 <= used.cpuMsP99 && used.cpuMsP99 <= used.cpuMsMax, true);
  assert.deepEqual([used.costliest.projectId, used.costliest.route], [id, '/ledger']);
  assert.deepEqual(budget, {
    plan: 'free',
    cpuMs: { http: 1000, queue: 5000, timer: 5000, cron: 10_000, workflow: 15_000 },
  });
});
