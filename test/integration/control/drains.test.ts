// Log drains: what a project writes arrives at its targets, whole and in order, also when the target or the API was
// away in between, and never at a private address of somebody who is no operator.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { AwsClient } from 'aws4fetch';
import { defaultLimits } from '#core/limits.ts';
import { openLog } from '#core/log/log.ts';
import type { LineRecord } from '#core/telemetry.ts';
import { runDrains } from '#control/drains/deliver.ts';
import { newDeploymentId, newId } from '#control/records/ids.ts';
import { createTelemetryStore } from '#control/telemetry/store.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { openHttpReceiver, type HttpReceiver } from '#test/setup/http-receiver.ts';
import { startS3Server, type S3Server } from '#test/setup/s3-server.ts';
import { until } from '#test/setup/until.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- what the API answered
type Json = any;

let control: TestControl;
let receiver: HttpReceiver;
let s3: S3Server;
let project: { readonly id: string; readonly name: string };
/** What the loop could not do. */
let troubles: string[] = [];
let api: { stop(): Promise<void> };

before(async () => {
  control = await startControl({ limits: { ...defaultLimits.control, requestsPerMinute: 1_000_000 } });
  await control.sql`UPDATE control.account SET is_admin = true WHERE id = ${control.owner.accountId}`;
  s3 = await startS3Server();
});
after(async () => {
  await control.close();
  await s3.close();
});
beforeEach(async () => {
  troubles = [];
  receiver = await openHttpReceiver();
  const id = newId('project');
  project = { id, name: `p${id.slice(4, 14)}` };
  await control.sql`
    INSERT INTO control.project (id, organization_id, name) VALUES (${id}, ${control.organizationId}, ${project.name})`;
  api = startApi();
});
afterEach(async () => {
  await api.stop();
  await receiver.goAway();
  await control.sql`DELETE FROM control.log_drain`;
  assert.deepEqual(troubles, []);
});

