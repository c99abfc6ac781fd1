// What surrounds every route of the API: ids, versions, errors, rate limits, idempotency keys, sessions and origins.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { createApi } from '#control/api/app.ts';
import { createClientAddress, networkOf } from '#control/http/client-address.ts';
import { sweepApi } from '#control/api/sweep.ts';
import { openSql } from '#postgres/sql.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { withinWindow } from '#test/setup/window.ts';

let control: TestControl;
before(async () => {
  control = await startControl();
});
after(() => control.close());

// oxlint-disable-next-line typescript/no-explicit-any -- whatever the API answered
type Body = any;
const api = createApi();

/** Sends a request as it is. */
async function send(
  path: string,
  init: RequestInit = {},
  deps = control.deps,
): Promise<{ status: number; headers: Headers; body: Body }> {
  const response = await api.fetch(new Request(`http://localhost:4002${path}`, init), deps);
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) };
}

function asOwner(headers: Record<string, string> = {}): Record<string, string> {
  return { authorization: `Bearer ${control.owner.token}`, 'content-type': 'application/json', ...headers };
}

test('every answer has its request id, the version of the API, and is not stored', async () => {
  const { status, headers, body } = await send('/no-such-path', { headers: { 'x-request-id': 'mine-12345' } });
  assert.deepEqual(
    [status, body],
    [404, { message: 'Not found, or you do not have access', code: 'not_found', requestId: 'mine-12345' }],
  );
  assert.equal(headers.get('x-request-id'), 'mine-12345');
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.equal(headers.get('x-platform-api-version'), '2026-11-01');
  const forged = await send('/health', { headers: { 'x-request-id': 'a"b' } });
  assert.match(forged.headers.get('x-request-id')!, /^[\da-f-]{36}$/);
});

