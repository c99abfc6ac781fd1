// Webhooks to others: written with the change they tell of, signed, tried again, and never sent to a private address of
// somebody who is no operator.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, beforeEach, test } from 'node:test';
import { newDeploymentId, newId } from '#control/records/ids.ts';
import { deliverWebhooks } from '#control/webhooks/deliver.ts';
import { enqueueEvent } from '#control/webhooks/events.ts';
import { urlProblem } from '#core/outbound/post.ts';
import { sendSigned, signatureOf } from '#control/outbound/send-signed.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { until } from '#test/setup/until.ts';

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

let control: TestControl;
let receiver: Server;
let url: string;
let received: Received[] = [];
let answer: (response: ServerResponse) => void = (response) => response.end();

before(async () => {
  control = await startControl();
  await control.sql`UPDATE control.account SET is_admin = true WHERE id = ${control.owner.accountId}`;
  receiver = createServer((request, response) => {
    void text(request).then((body) => {
      received.push({ headers: request.headers, body });
      answer(response);
    });
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  control.deps.background('Sending webhooks', () => deliverWebhooks(control.deps));
});
after(async () => {
  await control.close();
  receiver.close();
});
beforeEach(async () => {
  await control.sql`DELETE FROM control.webhook`;
  received = [];
  answer = (response) => response.end();
});

const path = (): string => `/orgs/${control.organizationId}/webhooks`;

// oxlint-disable-next-line typescript/no-explicit-any -- what the API answered
async function make(events: readonly string[], more: object = {}): Promise<any> {
  const { status, body } = await control.call('POST', path(), { url, events, allowPrivate: true, ...more });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

async function makeProject(): Promise<string> {
  const id = newId('project');
  await control.sql`
    INSERT INTO control.project (id, organization_id, name) VALUES (${id}, ${control.organizationId}, ${`p${id.slice(4, 14)}`})`;
  return id;
}

async function makeDeployment(projectId: string): Promise<string> {
  const id = newDeploymentId();
  await control.sql`
    INSERT INTO control.deployment (id, project_id, organization_id, target, branch, source)
    VALUES (${id}, ${projectId}, ${control.organizationId}, 'production', 'main', 'push')`;
  return id;
}

async function deliveries(webhookId: string) {
  return (await control.call('GET', `${path()}/${webhookId}/deliveries`)).body.items;
}

test('a deployment and a promotion are told of, signed with the secret of the webhook', async () => {
  const projectId = await makeProject();
  const { secret } = await make(['deployment.created', 'deployment.succeeded', 'deployment.promoted']);
  assert.match(secret, /^whsec_/);
  const deploymentId = await makeDeployment(projectId);
  await control.sql`UPDATE control.deployment SET status = 'building' WHERE id = ${deploymentId}`;
  await control.sql`UPDATE control.deployment SET status = 'success' WHERE id = ${deploymentId}`;
  await control.sql`UPDATE control.project SET production_deployment_id = ${deploymentId} WHERE id = ${projectId}`;
  await until(() => received.length === 3);
  const bodies = received.map(({ body }) => JSON.parse(body));
  assert.deepEqual(bodies.map(({ type }) => type).sort(), [
    'deployment.created',
    'deployment.promoted',
    'deployment.succeeded',
  ]);
  const { id, createdAt, ...created } = bodies.find(({ type }) => type === 'deployment.created');
  assert.match(id, /^whd_[0-9a-f]{20}$/);
  assert.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.deepEqual(created, {
    type: 'deployment.created',
    organizationId: control.organizationId,
    projectId,
    data: {
      deploymentId,
      status: 'queued',
      reason: null,
      target: 'production',
      branch: 'main',
      commitSha: null,
      pullRequest: null,
      source: 'push',
    },
  });
  for (const { headers, body } of received) {
    const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-platform-signature']))!;
    assert.equal(v1, createHmac('sha256', secret).update(`${t}.${body}`).digest('hex'));
    assert.equal(headers['x-platform-delivery'], JSON.parse(body).id);
    assert.equal(headers['x-platform-event'], JSON.parse(body).type);
  }
});

test('a change that is taken back is not told of', async () => {
  const { id } = await make(['domain.active']);
  const event = { organizationId: control.organizationId, projectId: null, event: 'domain.active' } as const;
  await assert.rejects(
    control.sql.begin(async (tx) => {
      await enqueueEvent(tx, { ...event, data: { hostname: 'gone.example' } });
      throw new Error('taken back');
    }),
    { message: 'taken back' },
  );
  await control.sql.begin((tx) => enqueueEvent(tx, { ...event, data: { hostname: 'kept.example' } }));
  await until(() => received.length === 1);
  assert.deepEqual(JSON.parse(received[0]!.body).data, { hostname: 'kept.example' });
  assert.equal((await deliveries(id)).length, 1);
});

test('a webhook hears of its project and its events alone, and of nothing while it is off', async () => {
  const [mine, other] = [await makeProject(), await makeProject()];
  const { id } = await make(['deployment.created'], { projectId: mine });
  await make(['deployment.failed']);
  await makeDeployment(other);
  const deploymentId = await makeDeployment(mine);
  await until(() => received.length === 1);
  assert.equal(JSON.parse(received[0]!.body).data.deploymentId, deploymentId);
  assert.equal((await control.call('PATCH', `${path()}/${id}`, { enabled: false })).body.enabled, false);
  await makeDeployment(mine);
  assert.equal((await deliveries(id)).length, 1);
});

test('what does not arrive is tried again later, and can be sent again at once', async () => {
  const { id } = await make(['deployment.created']);
  answer = (response) => response.writeHead(503).end('the words of the receiver');
  await makeDeployment(await makeProject());
  const failed = await until(async () =>
    (await deliveries(id)).find(({ status }: { status: unknown }) => status === 503),
  );
  assert.deepEqual([failed.attempt, failed.error, failed.deliveredAt], [1, 'It answered 503', null]);
  const seconds = (Date.parse(failed.nextAttemptAt) - Date.now()) / 1000;
  assert.ok(seconds > 0 && seconds <= 12.5, String(seconds));
  await control.sql`UPDATE control.webhook_delivery SET attempt = 7, due_at = now()`;
  await control.sql`SELECT pg_notify('control_webhook', '')`;
  const last = await until(async () =>
    (await deliveries(id)).find(({ attempt }: { attempt: number }) => attempt === 8),
  );
  const given = await until(async () => {
    const [one] = await deliveries(id);
    return one.nextAttemptAt === null && one;
  });
  assert.deepEqual([last.id, given.attempt], [failed.id, 8]);
  answer = (response) => response.end();
  const again = await control.call('POST', `${path()}/${id}/deliveries/${failed.id}/redeliver`);
  assert.equal(again.status, 202);
  const delivered = await until(async () => {
    const [one] = await deliveries(id);
    return one.deliveredAt !== null && one;
  });
  assert.deepEqual([delivered.status, delivered.error, delivered.nextAttemptAt], [200, null, null]);
  assert.deepEqual(new Set(received.map(({ body }) => JSON.parse(body).id)), new Set([failed.id]));
});

test('a webhook is tried with a ping', async () => {
  const { id } = await make(['deployment.created']);
  const { status, body } = await control.call('POST', `${path()}/${id}/test`);
  assert.equal(status, 202);
  await until(() => received.length === 1);
  assert.equal(received[0]!.headers['x-platform-event'], 'ping');
  assert.equal(JSON.parse(received[0]!.body).id, body.deliveryId);
});

test('a redirect is not followed', async () => {
  answer = (response) => response.writeHead(302, { location: url }).end();
  const result = await sendSigned({ url, secret: 's', id: 'whd_1', event: 'ping', body: '{}', isPrivate: true });
  assert.deepEqual(result, { status: 302, error: 'It answered 302: redirects are not followed' });
  assert.equal(received.length, 1);
});

test('no private address is reached, however it is written or found', async () => {
  const port = new URL(url).port;
  const inside = [
    '127.0.0.1',
    'localhost',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '0.0.0.0',
    '169.254.169.254',
    '10.0.0.1',
    '192.168.1.1',
    '[fd00::1]',
    '[fe80::1]',
    '127.0.0.1.',
  ];
  for (const host of inside) {
    const attempt = {
      url: `https://${host}:${port}/`,
      secret: 's',
      id: 'i',
      event: 'ping',
      body: '{}',
      isPrivate: false,
    };
    const { status, error } = await sendSigned(attempt, () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]));
    assert.deepEqual([status, error], [null, 'The URL must not lead to a private address'], host);
  }
  const named = { url: 'https://hooks.example/', secret: 's', id: 'i', event: 'ping', body: '{}', isPrivate: false };
  for (const address of ['127.0.0.1', '10.1.2.3', '169.254.169.254', '::1', 'fd00::1', '::ffff:10.0.0.1']) {
    const resolve = () => Promise.resolve([{ address, family: address.includes(':') ? 6 : 4 }]);
    const { error } = await sendSigned(named, resolve);
    assert.equal(error, 'The URL must not lead to a private address', address);
  }
  const unknown = Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
  const { error } = await sendSigned(named, () => Promise.reject(unknown));
  assert.equal(error, 'No connection: ENOTFOUND');
  assert.equal(received.length, 0);
});

test('only operators make webhooks to private addresses, and no URL holds a password', async () => {
  const { sql } = control;
  const admin = await control.account('admin', { [control.organizationId]: 'admin' });
  const status = async (body: object, token: string): Promise<number> =>
    (await control.call('POST', path(), { events: ['deployment.created'], ...body }, token)).status;
  assert.equal(await status({ url, allowPrivate: true }, admin.token), 403);
  assert.equal(await status({ url }, admin.token), 400);
  assert.equal(await status({ url: 'https://10.0.0.1/' }, admin.token), 400);
  assert.equal(await status({ url: 'https://user:pass@hooks.example/' }, admin.token), 400);
  assert.equal(await status({ url: 'https://hooks.example/' }, admin.token), 201);
  const member = await control.account('member', { [control.organizationId]: 'member' });
  assert.equal(await status({ url: 'https://hooks.example/' }, member.token), 403);
  const stranger = await control.account('stranger', { [await control.organization('other')]: 'owner' });
  const [webhook] = await sql<{ id: string }[]>`SELECT id FROM control.webhook`;
  for (const [method, suffix] of [
    ['GET', '/deliveries'],
    ['POST', '/test'],
    ['DELETE', ''],
  ] as const)
    assert.equal(
      (await control.call(method, `${path()}/${webhook!.id}${suffix}`, undefined, stranger.token)).status,
      404,
    );
  // Through an organization of one's own, another's webhook is not reached either.
  const [own] = await sql<{ id: string }[]>`SELECT id FROM control.organization WHERE slug = 'other'`;
  const sideways = await control.call('DELETE', `/orgs/${own!.id}/webhooks/${webhook!.id}`, undefined, stranger.token);
  assert.equal(sideways.status, 404);
  const listed = (await control.call('GET', path())).body;
  assert.doesNotMatch(JSON.stringify(listed), /whsec_|secret/);
  assert.equal((await control.call('DELETE', `${path()}/${webhook!.id}`)).status, 204);
});

test('what a signature is made of does not change', () => {
  assert.equal(
    signatureOf('whsec_x', 1, '{}'),
    't=1,v1=36ee2f7498f0c1777d1312b2a7361947fe5ad31223be30d0c62421f4ca753401',
  );
  assert.equal(urlProblem('ftp://hooks.example/', true), 'must begin with https://');
});
