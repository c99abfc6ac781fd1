// Deliveries of the Git host: what is taken, what is refused, and that each counts once.
import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { forgetOld } from '#control/git-host/deliveries.ts';
import { startGitHost as startLoops } from '#control/git-host/start.ts';
import { startConnectedHost, type ConnectedHost } from '#test/setup/connected-host.ts';
import { startControl } from '#test/setup/control.ts';
import { signDelivery } from '#test/setup/git-host-payloads.ts';
import { octokitWebhooks } from '#test/setup/octokit.ts';
import { until } from '#test/setup/until.ts';

let connected: ConnectedHost;
before(async () => {
  connected = await startConnectedHost();
});
after(() => connected.close());

const url = 'http://localhost:4002/webhooks/git-host';
const ping = { zen: 'Keep it logically awesome', hook_id: 1 };

function signed(body: string, more: Record<string, string> = {}): Record<string, string> {
  const signature = createHmac('sha256', connected.host.webhookSecret).update(body).digest('hex');
  return {
    'content-type': 'application/json',
    'x-github-event': 'ping',
    'x-github-delivery': randomUUID(),
    'x-hub-signature-256': `sha256=${signature}`,
    ...more,
  };
}

async function post(
  body: string | ReadableStream<Uint8Array>,
  headers: Record<string, string>,
): Promise<[number, string]> {
  const request = new Request(url, { method: 'POST', headers, body, duplex: 'half' } as RequestInit);
  const response = await connected.control.fetch(request);
  const answer = (await response.json()) as { code?: string; outcome?: string };
  return [response.status, answer.code ?? answer.outcome ?? ''];
}

test('without a secret no delivery is taken', async () => {
  const control = await startControl();
  const { headers, body } = signDelivery('x'.repeat(32), 'ping', ping);
  const response = await control.fetch(new Request(url, { method: 'POST', headers, body }));
  assert.equal(response.status, 503);
  assert.match(((await response.json()) as { message: string }).message, /set GITHOST_WEBHOOK_SECRET/);
  await control.close();
});

test('what the host signs is taken, as octokit signs it too', async () => {
  const body = JSON.stringify({ ...ping, hook_id: 2 });
  const signature = await (await octokitWebhooks(connected.host.webhookSecret)).sign(body);
  assert.deepEqual(await post(body, signed(body, { 'x-hub-signature-256': signature })), [202, 'ignored']);
});

test('a forged, cut or changed delivery is refused, and leaves nothing', async () => {
  const body = JSON.stringify(ping);
  const forged = createHmac('sha256', 'another secret').update(body).digest('hex');
  const refused: [string, Record<string, string>][] = [
    [body, signed(body, { 'x-hub-signature-256': `sha256=${forged}` })],
    [body, signed(body, { 'x-hub-signature-256': '' })],
    [body, signed(body, { 'x-hub-signature-256': `sha1=${'0'.repeat(40)}` })],
    [body, signed(body, { 'x-hub-signature-256': `sha256=${'g'.repeat(64)}` })],
    [body.slice(0, -1), signed(body)],
    [`${body} `, signed(body)],
    ['', signed(body)],
  ];
  const count = async (): Promise<number> => {
    const [row] = await connected.control.sql<{ count: number }[]>`
      SELECT count(*) FROM control.webhook_received`;
    return row!.count;
  };
  const earlier = await count();
  for (const [text, headers] of refused) assert.deepEqual(await post(text, headers), [401, 'signature_invalid']);
  assert.equal(await count(), earlier);
});

test('a delivery of another form is refused', async () => {
  const body = JSON.stringify(ping);
  const form = `payload=${encodeURIComponent(body)}`;
  const cases: [string, Record<string, string>][] = [
    [form, signed(form, { 'content-type': 'application/x-www-form-urlencoded' })],
    [body, signed(body, { 'content-type': '' })],
    [body, signed(body, { 'x-github-event': '' })],
    [body, signed(body, { 'x-github-event': 'PUSH; DROP TABLE' })],
    [body, signed(body, { 'x-github-delivery': '' })],
    [body, signed(body, { 'x-github-delivery': "1' OR 1=1" })],
    ['{', signed('{')],
    ['', signed('')],
    ['null', signed('null')],
    ['[]', signed('[]', { 'x-github-event': 'push' })],
    ['{"ref":"refs/heads/main"}', signed('{"ref":"refs/heads/main"}', { 'x-github-event': 'push' })],
  ];
  for (const [text, headers] of cases) assert.deepEqual(await post(text, headers), [400, 'bad_request'], text);
});

