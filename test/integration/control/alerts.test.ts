// Alerts: what each kind of rule measures, when it fires and resolves, told once by however many API processes.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import type { EdgeState, HostCertificate } from '#core/edge-state.ts';
import { bucketOf, latencyScale } from '#core/histogram.ts';
import type { TimedUsageRow } from '#core/usage-row.ts';
import { evaluateAlerts, evaluateNext } from '#control/alerts/evaluate.ts';
import type { Dependencies } from '#control/process/dependencies.ts';
import { newId } from '#control/records/ids.ts';
import { addUsage } from '#control/usage/store.ts';
import { startAlerts, type TestAlerts } from '#test/setup/alerts.ts';
import { until } from '#test/setup/until.ts';
import { usageRow } from '#test/setup/usage-row.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- what the API answered
type Json = any;

let alerts: TestAlerts;
let edge: EdgeState | null = null;
before(async () => {
  alerts = await startAlerts({ edgeState: () => edge });
});
after(() => alerts.close());
beforeEach(async () => {
  edge = null;
  await alerts.begin();
});
afterEach(() => alerts.end());

const partsOf = (more: Partial<Dependencies> = {}): Dependencies => ({ ...alerts.control.deps, ...more });
const readRule = async (): Promise<Json> => (await alerts.control.call('GET', alerts.at('alert-rules'))).body[0];

/** Counts invocations as engines report them. */
async function invoke(count: number, more: Partial<TimedUsageRow> = {}): Promise<void> {
  await alerts.control.sql.begin((tx) =>
    addUsage(tx, [
      usageRow(alerts.project.name, {
        route: '/burn',
        invocations: count,
        statuses: [count, 0, 0, 0, 0],
        cpuMsMax: 1,
        ...more,
      }),
    ]),
  );
}

/** Counts failed invocations. */
const fail = (count: number): Promise<void> => invoke(count, { failures: count, statuses: [0, 0, 0, count, 0] });

/** Evaluates each rule once. */
async function evaluate(): Promise<void> {
  await alerts.control.sql`UPDATE control.alert_rule SET next_at = now()`;
  while (await evaluateNext(partsOf()));
}

test('a rate of errors fires after two evaluations, and resolves below its lower bound', async () => {
  const { id: channel, secret } = await alerts.makeChannel('webhook');
  await alerts.makeRule({ threshold: 10, clearBelow: 5, channels: [channel] });
  await invoke(18);
  await fail(2);
  await evaluate();
  assert.deepEqual([(await readRule()).state, (await readRule()).value], ['ok', 10]);
  await evaluate();
  assert.equal((await readRule()).state, 'firing');
  await until(() => alerts.receiver.received.length === 1);
  await evaluate();
  // 2 of 30 are below the threshold, and above the bound at which it resolves.
  await invoke(10);
  await evaluate();
  assert.equal((await readRule()).state, 'firing');
  await invoke(20);
  await evaluate();
  assert.equal((await readRule()).state, 'ok');
  await until(() => alerts.receiver.received.length === 2);
  const bodies = alerts.receiver.received.map(({ body }) => JSON.parse(body) as Json);
  assert.deepEqual(
    bodies.map(({ type, projectId, data }) => [type, projectId, data.name, data.message]),
    [
      ['alert.fired', alerts.project.id, 'Too many errors', '2 of 20 invocations failed in 5 min: 10 %'],
      ['alert.resolved', alerts.project.id, 'Too many errors', '2 of 50 invocations failed in 5 min: 4 %'],
    ],
  );
  for (const { headers, body } of alerts.receiver.received) {
    const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-platform-signature']))!;
    assert.equal(v1, createHmac('sha256', secret).update(`${t}.${body}`).digest('hex'));
  }
  const told = await until(async () => {
    const items = await alerts.history();
    return items.every(({ deliveries }) => deliveries[0].state === 'delivered') && items;
  });
  assert.deepEqual(
    told.map(({ type, deliveries }) => [type, deliveries.length, deliveries[0].channel]),
    [
      ['resolved', 1, 'webhook'],
      ['fired', 1, 'webhook'],
    ],
  );
});

test('several evaluators tell once', async () => {
  const { id: channel } = await alerts.makeChannel('slack');
  await alerts.makeRule({ evaluations: 1, channels: [channel] });
  await fail(20);
  const stopping = new AbortController();
  const loops = Array.from({ length: 3 }, () => evaluateAlerts(partsOf({ stopping: stopping.signal })));
  await until(async () => (await readRule()).state === 'firing');
  for (let round = 0; round < 5; round++) {
    await alerts.control.sql`UPDATE control.alert_rule SET next_at = now()`;
    await Promise.all(Array.from({ length: 3 }, () => evaluateNext(partsOf())));
  }
  stopping.abort();
  await Promise.all(loops);
  await until(async () => (await alerts.history())[0]?.deliveries[0]?.state === 'delivered');
  assert.equal((await alerts.history()).length, 1);
  assert.equal(alerts.receiver.received.length, 1);
});

