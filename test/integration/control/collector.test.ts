// A project's own collector: set over the API, sealed, never private for who is no operator; what it does not take is
// dropped, counted and told.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '#control/records/ids.ts';
import { collectTelemetry } from '#control/telemetry/collect.ts';
import type { PrivatePort } from '#control/process/private-port.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { openOtlpReceiver, type OtlpReceiver } from '#test/setup/otlp-receiver.ts';
import { until } from '#test/setup/until.ts';

/** Batches that the platform will answer with. */
const batches: { id: string; records: string; lost: number }[] = [];
const privatePort = {
  ask: async (_path: string, { acknowledged }: { acknowledged: string | null }) => {
    if (batches[0]?.id === acknowledged) batches.shift();
    await new Promise((go) => setImmediate(go));
    return { status: 200, body: batches[0] ?? { id: null, records: '', lost: 0 } };
  },
} as unknown as PrivatePort;

let control: TestControl;
let receiver: OtlpReceiver;
let shop: string;
let other: string;
before(async () => {
  receiver = await openOtlpReceiver();
  control = await startControl({ privatePort });
  await control.sql`UPDATE control.account SET is_admin = true WHERE id = ${control.owner.accountId}`;
  [shop, other] = [newId('project'), newId('project')];
  for (const [id, name] of [
    [shop, 'shop'],
    [other, 'other'],
  ] as const)
    await control.sql`
      INSERT INTO control.project (id, organization_id, name) VALUES (${id}, ${control.organizationId}, ${name})`;
  control.deps.background('Collecting lines', () =>
    collectTelemetry(control.deps, async () => new Map([['here', privatePort]])),
  );
});
after(async () => {
  await control.close();
  await receiver.close();
});

let count = 0;
/** Hands spans in as engines would. */
function hand(project: string, spans: number): void {
  const records = Array.from({ length: spans }, () => ({
    record: 'span',
    project,
    deployment: 'dabc',
    at: Date.now(),
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: (++count).toString(16).padStart(16, '0'),
    parentId: null,
    isRoot: true,
    name: 'GET /',
    kind: 2,
    ms: 1.5,
    error: null,
    invocation: `i${count}`,
    attributes: { 'http.route': '/', 'http.response.status_code': 200, 'platform.cpu_ms': 0.25, 'a.flag': true },
    links: [],
  }));
  batches.push({ id: `batch-${count}`, records: records.map((span) => JSON.stringify(span)).join('\n'), lost: 0 });
}

const path = (): string => `/projects/${shop}/collector`;
const put = (body: object, token?: string) => control.call('PUT', path(), body, token);
const read = async () => (await control.call('GET', path())).body.collector;

test('a project has none at first', async () => {
  assert.equal(await read(), null);
  assert.equal((await control.call('DELETE', path())).status, 404);
});

test('it must not lead to a private address, but for operators; a refusal says what is wrong, without values', async () => {
  const admin = await control.account('ada', { [control.organizationId]: 'admin' });
  for (const url of [
    'http://example.com/v1/traces',
    'https://127.0.0.1/',
    'https://user:secret@example.com/',
    'no url',
  ])
    assert.equal((await put({ url }, admin.token)).status, 400, url);
  assert.equal((await put({ url: receiver.url, allowPrivate: true }, admin.token)).status, 403);
  const refused = await put({ url: 'https://example.com/', headers: { 'x-key': 'hush\nhush' } }, admin.token);
  assert.equal(refused.status, 400);
  assert.match(JSON.stringify(refused.body), /x-key/);
  assert.doesNotMatch(JSON.stringify(refused.body), /hush/);
  for (const name of ['host', 'content-type', 'a b', ''])
    assert.equal((await put({ url: 'https://example.com/', headers: { [name]: 'x' } }, admin.token)).status, 400, name);
  const member = await control.account('bob', { [control.organizationId]: 'member' });
  assert.equal((await put({ url: 'https://example.com/' }, member.token)).status, 403);
  assert.equal(await read(), null);
});

test('its spans go there with its headers, those of other projects do not, and what arrived is counted', async () => {
  const { status, body } = await put({
    url: `${receiver.url}/v1/traces`,
    headers: { Authorization: 'Bearer hush' },
    allowPrivate: true,
  });
  assert.equal(status, 200);
  assert.deepEqual([body.headers, body.sent, body.error], [['authorization'], 0, null]);
  const [row] = await control.sql`SELECT headers FROM control.collector WHERE project_id = ${shop}`;
  assert.equal((row!['headers'] as Buffer).includes('hush'), false);
  // Until its exporter runs nothing is sent: what is kept meanwhile stays in the database alone.
  await until(() => {
    if (batches.length === 0 && receiver.spans.length === 0) {
      hand('other', 1);
      hand('shop', 3);
    }
    return receiver.spans.length >= 3;
  });
  // They are sent in their order: behind this one nothing is on its way.
  hand('shop', 1);
  const last = count.toString(16).padStart(16, '0');
  await until(() => receiver.spans.some(({ spanId }) => spanId === last));
  assert.deepEqual(receiver.problems, []);
  assert.deepEqual([...receiver.services], ['shop']);
  assert.equal(receiver.headers[0]!['authorization'], 'Bearer hush');
  await until(async () => (await read()).sent === receiver.spans.length);
  assert.equal(JSON.stringify(await read()).includes('hush'), false);
});

test('what a collector refuses is dropped, counted, and the reason told', async () => {
  const { sent } = await read();
  receiver.answers.push(401);
  hand('shop', 5);
  const told = await until(async () => {
    const one = await read();
    return one.dropped > 0 && one;
  });
  assert.deepEqual([told.sent, told.dropped, told.error], [sent, 5, 'It answered 401']);
});

test('one that is set anew counts from zero, and one that is taken away gets nothing more', async () => {
  assert.equal((await put({ url: `${receiver.url}/v1/traces`, allowPrivate: true })).body.dropped, 0);
  assert.equal((await control.call('DELETE', path())).status, 204);
  assert.equal(await read(), null);
  const actions = await control.sql`
    SELECT DISTINCT action FROM control.audit_event WHERE subject_kind = 'collector' ORDER BY action`;
  assert.deepEqual(
    actions.map((row) => row['action']),
    ['collector.delete', 'collector.set'],
  );
});

test('a collector whose headers no key decrypts shows that, and others get their spans', async () => {
  await control.sql`
    INSERT INTO control.collector (project_id, url, headers, header_names, is_private)
    VALUES (${other}, 'https://otel.example/', ${Buffer.from('sealed with a lost key')}, '{}', false)`;
  await put({ url: `${receiver.url}/v1/traces`, allowPrivate: true });
  const problem = await until(async () => {
    const { body } = await control.call('GET', `/projects/${other}/collector`);
    return body.collector.error;
  });
  assert.equal(problem, 'The secret cannot be decrypted: delete this entry and create it again');
  const { length } = receiver.spans;
  await until(() => {
    if (batches.length === 0 && receiver.spans.length === length) hand('shop', 1);
    return receiver.spans.length > length;
  });
});
