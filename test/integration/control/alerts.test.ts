// Alerts: a rate that flaps is one alert, told once by however many API processes, to webhooks, chats and by mail; and
// what is secret of a channel is not shown.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import type { EdgeState, HostCertificate } from '#core/edge-state.ts';
import { bucketOf, latencyScale } from '#core/histogram.ts';
import { defaultLimits } from '#core/limits.ts';
import type { TimedUsageRow } from '#core/usage-row.ts';
import { deliverAlerts } from '#control/alerts/deliver.ts';
import { evaluateAlerts, evaluateNext } from '#control/alerts/evaluate.ts';
import { stepAlert, type AlertState } from '#control/alerts/step.ts';
import type { Dependencies } from '#control/process/dependencies.ts';
import { newId } from '#control/records/ids.ts';
import { addUsage } from '#control/usage/store.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { openHttpReceiver, type HttpReceiver } from '#test/setup/http-receiver.ts';
import { until } from '#test/setup/until.ts';
import { usageRow } from '#test/setup/usage-row.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- what the API answered
type Json = any;

let control: TestControl;
let receiver: HttpReceiver;
let project: { readonly id: string; readonly name: string };
let edge: EdgeState | null = null;
let stop: () => Promise<unknown>;

before(async () => {
  control = await startControl({
    limits: { ...defaultLimits.control, requestsPerMinute: 1_000_000 },
    edgeState: () => edge,
  });
  await control.sql`UPDATE control.account SET is_admin = true WHERE id = ${control.owner.accountId}`;
});
after(() => control.close());
beforeEach(async () => {
  edge = null;
  receiver = await openHttpReceiver();
  setMail(null);
  const id = newId('project');
  project = { id, name: `p${id.slice(4, 14)}` };
  await control.sql`
    INSERT INTO control.project (id, organization_id, name) VALUES (${id}, ${control.organizationId}, ${project.name})`;
  const stopping = new AbortController();
  const done = deliverAlerts(partsOf({ stopping: stopping.signal }));
  stop = () => {
    stopping.abort();
    return done;
  };
});
afterEach(async () => {
  await stop();
  await receiver.goAway();
  await control.sql`DELETE FROM control.alert_rule`;
  await control.sql`DELETE FROM control.alert_channel`;
  await control.sql`DELETE FROM control.alert_event`;
});

const partsOf = (more: Partial<Dependencies> = {}): Dependencies => ({ ...control.deps, ...more });
/** As if the platform had been started with another AUTH_MAIL_URL. */
const setMail = (url: string | null): void => void ((control.deps as { mailUrl: string | null }).mailUrl = url);
const at = (what: string): string => `/projects/${project.id}/${what}`;