test('few invocations make no rate, and an evaluation that fails changes no state', async () => {
  await alerts.makeRule({ evaluations: 1 });
  await fail(9);
  await evaluate();
  const rule = await readRule();
  assert.deepEqual(
    [rule.state, rule.value, rule.message],
    ['ok', null, '9 of 9 invocations failed in 5 min: too few to calculate a rate'],
  );
  await alerts.control.sql`UPDATE control.alert_rule SET is_firing = true, next_at = now()`;
  const isDone = await evaluateNext(partsOf(), (tx) => tx`SELECT 1 / 0` as never);
  assert.equal(isDone, true);
  assert.equal((await readRule()).state, 'firing');
  assert.deepEqual(await alerts.history(), []);
});

test('an invocation that comes near its CPU budget is named', async () => {
  await alerts.makeRule({ kind: 'cpu_budget', evaluations: 1 });
  await invoke(1, { cpuMsMax: 950 });
  await invoke(1, { kind: 'queue', route: 'jobs', cpuMsMax: 2000 });
  await evaluate();
  const [event] = await alerts.history();
  assert.deepEqual(
    [event.type, event.value, event.message],
    ['fired', 95, 'http /burn used 950 of 1000 ms of CPU: 95 % of its budget'],
  );
});

test('the budget for AI of a project is watched, with what was spent before it was set', async () => {
  await alerts.makeRule({ kind: 'ai_budget', evaluations: 1 });
  await evaluate();
  assert.equal((await readRule()).message, 'The project has no monthly budget for AI');
  await alerts.control.sql`
    INSERT INTO control.ai_usage (id, at, kind, organization_id, project_id, plan, model_requested, prompt_tokens,
      completion_tokens, cached_tokens, reasoning_tokens, is_estimated, cost_micros, status, is_stream, total_ms)
    VALUES ('req_budget', now(), 'worker', ${alerts.control.organizationId}, ${alerts.project.id}, 'free', 'auto', 10, 5, 0, 0, false,
      9000000, 200, false, 10)`;
  const limits = [{ of: 'cost', per: 'month', most: 10 }];
  assert.equal((await alerts.control.call('PUT', alerts.at('ai'), { limits })).status, 200);
  await evaluate();
  const [event] = await alerts.history();
  assert.deepEqual(
    [event.type, event.value, event.message],
    ['fired', 90, 'AI calls cost 9 of 10 this month: 90 % of the budget'],
  );
});

test('a p99 of latency over its threshold fires, and too few requests are no latency', async () => {
  await alerts.makeRule({ kind: 'latency', threshold: 500, evaluations: 1 });
  const firstByte = (ms: number, count: number) => ({ buckets: [bucketOf(latencyScale, ms)], counts: [count] });
  await invoke(9, { firstByte: firstByte(2000, 9) });
  await evaluate();
  assert.deepEqual(await alerts.history(), []);
  assert.equal((await readRule()).message, '9 requests in 5 min: too few for a latency');
  await invoke(891, { firstByte: firstByte(20, 891) });
  await evaluate();
  assert.deepEqual(await alerts.history(), []);
  await invoke(1, { firstByte: firstByte(2000, 1) });
  await evaluate();
  const [event] = await alerts.history();
  assert.equal(event.type, 'fired');
  assert.ok(event.value >= 1900 && event.value <= 2125, event.value);
  assert.match(event.message, /^Time to first byte in 5 min: p99 \d+(\.\d)? ms, p50 \d+(\.\d)? ms$/);
});

test('what fires in the projects of an organization is listed by one request', async () => {
  const { id } = await alerts.makeRule({ evaluations: 1 });
  await alerts.makeRule({ kind: 'latency', evaluations: 1 });
  await fail(20);
  await evaluate();
  const { status, body } = await alerts.control.call('GET', `/orgs/${alerts.control.organizationId}/alerts`);
  assert.equal(status, 200, JSON.stringify(body));
  const [{ firedAt, ...rule }] = body.items;
  assert.ok(Date.parse(firedAt) > 0);
  assert.deepEqual(
    [body.total, rule],
    [
      1,
      {
        ruleId: id,
        projectId: alerts.project.id,
        project: alerts.project.name,
        name: 'Too many errors',
        message: '20 of 20 invocations failed in 5 min: 100 %',
      },
    ],
  );
  await alerts.control.call('PATCH', alerts.at(`alert-rules/${id}`), { enabled: false });
  const { body: none } = await alerts.control.call('GET', `/orgs/${alerts.control.organizationId}/alerts`);
  assert.deepEqual(none, { total: 0, items: [] });
});