test('a huge delivery is refused before it is read, or as soon as it is too long', async () => {
  const large = 'x'.repeat(1_000_000);
  assert.deepEqual(await post('{}', signed('{}', { 'content-length': '25000001' })), [413, 'payload_too_large']);
  let sent = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += large.length;
      controller.enqueue(Buffer.from(large));
    },
  });
  assert.deepEqual(await post(endless, signed('{}')), [413, 'payload_too_large']);
  assert.ok(sent <= 30_000_000, `${sent} bytes were read`);
  const body = JSON.stringify({ zen: large.repeat(6) });
  assert.deepEqual(await post(body, signed(body)), [413, 'payload_too_large']);
  assert.deepEqual(await post(body, signed(`${body} `)), [401, 'signature_invalid']);
});

test('a delivery counts once, whatever id it comes under', async () => {
  const { projectId, repository } = await connected.connect('once');
  const sha = connected.host.commit(repository, { files: { a: 'a' } });
  const payload = connected.pushBody(repository, 'main', null, sha);
  const delivery = signDelivery(connected.host.webhookSecret, 'push', payload, 'delivery-1');
  assert.deepEqual(await connected.send(delivery), { status: 202, body: { outcome: 'accepted' } });
  assert.deepEqual(await connected.send(delivery), { status: 202, body: { outcome: 'replayed' } });
  await connected.control.sql`UPDATE control.webhook_received SET received_at = received_at - interval '5 s'`;
  const renamed = { ...delivery, headers: { ...delivery.headers, 'x-github-delivery': 'delivery-2' } };
  assert.deepEqual(await connected.send(renamed), { status: 202, body: { outcome: 'replayed' } });
  await connected.work();
  assert.equal((await connected.deployments(projectId)).length, 1);
});

test('a body that came before is not taken as another event, nor after it has been forgotten', async () => {
  const { host, control } = connected;
  const { repository } = await connected.connect('taken-away');
  const isConnected = async (): Promise<boolean> => {
    const rows = await control.sql`
      SELECT 1 FROM control.repository WHERE host_id = ${String(repository.id)} AND disconnected_at IS NULL`;
    return rows.length === 1;
  };
  const body = connected.repositoryEvent(repository, 'deleted', { label: { name: 'bug' } });
  assert.equal((await connected.send(signDelivery(host.webhookSecret, 'label', body))).body.outcome, 'ignored');
  assert.equal((await connected.send(signDelivery(host.webhookSecret, 'repository', body))).body.outcome, 'replayed');
  const gone = connected.repositoryEvent(repository, 'deleted');
  assert.equal((await connected.send(signDelivery(host.webhookSecret, 'repository', gone))).body.outcome, 'accepted');
  await connected.work();
  assert.equal(await isConnected(), false);
  await control.sql`UPDATE control.repository SET disconnected_at = NULL WHERE host_id = ${String(repository.id)}`;
  await control.sql`UPDATE control.webhook_received SET received_at = received_at - interval '91 days'`;
  await forgetOld(control);
  assert.equal((await connected.send(signDelivery(host.webhookSecret, 'repository', gone))).body.outcome, 'replayed');
  await connected.work();
  assert.equal(await isConnected(), true);
});

test('an event that is not known is answered and left alone', async () => {
  const answer = await connected.send(signDelivery(connected.host.webhookSecret, 'watch', { action: 'started' }));
  assert.deepEqual(answer, { status: 202, body: { outcome: 'ignored' } });
});

test('what was taken is worked on by the next process, and what one died over is tried again', async () => {
  const { projectId, repository } = await connected.connect('later');
  const { control, host } = connected;
  const send = async (branch: string, id: string): Promise<void> => {
    const sha = host.commit(repository, { branch, files: { [branch]: 'a' } });
    await connected.send(
      signDelivery(host.webhookSecret, 'push', connected.pushBody(repository, branch, null, sha), id),
    );
  };
  await send('left-behind', 'left-behind');
  // As a process leaves it that dies in the middle.
  await control.sql`UPDATE control.webhook_received SET attempt = 1 WHERE delivery_id = 'left-behind'`;
  startLoops(control.deps);
  await until(async () => (await connected.deployments(projectId)).length === 1);
  await send('while-it-runs', 'while-it-runs');
  await until(async () => (await connected.deployments(projectId)).length === 2);
});