/** The loop of one API process, over the database of this test. */
function startApi(limits: object = {}): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const deps = {
    ...control.deps,
    stopping: stopping.signal,
    log: openLog('api', {}, { write: (text) => void (/"level":"?(?:error|50)/.test(text) && troubles.push(text)) }),
    limits: { ...control.deps.limits, ...limits },
  };
  const done = runDrains(deps);
  return {
    stop() {
      stopping.abort();
      return done;
    },
  };
}

const drainsPath = (): string => `/projects/${project.id}/drains`;

async function makeDrain(more: object = {}): Promise<Json> {
  const target = { kind: 'http', url: `${receiver.url}/in` };
  const { status, body } = await control.call('POST', drainsPath(), {
    name: 'all',
    target,
    allowPrivate: true,
    ...more,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

const readDrain = async (): Promise<Json> => (await control.call('GET', drainsPath())).body[0];

/** Puts lines where the collector of telemetry puts them. */
async function write(texts: readonly string[], more: Partial<LineRecord> = {}): Promise<void> {
  const deployment = newDeploymentId();
  const records = texts.map((text) =>
    JSON.stringify({
      record: 'line',
      project: project.name,
      deployment,
      at: Date.now(),
      level: 'info',
      text,
      kind: 'http',
      route: '/',
      invocation: 'i1',
      traceId: null,
      ...more,
    }),
  );
  await createTelemetryStore({ sql: control.sql }).keep({ id: newId('upload'), records: records.join('\n'), lost: 0 });
}

const textsOf = (body: string): string[] =>
  body
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as Json).text);
const received = (): string[] => receiver.received.flatMap(({ body }) => textsOf(body));

test('lines arrive in order as NDJSON, compressed, under the headers of the drain', async () => {
  const headers = { authorization: 'Bearer t0p', 'DD-Source': 'shop' };
  const made = await makeDrain({ target: { kind: 'http', url: `${receiver.url}/in`, gzip: true, headers } });
  assert.deepEqual(made.target, {
    kind: 'http',
    url: `${receiver.url}/in`,
    format: 'ndjson',
    gzip: true,
    headers: ['authorization', 'dd-source'],
  });
  await write(['one', 'two', 'three']);
  await until(() => received().length >= 3);
  assert.deepEqual(received(), ['one', 'two', 'three']);
  const [first] = receiver.received;
  assert.equal(first!.method, 'POST');
  assert.equal(first!.headers.authorization, 'Bearer t0p');
  assert.equal(first!.headers['dd-source'], 'shop');
  assert.equal(first!.headers['content-encoding'], 'gzip');
  assert.equal(first!.headers['content-type'], 'application/x-ndjson');
  const [line] = first!.body.split('\n').map((text) => JSON.parse(text || 'null') as Json);
  assert.deepEqual(Object.keys(line), [
    'id',
    'at',
    'level',
    'text',
    'deploymentId',
    'branch',
    'kind',
    'route',
    'invocation',
    'traceId',
    'project',
  ]);
  assert.equal(line.project, project.name);
  const shown = await until(async () => {
    const drain = await readDrain();
    return drain.deliveredLines === 3 && drain;
  });
  assert.deepEqual([shown.state, shown.error], ['on', null]);
  assert.equal(JSON.stringify(shown).includes('t0p'), false);
  const [row] = await control.sql<{ secret: Buffer }[]>`SELECT secret FROM control.log_drain`;
  assert.equal(row!.secret.includes('t0p'), false);
});

test('an array of JSON is sent where that is asked for', async () => {
  await makeDrain({ target: { kind: 'http', url: receiver.url, format: 'json' } });
  await write(['one', 'two']);
  await until(() => receiver.received.length > 0);
  assert.equal(receiver.received[0]!.headers['content-type'], 'application/json');
  assert.deepEqual(
    (JSON.parse(receiver.received[0]!.body) as Json[]).map(({ text }) => text),
    ['one', 'two'],
  );
});

test('only lines that a drain is for are sent, those before it was made are not', async () => {
  await write(['before']);
  await makeDrain({ level: 'warn', kinds: ['queue'] });
  await write(['quiet'], { kind: 'queue' });
  await write(['of a request'], { level: 'error' });
  await write(['outside'], { level: 'error', kind: null, invocation: null });
  await write(['wanted'], { level: 'warn', kind: 'queue' });
  await until(() => received().length > 0);
  await write(['last'], { level: 'error', kind: 'queue' });
  await until(() => received().length > 1);
  assert.deepEqual(received(), ['wanted', 'last']);
});

test('a batch is bounded by lines and bytes, and a line that is longer goes alone', async () => {
  await api.stop();
  await makeDrain();
  const long = 'x'.repeat(1024 * 1024);
  await write(['a', 'b', 'c', 'd', 'e'.repeat(600), long, 'f']);
  api = startApi({ drainLinesMax: 3, drainBytesMax: 500 });
  await until(() => received().length >= 7);
  const batches = receiver.received.map(({ body }) => textsOf(body));
  assert.deepEqual(batches, [['a', 'b', 'c'], ['d'], ['e'.repeat(600)], [long], ['f']]);
});

test('a receiver that was down gets everything when it is up, also by another API process', async () => {
  await makeDrain();
  await write(['one']);
  await until(() => received().length === 1);
  await receiver.goAway();
  await write(['two', 'three']);
  const failing = await until(async () => {
    const drain = await readDrain();
    return drain.state === 'retrying' && drain;
  });
  assert.equal(failing.error, 'No connection: ECONNREFUSED');
  assert.ok(Date.parse(failing.nextAttemptAt) > Date.now());
  await api.stop();
  await write(['four']);
  await receiver.comeBack();
  api = startApi();
  await control.sql`UPDATE control.log_drain SET next_at = now()`;
  await write(['five']);
  await until(() => received().includes('five'));
  assert.deepEqual(received(), ['one', 'two', 'three', 'four', 'five']);
  assert.equal((await until(async () => (await readDrain()).state === 'on' && readDrain())).failures, 0);
});

test('a batch that was under way when the API process ended is sent again', async () => {
  await api.stop();
  const drain = await makeDrain();
  await write(['one']);
  // Claimed by a process that is gone.
  await control.sql`
    UPDATE control.log_drain SET lease = 'gone', lease_until = now() - interval '1 second' WHERE id = ${drain.id}`;
  api = startApi();
  await until(() => received().length === 1);
  assert.deepEqual(received(), ['one']);
});

test('two API processes send each line once', async () => {
  await makeDrain();
  const other = startApi();
  const texts = Array.from({ length: 50 }, (_, at) => String(at));
  for (const text of texts) await write([text]);
  await until(async () => (await readDrain()).deliveredLines === 50);
  assert.deepEqual(received(), texts);
  await other.stop();
});

test('after ten attempts in a row a drain pauses and says why, and goes on where it stood', async () => {
  const { id } = await makeDrain();
  await control.sql`UPDATE control.log_drain SET failures = 9`;
  receiver.answer = (response) => response.writeHead(500).end('its own words');
  await write(['one']);
  const paused = await until(async () => {
    const drain = await readDrain();
    return drain.state === 'paused' && drain;
  });
  assert.deepEqual([paused.error, paused.nextAttemptAt], ['It answered 500', null]);
  receiver.answer = (response) => response.end();
  const resumed = await control.call('PATCH', `${drainsPath()}/${id}`, { enabled: true });
  assert.deepEqual([resumed.body.state, resumed.body.error], ['on', null]);
  await until(async () => (await readDrain()).deliveredLines === 1);
  assert.deepEqual(received(), ['one', 'one']);
});

test('a drain that is off sends nothing, and then what came meanwhile', async () => {
  const { id } = await makeDrain();
  assert.equal((await control.call('PATCH', `${drainsPath()}/${id}`, { enabled: false })).body.state, 'off');
  await write(['one']);
  const watched = await openHttpReceiver();
  await makeDrain({ name: 'other', target: { kind: 'http', url: watched.url } });
  await write(['two']);
  await until(() => watched.received.length > 0);
  assert.deepEqual(received(), []);
  await control.call('PATCH', `${drainsPath()}/${id}`, { enabled: true });
  await until(() => received().length === 2);
  assert.deepEqual(received(), ['one', 'two']);
  await watched.goAway();
});

test('objects in a bucket hold all lines once, by project and hour, also when one is put again', async () => {
  const { endpoint, bucket, region, accessKeyId, secretAccessKey } = s3;
  const prefix = `logs/${project.name.slice(0, 4)}`;
  const made = await makeDrain({
    target: { kind: 's3', endpoint, bucket, region, prefix, accessKeyId, secretAccessKey },
  });
  assert.deepEqual(made.target, { kind: 's3', endpoint, bucket, region, prefix });
  await write(['one', 'two']);
  await until(async () => (await readDrain()).deliveredLines === 2);
  // As if the process had ended before it noted the batch.
  const [line] = await control.sql<{ seq: number }[]>`
    SELECT min(seq) AS seq FROM control.log_line WHERE project_id = ${project.id}`;
  await api.stop();
  await control.sql`UPDATE control.log_drain SET cursor = ${line!.seq - 1}, delivered_lines = 0, next_at = now()`;
  await write(['three']);
  api = startApi();
  await until(async () => (await readDrain()).deliveredLines === 3);
  const client = new AwsClient({ accessKeyId, secretAccessKey, region, service: 's3' });
  const listed = await (await client.fetch(`${endpoint}/${bucket}?list-type=2&prefix=${prefix}/`)).text();
  const keys = [...listed.matchAll(/<Key>([^<]+)<\/Key>/g)].map(([, key]) => key!);
  assert.equal(keys.length, 1);
  assert.match(
    keys[0]!,
    new RegExp(`^${prefix}/${project.name}/\\d{4}/\\d\\d/\\d\\d/\\d\\d/\\d{15}-${made.id}\\.ndjson\\.gz$`),
  );
  const body = await (await client.fetch(`${endpoint}/${bucket}/${keys[0]!}`)).text();
  assert.deepEqual(textsOf(body), ['one', 'two', 'three']);
});

test('a key that storage does not know is said as what storage answers', async () => {
  const { endpoint, bucket, region } = s3;
  const target = { kind: 's3', endpoint, bucket, region, accessKeyId: 'NOBODY', secretAccessKey: 'wrong' };
  const { id } = await makeDrain({ target });
  const { body } = await control.call('POST', `${drainsPath()}/${id}/test`);
  assert.deepEqual(body, { ok: false, status: 403, error: 'It answered 403' });
});

test('a test sends one line and says what came of it', async () => {
  const { id } = await makeDrain();
  const tested = await control.call('POST', `${drainsPath()}/${id}/test`);
  assert.deepEqual(tested.body, { ok: true, status: 200, error: null });
  assert.deepEqual(received(), ['A test of this log drain']);
  receiver.answer = (response) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end();
  const redirected = await control.call('POST', `${drainsPath()}/${id}/test`);
  assert.deepEqual(redirected.body, {
    ok: false,
    status: 302,
    error: 'It answered 302: redirects are not followed',
  });
});

test('a target that answers without end, or nothing, holds up no other drain', async (t) => {
  const endless = createServer((request, response) => {
    request.resume();
    const pour = (): void => {
      while (response.writable && response.write(Buffer.alloc(64 * 1024))) {
        // Until it is full.
      }
    };
    response
      .writeHead(200)
      .on('drain', pour)
      .on('error', () => {});
    pour();
  }).listen(0, '127.0.0.1');
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  t.after(() => {
    for (const server of [endless, silent]) {
      server.closeAllConnections();
      server.close();
    }
  });
  await Promise.all([once(endless, 'listening'), once(silent, 'listening')]);
  const urlOf = (server: typeof silent): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await makeDrain({ name: 'silent', target: { kind: 'http', url: urlOf(silent) } });
  await makeDrain({ name: 'endless', target: { kind: 'http', url: urlOf(endless) } });
  await write(['one']);
  await until(async () => {
    const { body } = await control.call('GET', drainsPath());
    return (body as Json[]).find(({ name }) => name === 'endless').deliveredLines === 1;
  });
  const failed = await until(async () => {
    const drain = await readDrain();
    return drain.state === 'retrying' && drain;
  });
  assert.equal(failed.error, 'No answer within 10 s');
});

test('only operators lead drains to private addresses, and nobody to what names one', async () => {
  const admin = await control.account(`admin-${project.name}`, { [control.organizationId]: 'admin' });
  const member = await control.account(`member-${project.name}`, { [control.organizationId]: 'member' });
  const make = (target: object, more: object = {}, token = admin.token) =>
    control.call('POST', drainsPath(), { name: 'x', target, ...more }, token);
  const http = (url: string, more: object = {}) => ({ kind: 'http', url, ...more });
  assert.equal((await make(http('https://logs.example/'), {}, member.token)).status, 403);
  assert.equal((await make(http(receiver.url), { allowPrivate: true })).status, 403);
  const refused = [
    [http(receiver.url), 'body.target.url: must begin with https://'],
    [http('https://10.0.0.1/'), 'body.target.url: must not lead to a private address'],
    [http('https://[::ffff:127.0.0.1]/'), 'body.target.url: must not lead to a private address'],
    [http('https://a:b@logs.example/'), 'body.target.url: must not hold a user or a password'],
    [http('https://x.example/', { headers: { Host: 'y' } }), 'body.target.headers: Host is set by the platform'],
    [http('https://x.example/', { headers: { 'a b': 'y' } }), 'body.target.headers: "a b" is not a valid name'],
    [
      { ...s3, close: undefined, kind: 's3', endpoint: 'https://169.254.169.254' },
      'body.target.endpoint: must not lead to a private address',
    ],
  ] as const;
  for (const [target, message] of refused) {
    const { status, body } = await make(target);
    assert.deepEqual([status, body.message], [400, message]);
  }
  // A name is looked up when it is connected to.
  const { status, body } = await make(http('https://localhost/'));
  assert.equal(status, 201);
  const tested = await control.call('POST', `${drainsPath()}/${body.id}/test`);
  assert.deepEqual(tested.body, { ok: false, status: null, error: 'The URL must not lead to a private address' });
  const stranger = await control.account(`s-${project.name}`, { [await control.organization(project.name)]: 'owner' });
  assert.equal((await control.call('GET', drainsPath(), undefined, stranger.token)).status, 404);
  assert.equal((await control.call('DELETE', `${drainsPath()}/${body.id}`, undefined, stranger.token)).status, 404);
  assert.equal((await control.call('DELETE', `${drainsPath()}/${body.id}`)).status, 204);
});

test('a project has a bounded number of drains', async () => {
  const { drainsMax } = control.deps.limits;
  for (let count = 0; count < drainsMax; count++) await makeDrain();
  const { status, body } = await control.call('POST', drainsPath(), {
    name: 'x',
    target: { kind: 'http', url: 'https://logs.example/' },
  });
  assert.deepEqual([status, body.message], [409, `Limit of log drains reached: ${drainsMax}`]);
});
