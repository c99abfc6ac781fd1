// Channels of alerts: what chats and mail get, repeated deliveries, and who may use a channel or rule. The secrets of a
// channel are not shown.
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { newId } from '#control/records/ids.ts';
import { startAlerts, type TestAlerts } from '#test/setup/alerts.ts';
import { until } from '#test/setup/until.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- what the API answered
type Json = any;

let alerts: TestAlerts;
before(async () => {
  alerts = await startAlerts();
});
after(() => alerts.close());
beforeEach(() => alerts.begin());
afterEach(() => alerts.end());

test('chats get their own JSON, in which names are no mark-up', async () => {
  for (const kind of ['slack', 'discord']) {
    const { id } = await alerts.makeChannel(kind, { name: '<!channel> @everyone & co' });
    const { status } = await alerts.control.call('POST', `${alerts.at('alert-channels')}/${id}/test`);
    assert.equal(status, 202);
  }
  await until(() => alerts.receiver.received.length === 2);
  const page = `http://localhost:3002/projects/${alerts.project.name}/settings/alerts`;
  const words = (name: string): string =>
    `Test: ${name} (${alerts.project.name})\nThis is a test of the alert channel: there is no problem\n${page}`;
  assert.deepEqual(
    new Set(alerts.receiver.received.map(({ body }) => body)),
    new Set([
      JSON.stringify({ text: words('&lt;!channel&gt; @everyone &amp; co') }),
      JSON.stringify({ content: words('<!channel> @everyone & co'), allowed_mentions: { parse: [] } }),
    ]),
  );
});

test('a letter is handed on as those of sign-in are; without an address for them, that is said', async () => {
  const body = { name: 'mail', kind: 'mail', to: 'ada@example.com' };
  const refused = await alerts.control.call('POST', alerts.at('alert-channels'), body);
  assert.deepEqual(
    [refused.status, refused.body.message],
    [501, 'This platform sends no mail: its operator sets AUTH_MAIL_URL'],
  );
  await alerts.mailBy(`${alerts.receiver.url}/mail`);
  const { id, target } = await alerts.made(alerts.at('alert-channels'), body);
  assert.equal(target, 'ada@example.com');
  assert.equal(
    (await alerts.control.call('POST', alerts.at('alert-channels'), { ...body, to: 'a@b, c@d' })).status,
    400,
  );
  await alerts.control.call('POST', `${alerts.at('alert-channels')}/${id}/test`);
  await until(() => alerts.receiver.received.length === 1);
  const { to, subject } = JSON.parse(alerts.receiver.received[0]!.body) as Json;
  assert.deepEqual([to, subject], ['ada@example.com', `Test: mail (${alerts.project.name})`]);
});

test('what was not accepted is sent again, a channel is tried once a minute, and its URL stays secret', async () => {
  alerts.receiver.answer = (response) => response.writeHead(503).end();
  const { id } = await alerts.makeChannel('slack');
  assert.equal((await alerts.control.call('POST', `${alerts.at('alert-channels')}/${id}/test`)).status, 202);
  const waiting = await until(async () => {
    const [event] = await alerts.history();
    return event?.deliveries[0]?.error != null && event.deliveries[0];
  });
  assert.deepEqual(waiting, { channel: 'slack', state: 'waiting', attempt: 1, error: 'It answered 503' });
  alerts.receiver.answer = (response) => response.end();
  await alerts.control.sql`UPDATE control.alert_delivery SET due_at = now()`;
  await alerts.control.sql`SELECT pg_notify('control_alert', '')`;
  await until(async () => (await alerts.history())[0]!.deliveries[0].state === 'delivered');
  const again = await alerts.control.call('POST', `${alerts.at('alert-channels')}/${id}/test`);
  assert.deepEqual([again.status, again.body.code], [429, 'rate_limited']);
  const shown = JSON.stringify([
    (await alerts.control.call('GET', alerts.at('alert-channels'))).body,
    await alerts.history(),
    await alerts.control.sql`SELECT details FROM control.audit_event`,
    (await alerts.control.sql<{ secret: Buffer }[]>`SELECT secret FROM control.alert_channel`)[0]!.secret.toString(
      'latin1',
    ),
  ]);
  assert.doesNotMatch(shown, /secret-path/);
});

test('channels and rules are those of their project, lead to public addresses, and are bounded', async () => {
  const admin = await alerts.control.account(`b-${alerts.project.name}`, { [alerts.control.organizationId]: 'admin' });
  const member = await alerts.control.account(`m-${alerts.project.name}`, {
    [alerts.control.organizationId]: 'member',
  });
  const post = (body: object, token: string) => alerts.control.call('POST', alerts.at('alert-channels'), body, token);
  const chat = { name: 'x', kind: 'slack' };
  assert.equal((await post({ ...chat, url: 'https://hooks.example/x' }, member.token)).status, 403);
  assert.equal((await post({ ...chat, url: alerts.receiver.url, allowPrivate: true }, admin.token)).status, 403);
  for (const [url, message] of [
    [alerts.receiver.url, 'body.url: must begin with https://'],
    ['https://10.0.0.1/', 'body.url: must not lead to a private address'],
    [undefined, 'body.url: is missing'],
  ] as const)
    assert.equal((await post({ ...chat, url }, admin.token)).body.message, message);
  // A name is looked up when it is connected to.
  const { id } = (await post({ ...chat, url: 'https://localhost/' }, admin.token)).body;
  await alerts.control.call('POST', `${alerts.at('alert-channels')}/${id}/test`);
  const failed = await until(async () => (await alerts.history())[0]?.deliveries[0]?.error);
  assert.equal(failed, 'The URL must not lead to a private address');
  // A rule of another project that names this channel tells it nothing.
  const other = newId('project');
  await alerts.control.sql`
    INSERT INTO control.project (id, organization_id, name) VALUES (${other}, ${alerts.control.organizationId}, ${other})`;
  const disk = { name: 'Disk', kind: 'disk', channels: [id] };
  assert.equal((await alerts.control.call('POST', '/operator/alert-rules', disk)).status, 404);
  const rule = await alerts.made('/operator/alert-rules', { ...disk, channels: [] });
  const change = { channels: [id] };
  assert.equal((await alerts.control.call('PATCH', `/operator/alert-rules/${rule.id}`, change)).status, 404);
  assert.equal((await alerts.control.call('DELETE', `/projects/${other}/alert-channels/${id}`)).status, 404);
  const wrong = await alerts.control.call('POST', alerts.at('alert-rules'), {
    name: 'x',
    kind: 'error_rate',
    threshold: 5,
    clearBelow: 6,
    channels: [],
  });
  assert.equal(wrong.body.message, 'body.clearBelow: must not be above the threshold');
  const { alertRulesMax } = alerts.control.deps.limits;
  for (let count = 0; count < alertRulesMax; count++) await alerts.makeRule({});
  const full = await alerts.control.call('POST', alerts.at('alert-rules'), {
    name: 'x',
    kind: 'error_rate',
    channels: [],
  });
  assert.deepEqual([full.status, full.body.message], [409, `Limit of alert rules reached: ${alertRulesMax}`]);
  const [first] = (await alerts.control.call('GET', alerts.at('alert-rules'))).body;
  const off = await alerts.control.call('PATCH', `${alerts.at('alert-rules')}/${first.id}`, {
    enabled: false,
    threshold: 50,
  });
  assert.deepEqual([off.body.state, off.body.threshold, off.body.clearBelow], ['off', 50, 40]);
  assert.equal((await alerts.control.call('DELETE', `${alerts.at('alert-rules')}/${first.id}`)).status, 204);
});