test('a database that was killed, or is not there, is said to be away for a moment, rather than a defect', async () => {
  const sql = openSql({ url: control.databaseUrl, name: 'doomed api', connectionsMax: 2 });
  const nowhere = openSql({ url: 'postgres://nobody@127.0.0.1:1/nothing', name: 'lonely api' });
  const expected = {
    message: 'The database of the platform is unavailable: try again',
    code: 'unavailable',
    requestId: 'mine-12345',
  };
  const ask = (deps: typeof control.deps) =>
    send(`/orgs/${control.organizationId}/projects`, { headers: asOwner({ 'x-request-id': 'mine-12345' }) }, deps);
  try {
    // Its statements are under way when their server goes.
    const slow = [sql`SELECT pg_sleep(60)`, sql`SELECT pg_sleep(60)`].map((each) => each.catch(() => {}));
    const started = async (): Promise<boolean> =>
      (
        await control.sql`
          SELECT FROM pg_stat_activity WHERE application_name = 'doomed api' AND wait_event = 'PgSleep'`
      ).length === 2;
    while (!(await started()));
    const asked = ask({ ...control.deps, sql });
    await control.sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'doomed api'`;
    await Promise.all(slow);
    const killed = await asked;
    // A connection that was made meanwhile answers it.
    if (killed.status !== 200) assert.deepEqual([killed.status, killed.body], [503, expected]);
    const away = await ask({ ...control.deps, sql: nowhere });
    assert.deepEqual([away.status, away.body, away.headers.get('retry-after')], [503, expected, '1']);
    assert.equal((await ask({ ...control.deps, sql })).status, 200);
  } finally {
    await Promise.all([sql.end({ timeout: 1 }), nowhere.end({ timeout: 1 })]);
  }
});

test('a version of the API before its first is refused', async () => {
  const old = await send('/health', { headers: { 'x-platform-api-version': '2020-01-01' } });
  assert.deepEqual([old.status, old.body.code], [400, 'bad_request']);
  assert.equal((await send('/health', { headers: { 'x-platform-api-version': '2027-01-01' } })).status, 200);
});

test('nothing of a body is read before it is known who asks', async () => {
  const huge = await send('/projects', { method: 'POST', body: 'x'.repeat(2_000_000) });
  assert.equal(huge.status, 401);
  const { status, body } = await send('/projects', { method: 'POST', body: 'x'.repeat(2_000_000), headers: asOwner() });
  assert.deepEqual(
    [status, body.code, body.message],
    [413, 'payload_too_large', 'The body is larger than 1048576 bytes'],
  );
});

test('what a schema refuses is 400 with the place, without values', async () => {
  const { status, body } = await send('/projects', {
    method: 'POST',
    headers: asOwner(),
    body: JSON.stringify({ name: 7, organizationId: control.organizationId }),
  });
  assert.deepEqual([status, body.code, body.issues[0].path], [400, 'bad_request', ['name']]);
  assert.equal((await send('/projects', { method: 'POST', headers: asOwner(), body: '{' })).status, 400);
  const text = await send('/projects', {
    method: 'POST',
    headers: asOwner({ 'content-type': 'text/plain' }),
    body: '{}',
  });
  assert.deepEqual([text.status, text.body.code], [415, 'unsupported_media_type']);
});

test('a request under an idempotency key is done once and answered alike', async () => {
  const body = JSON.stringify({ name: 'once', organizationId: control.organizationId });
  const init = { method: 'POST', headers: asOwner({ 'idempotency-key': 'key-1' }), body };
  const first = await send('/projects', init);
  const second = await send('/projects', init);
  assert.deepEqual([first.status, second.status], [201, 201]);
  assert.deepEqual(second.body, first.body);
  assert.equal(second.headers.get('idempotency-replayed'), 'true');
  const other = JSON.stringify({ name: 'another', organizationId: control.organizationId });
  const reused = await send('/projects', { ...init, body: other });
  assert.deepEqual([reused.status, reused.body.code], [422, 'idempotency_mismatch']);
  const [kept] = await control.sql<{ body: string }[]>`SELECT body FROM control.idempotency WHERE key = 'key-1'`;
  assert.doesNotMatch(Buffer.from(kept!.body, 'base64').toString('latin1'), /once/);
});

test('a second request under a key waits for the first to end', async () => {
  const body = JSON.stringify({ name: 'twice', organizationId: control.organizationId });
  const init = { method: 'POST', headers: asOwner({ 'idempotency-key': 'key-2' }), body };
  const answers = await Promise.all([send('/projects', init), send('/projects', init), send('/projects', init)]);
  const codes = answers.map((answer) => answer.body.code ?? answer.status);
  assert.ok(codes.includes(201), String(codes));
  assert.ok(
    codes.every((code) => code === 201 || code === 'idempotency_running'),
    String(codes),
  );
  const rows = await control.sql`SELECT 1 FROM control.project WHERE name = 'twice'`;
  assert.equal(rows.length, 1);
});

test('requests beyond the limit are refused until the window ends', async () => {
  const deps = { ...control.deps, limits: { ...defaultLimits.control, requestsPerMinute: 2 } };
  const answers = await withinWindow(60, async (round) => {
    const someone = await control.account(`busy${round}`);
    const init = { headers: { authorization: `Bearer ${someone.token}` } };
    const found = [];
    for (let count = 0; count < 3; count++) found.push(await send('/health', init, deps));
    return found;
  });
  assert.deepEqual(
    answers.slice(0, 2).map(({ status }) => status),
    [200, 200],
  );
  const { status, headers, body } = answers[2]!;
  assert.deepEqual([status, body.code], [429, 'rate_limited']);
  assert.match(headers.get('retry-after')!, /^[1-9]\d?$/);
  assert.deepEqual([headers.get('ratelimit-limit'), headers.get('ratelimit-remaining')], ['2', '0']);
});

test('nobody is counted by address, of IPv6 by network', async () => {
  const parts = {
    ...control.deps,
    limits: { ...defaultLimits.control, anonymousRequestsPerMinute: 1 },
    clientAddress: (request: Request) => request.headers.get('x-test-address'),
  };
  const statuses = await withinWindow(60, async (round) => {
    const found = [];
    for (const host of ['2::1', '2::2', '3::1'])
      found.push(await send('/health', { headers: { 'x-test-address': `2001:db8:${round}:${host}` } }, parts));
    return found.map(({ status }) => status);
  });
  assert.deepEqual(statuses, [200, 429, 200]);
});

test("a session's cookie works for our own pages only", async () => {
  const signedIn = { accountId: control.owner.accountId, tokenId: null };
  const deps = { ...control.deps, findSession: () => Promise.resolve(signedIn) };
  const change = (headers: Record<string, string>) =>
    send(
      '/projects',
      {
        method: 'POST',
        headers: { cookie: 'platform-session=x', 'content-type': 'application/json', ...headers },
        body: '{}',
      },
      deps,
    );
  assert.equal((await change({})).body.code, 'origin_forbidden');
  assert.equal((await change({ origin: 'https://evil.example' })).body.code, 'origin_forbidden');
  assert.equal((await change({ origin: 'null' })).body.code, 'origin_forbidden');
  assert.equal((await change({ 'sec-fetch-site': 'cross-site' })).body.code, 'origin_forbidden');
  assert.equal((await change({ origin: 'http://localhost:3002' })).body.code, 'bad_request');
});

test('the address of a client is what trusted proxies say, and no further', () => {
  const behind = createClientAddress(['10.0.0.0/8']);
  const request = (ip: string, forwarded: string) =>
    Object.assign(new Request('http://localhost/', { headers: { 'x-forwarded-for': forwarded } }), { ip });
  assert.equal(behind(request('10.0.0.1', '198.51.100.9, 192.0.2.7, 10.0.0.2')), '192.0.2.7');
  assert.equal(behind(request('192.0.2.1', '198.51.100.9')), '192.0.2.1');
  assert.equal(behind(request('10.0.0.1', 'nonsense')), '10.0.0.1');
  assert.equal(createClientAddress([])(request('::ffff:192.0.2.1', '198.51.100.9')), '192.0.2.1');
  assert.deepEqual([networkOf('2001:db8::1'), networkOf('192.0.2.1')], ['2001:db8:0:0', '192.0.2.1']);
});

test('the description names the access of each route, and the page shows it', async () => {
  const { body } = await send('/openapi.json');
  assert.deepEqual(body.paths['/projects/{id}'].get.security, [
    { token: ['project:read'] },
    { session: ['project:read'] },
  ]);
  assert.equal(body.paths['/projects/{id}'].get['x-subject'], 'project');
  assert.deepEqual(Object.keys(body.components.securitySchemes), ['token', 'session']);
  const page = await api.fetch(new Request('http://localhost:4002/docs'), control.deps);
  assert.equal(page.status, 200);
  assert.match(page.headers.get('content-type')!, /^text\/html/);
});

test('what was kept for a while is forgotten', async () => {
  await control.sql`
    INSERT INTO control.idempotency (actor, key, request, created_at)
    VALUES ('old', 'old', decode('00', 'hex'), now() - interval '2 days'), ('old', 'new', decode('00', 'hex'), now())`;
  await control.sql`
    INSERT INTO control.rate (key, window_start, count) VALUES ('api:old', now() - interval '1 hour', 1)`;
  await sweepApi(control.deps);
  assert.equal((await control.sql`SELECT 1 FROM control.idempotency WHERE actor = 'old'`).length, 1);
  assert.equal((await control.sql`SELECT 1 FROM control.rate WHERE key = 'api:old'`).length, 0);
});