test('a threshold is a percentage or, for latency, milliseconds', async () => {
  const rule = { name: 'x', channels: [], threshold: 101 };
  assert.equal(
    (await alerts.control.call('POST', alerts.at('alert-rules'), { ...rule, kind: 'error_rate' })).status,
    400,
  );
  const { id, threshold } = await alerts.makeRule({ kind: 'latency', threshold: 101 });
  assert.equal(threshold, 101);
  assert.equal((await alerts.control.call('PATCH', alerts.at(`alert-rules/${id}`), { threshold: 60_000 })).status, 200);
  assert.equal((await alerts.makeRule({ kind: 'latency' })).threshold, 1000);
});

test('certificates that expire or cannot be had are told of, those of the project alone', async () => {
  const certificate = (days: number | null, problem: string | null = null): HostCertificate => ({
    issuer: null,
    notBefore: null,
    expiresAt: days === null ? null : new Date(Date.now() + days * 86_400_000 + 60_000).toISOString(),
    renewsAt: null,
    problem,
    nextAttemptAt: null,
  });
  for (const hostname of ['good.example', 'soon.example', 'none.example'])
    await alerts.control.sql`
      INSERT INTO control.domain (id, project_id, hostname, verification, verified_at)
      VALUES (${newId('domain')}, ${alerts.project.id}, ${hostname}, '{}', now())`;
  edge = {
    version: 1,
    writtenAt: '',
    caddy: '',
    certificates: {
      'good.example': certificate(60),
      'soon.example': certificate(3),
      'none.example': certificate(null, 'the CAA record forbids it'),
      'other.example': certificate(-1),
    },
  };
  await alerts.makeRule({ kind: 'certificate', evaluations: 1 });
  const rule = await alerts.made('/operator/alert-rules', {
    name: 'All',
    kind: 'certificate',
    evaluations: 1,
    channels: [],
  });
  await evaluate();
  const [event] = await alerts.history();
  assert.equal(
    event.message,
    'none.example has no certificate: the CAA record forbids it; The certificate of soon.example expires in 3 days',
  );
  const { items } = (await alerts.control.call('GET', '/operator/alerts')).body;
  assert.deepEqual([items.length, items[0].ruleId, items[0].value], [1, rule.id, 3]);
  assert.match(items[0].message, /other\.example has expired/);
  edge = { ...edge, certificates: { 'soon.example': certificate(80), 'none.example': certificate(80) } };
  await evaluate();
  assert.equal((await readRule()).state, 'ok');
});

test('the disk is watched for the operator, and for nobody else', async () => {
  const rule = { name: 'Disk', kind: 'disk', evaluations: 1, threshold: 0.1, clearBelow: 0.1, channels: [] };
  await alerts.made('/operator/alert-rules', rule);
  await evaluate();
  const { items } = (await alerts.control.call('GET', '/operator/alerts')).body;
  assert.match(items[0].message, /^[\d.]+ % of the disk is used: [\d.]+ GB are free$/);
  assert.equal((await alerts.control.call('POST', alerts.at('alert-rules'), rule)).status, 400);
  const admin = await alerts.control.account(`a-${alerts.project.name}`, { [alerts.control.organizationId]: 'admin' });
  assert.equal((await alerts.control.call('GET', '/operator/alert-rules', undefined, admin.token)).status, 403);
});

test('the graph of a rule has its value in each window, but none where too little was measured', async () => {
  const windowMs = 300_000;
  const current = Math.floor(Date.now() / windowMs) * windowMs;
  const ago = (minutes: number) => new Date(current - minutes * 60_000).toISOString();
  const firstByte = { buckets: [bucketOf(latencyScale, 400)], counts: [20] };
  await invoke(20, { minute: ago(10), failures: 5, statuses: [15, 0, 0, 5, 0], cpuMsMax: 300, firstByte });
  await invoke(20, { minute: ago(7), cpuMsMax: 200 });
  await invoke(9, { minute: ago(5), failures: 9, statuses: [0, 0, 0, 9, 0], cpuMsMax: 100 });
  const read = async (rule: object): Promise<Json> => {
    const { id } = await alerts.makeRule(rule);
    return (await alerts.control.call('GET', alerts.at(`alert-rules/${id}/series`))).body;
  };
  const rates = await read({ kind: 'error_rate' });
  assert.deepEqual([rates.stepMs, rates.items], [windowMs, [{ at: ago(10), value: 12.5 }]]);
  assert.deepEqual((await read({ kind: 'cpu_budget' })).items, [
    { at: ago(10), value: 30 },
    { at: ago(5), value: 10 },
  ]);
  const [latency] = (await read({ kind: 'latency' })).items;
  assert.equal(latency.at, ago(10));
  assert.ok(latency.value >= 375 && latency.value <= 425, latency.value);
  assert.equal(await read({ kind: 'certificate' }), null);
  assert.equal((await alerts.control.call('GET', alerts.at('alert-rules/alr_none/series'))).status, 404);
});