async function made(path: string, body: object): Promise<Json> {
  const answer = await control.call('POST', path, body);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

const makeChannel = (kind: string, more: object = {}): Promise<Json> =>
  made(at('alert-channels'), { name: kind, kind, url: `${receiver.url}/secret-path`, allowPrivate: true, ...more });
const makeRule = (more: object): Promise<Json> =>
  made(at('alert-rules'), { name: 'Too many errors', kind: 'error_rate', channels: [], ...more });
const readRule = async (): Promise<Json> => (await control.call('GET', at('alert-rules'))).body[0];
const history = async (): Promise<Json[]> => (await control.call('GET', at('alerts'))).body.items;

/** Counts invocations as engines report them. */
async function invoke(count: number, more: Partial<TimedUsageRow> = {}): Promise<void> {
  await control.sql.begin((tx) =>
    addUsage(tx, [
      usageRow(project.name, {
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
  await control.sql`UPDATE control.alert_rule SET next_at = now()`;
  while (await evaluateNext(partsOf()));
}

test('a rate of errors fires after two evaluations, and resolves below its lower bound', async () => {
  const { id: channel, secret } = await makeChannel('webhook');
  await makeRule({ threshold: 10, clearBelow: 5, channels: [channel] });
  await invoke(18);
  await fail(2);
  await evaluate();
  assert.deepEqual([(await readRule()).state, (await readRule()).value], ['ok', 10]);
  await evaluate();
  assert.equal((await readRule()).state, 'firing');
  await until(() => receiver.received.length === 1);
  await evaluate();
  // 2 of 30 are below the threshold, and above the bound at which it resolves.
  await invoke(10);
  await evaluate();
  assert.equal((await readRule()).state, 'firing');
  await invoke(20);
  await evaluate();
  assert.equal((await readRule()).state, 'ok');
  await until(() => receiver.received.length === 2);
  const bodies = receiver.received.map(({ body }) => JSON.parse(body) as Json);
  assert.deepEqual(
    bodies.map(({ type, projectId, data }) => [type, projectId, data.name, data.message]),
    [
      ['alert.fired', project.id, 'Too many errors', '2 of 20 invocations failed in 5 min: 10 %'],
      ['alert.resolved', project.id, 'Too many errors', '2 of 50 invocations failed in 5 min: 4 %'],
    ],
  );
  for (const { headers, body } of receiver.received) {
    const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-platform-signature']))!;
    assert.equal(v1, createHmac('sha256', secret).update(`${t}.${body}`).digest('hex'));
  }
  const told = await until(async () => {
    const items = await history();
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

test('a value that flaps is one alert', () => {
  const bounds = { threshold: 10, clearBelow: 8, evaluations: 2, quietMs: 600_000 };
  const run = (values: readonly (number | null)[], stepMs: number) => {
    let state: AlertState = { isFiring: false, overCount: 0, firedAt: null };
    return values.flatMap((value, index) => {
      const { event, ...next } = stepAlert(state, bounds, value, index * stepMs);
      state = next;
      return event === null ? [] : [`${index} ${event}`];
    });
  };
  // Around the threshold, never below the lower bound.
  assert.deepEqual(run([9, 11, 9, 11, 11, 9, 11, 9, 12, 9, 11, 9], 30_000), ['4 fired']);
  // Over it for one evaluation at a time.
  assert.deepEqual(run([11, 1, 11, 1, 11, 1], 30_000), []);
  // Up and down through both bounds: one alert in the quiet time.
  const flapping = Array.from({ length: 18 }, (_, index) => (index % 6 < 3 ? 20 : 1));
  assert.deepEqual(run(flapping, 30_000), ['1 fired', '3 resolved']);
  // After it the next one; nothing to measure counts as well.
  assert.deepEqual(run([20, 20, null, 20, 20], 600_000), ['1 fired', '2 resolved', '4 fired']);
});

test('several evaluators tell once', async () => {
  const { id: channel } = await makeChannel('slack');
  await makeRule({ evaluations: 1, channels: [channel] });
  await fail(20);
  const stopping = new AbortController();
  const loops = Array.from({ length: 3 }, () => evaluateAlerts(partsOf({ stopping: stopping.signal })));
  await until(async () => (await readRule()).state === 'firing');
  for (let round = 0; round < 5; round++) {
    await control.sql`UPDATE control.alert_rule SET next_at = now()`;
    await Promise.all(Array.from({ length: 3 }, () => evaluateNext(partsOf())));
  }
  stopping.abort();
  await Promise.all(loops);
  await until(async () => (await history())[0]?.deliveries[0]?.state === 'delivered');
  assert.equal((await history()).length, 1);
  assert.equal(receiver.received.length, 1);
});

test('few invocations make no rate, and an evaluation that fails changes no state', async () => {
  await makeRule({ evaluations: 1 });
  await fail(9);
  await evaluate();
  const rule = await readRule();
  assert.deepEqual(
    [rule.state, rule.value, rule.message],
    ['ok', null, '9 of 9 invocations failed in 5 min: too few for a rate'],
  );
  await control.sql`UPDATE control.alert_rule SET is_firing = true, next_at = now()`;
  const isDone = await evaluateNext(partsOf(), (tx) => tx`SELECT 1 / 0` as never);
  assert.equal(isDone, true);
  assert.equal((await readRule()).state, 'firing');
  assert.deepEqual(await history(), []);
});

test('an invocation that comes near its CPU budget is named', async () => {
  await makeRule({ kind: 'cpu_budget', evaluations: 1 });
  await invoke(1, { cpuMsMax: 950 });
  await invoke(1, { kind: 'queue', route: 'jobs', cpuMsMax: 2000 });
  await evaluate();
  const [event] = await history();
  assert.deepEqual(
    [event.type, event.value, event.message],
    ['fired', 95, 'http /burn used 950 of 1000 ms of CPU: 95 % of its budget'],
  );
});

test('a p99 of latency over its threshold fires, and too few requests are no latency', async () => {
  await makeRule({ kind: 'latency', threshold: 500, evaluations: 1 });
  const firstByte = (ms: number, count: number) => ({ buckets: [bucketOf(latencyScale, ms)], counts: [count] });
  await invoke(9, { firstByte: firstByte(2000, 9) });
  await evaluate();
  assert.deepEqual(await history(), []);
  assert.equal((await readRule()).message, '9 requests in 5 min: too few for a latency');
  await invoke(891, { firstByte: firstByte(20, 891) });
  await evaluate();
  assert.deepEqual(await history(), []);
  await invoke(1, { firstByte: firstByte(2000, 1) });
  await evaluate();
  const [event] = await history();
  assert.equal(event.type, 'fired');
  assert.ok(event.value >= 1900 && event.value <= 2125, event.value);
  assert.match(event.message, /^Time to first byte in 5 min: p99 \d+(\.\d)? ms, p50 \d+(\.\d)? ms$/);
});

test('a threshold is a percentage or, for latency, milliseconds', async () => {
  const rule = { name: 'x', channels: [], threshold: 101 };
  assert.equal((await control.call('POST', at('alert-rules'), { ...rule, kind: 'error_rate' })).status, 400);
  const { id, threshold } = await makeRule({ kind: 'latency', threshold: 101 });
  assert.equal(threshold, 101);
  assert.equal((await control.call('PATCH', at(`alert-rules/${id}`), { threshold: 60_000 })).status, 200);
  assert.equal((await makeRule({ kind: 'latency' })).threshold, 1000);
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
    await control.sql`
      INSERT INTO control.domain (id, project_id, hostname, verification, verified_at)
      VALUES (${newId('domain')}, ${project.id}, ${hostname}, '{}', now())`;
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
  await makeRule({ kind: 'certificate', evaluations: 1 });
  const rule = await made('/operator/alert-rules', { name: 'All', kind: 'certificate', evaluations: 1, channels: [] });
  await evaluate();
  const [event] = await history();
  assert.equal(
    event.message,
    'none.example has no certificate: the CAA record forbids it; The certificate of soon.example expires in 3 days',
  );
  const { items } = (await control.call('GET', '/operator/alerts')).body;
  assert.deepEqual([items.length, items[0].ruleId, items[0].value], [1, rule.id, 3]);
  assert.match(items[0].message, /other\.example has expired/);
  edge = { ...edge, certificates: { 'soon.example': certificate(80), 'none.example': certificate(80) } };
  await evaluate();
  assert.equal((await readRule()).state, 'ok');
});

test('the disk is watched for the operator, and for nobody else', async () => {
  const rule = { name: 'Disk', kind: 'disk', evaluations: 1, threshold: 0.1, clearBelow: 0.1, channels: [] };
  await made('/operator/alert-rules', rule);
  await evaluate();
  const { items } = (await control.call('GET', '/operator/alerts')).body;
  assert.match(items[0].message, /^[\d.]+ % of the disk is used: [\d.]+ GB are free$/);
  assert.equal((await control.call('POST', at('alert-rules'), rule)).status, 400);
  const admin = await control.account(`a-${project.name}`, { [control.organizationId]: 'admin' });
  assert.equal((await control.call('GET', '/operator/alert-rules', undefined, admin.token)).status, 403);
});

test('chats get their own JSON, in which names are no mark-up', async () => {
  for (const kind of ['slack', 'discord']) {
    const { id } = await makeChannel(kind, { name: '<!channel> @everyone & co' });
    const { status } = await control.call('POST', `${at('alert-channels')}/${id}/test`);
    assert.equal(status, 202);
  }
  await until(() => receiver.received.length === 2);
  const page = `http://localhost:3002/projects/${project.name}/settings/alerts`;
  const words = (name: string): string =>
    `Test: ${name} (${project.name})\nA test of this channel: nothing is wrong\n${page}`;
  assert.deepEqual(
    new Set(receiver.received.map(({ body }) => body)),
    new Set([
      JSON.stringify({ text: words('&lt;!channel&gt; @everyone &amp; co') }),
      JSON.stringify({ content: words('<!channel> @everyone & co'), allowed_mentions: { parse: [] } }),
    ]),
  );
});

test('a letter is handed on as those of sign-in are; without an address for them, that is said', async () => {
  const body = { name: 'mail', kind: 'mail', to: 'ada@example.com' };
  const refused = await control.call('POST', at('alert-channels'), body);
  assert.deepEqual(
    [refused.status, refused.body.message],
    [501, 'This platform sends no mail: its operator sets AUTH_MAIL_URL'],
  );
  await stop();
  setMail(`${receiver.url}/mail`);
  const { id, target } = await made(at('alert-channels'), body);
  assert.equal(target, 'ada@example.com');
  assert.equal((await control.call('POST', at('alert-channels'), { ...body, to: 'a@b, c@d' })).status, 400);
  const stopping = new AbortController();
  const done = deliverAlerts(partsOf({ stopping: stopping.signal }));
  stop = () => {
    stopping.abort();
    return done;
  };
  await control.call('POST', `${at('alert-channels')}/${id}/test`);
  await until(() => receiver.received.length === 1);
  const { to, subject } = JSON.parse(receiver.received[0]!.body) as Json;
  assert.deepEqual([to, subject], ['ada@example.com', `Test: mail (${project.name})`]);
});

test('what was not taken is told again, a channel is tried once a minute, and its URL stays secret', async () => {
  receiver.answer = (response) => response.writeHead(503).end();
  const { id } = await makeChannel('slack');
  assert.equal((await control.call('POST', `${at('alert-channels')}/${id}/test`)).status, 202);
  const waiting = await until(async () => {
    const [event] = await history();
    return event?.deliveries[0]?.error != null && event.deliveries[0];
  });
  assert.deepEqual(waiting, { channel: 'slack', state: 'waiting', attempt: 1, error: 'It answered 503' });
  receiver.answer = (response) => response.end();
  await control.sql`UPDATE control.alert_delivery SET due_at = now()`;
  await control.sql`SELECT pg_notify('control_alert', '')`;
  await until(async () => (await history())[0]!.deliveries[0].state === 'delivered');
  const again = await control.call('POST', `${at('alert-channels')}/${id}/test`);
  assert.deepEqual([again.status, again.body.code], [429, 'rate_limited']);
  const shown = JSON.stringify([
    (await control.call('GET', at('alert-channels'))).body,
    await history(),
    await control.sql`SELECT details FROM control.audit_event`,
    (await control.sql<{ secret: Buffer }[]>`SELECT secret FROM control.alert_channel`)[0]!.secret.toString('latin1'),
  ]);
  assert.doesNotMatch(shown, /secret-path/);
});

test('channels and rules are those of their project, lead to public addresses, and are bounded', async () => {
  const admin = await control.account(`b-${project.name}`, { [control.organizationId]: 'admin' });
  const member = await control.account(`m-${project.name}`, { [control.organizationId]: 'member' });
  const post = (body: object, token: string) => control.call('POST', at('alert-channels'), body, token);
  const chat = { name: 'x', kind: 'slack' };
  assert.equal((await post({ ...chat, url: 'https://hooks.example/x' }, member.token)).status, 403);
  assert.equal((await post({ ...chat, url: receiver.url, allowPrivate: true }, admin.token)).status, 403);
  for (const [url, message] of [
    [receiver.url, 'body.url: must begin with https://'],
    ['https://10.0.0.1/', 'body.url: must not lead to a private address'],
    [undefined, 'body.url: is missing'],
  ] as const)
    assert.equal((await post({ ...chat, url }, admin.token)).body.message, message);
  // A name is looked up when it is connected to.
  const { id } = (await post({ ...chat, url: 'https://localhost/' }, admin.token)).body;
  await control.call('POST', `${at('alert-channels')}/${id}/test`);
  const failed = await until(async () => (await history())[0]?.deliveries[0]?.error);
  assert.equal(failed, 'The URL must not lead to a private address');
  // A rule of another project that names this channel tells it nothing.
  const other = newId('project');
  await control.sql`
    INSERT INTO control.project (id, organization_id, name) VALUES (${other}, ${control.organizationId}, ${other})`;
  const disk = { name: 'Disk', kind: 'disk', channels: [id] };
  assert.equal((await control.call('POST', '/operator/alert-rules', disk)).status, 404);
  const rule = await made('/operator/alert-rules', { ...disk, channels: [] });
  const change = { channels: [id] };
  assert.equal((await control.call('PATCH', `/operator/alert-rules/${rule.id}`, change)).status, 404);
  assert.equal((await control.call('DELETE', `/projects/${other}/alert-channels/${id}`)).status, 404);
  const wrong = await control.call('POST', at('alert-rules'), {
    name: 'x',
    kind: 'error_rate',
    threshold: 5,
    clearBelow: 6,
    channels: [],
  });
  assert.equal(wrong.body.message, 'body.clearBelow: must not be above the threshold');
  const { alertRulesMax } = control.deps.limits;
  for (let count = 0; count < alertRulesMax; count++) await makeRule({});
  const full = await control.call('POST', at('alert-rules'), { name: 'x', kind: 'error_rate', channels: [] });
  assert.deepEqual([full.status, full.body.message], [409, `Limit of alert rules reached: ${alertRulesMax}`]);
  const [first] = (await control.call('GET', at('alert-rules'))).body;
  const off = await control.call('PATCH', `${at('alert-rules')}/${first.id}`, { enabled: false, threshold: 50 });
  assert.deepEqual([off.body.state, off.body.threshold, off.body.clearBelow], ['off', 50, 40]);
  assert.equal((await control.call('DELETE', `${at('alert-rules')}/${first.id}`)).status, 204);
});
