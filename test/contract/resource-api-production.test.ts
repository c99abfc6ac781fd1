// The API over bindings, answered by engines and asked through the control plane; who may, and what the audit log says.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createApi } from '#control/api/app.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { startReleaseControl, type ReleaseControl } from '#test/setup/release-control.ts';
import { openSandboxService } from '#control/process/sandbox-service.ts';
import { startTestSandboxService, type TestSandboxService } from '#test/setup/sandbox-service.ts';
import { until } from '#test/setup/until.ts';
import { keepsToResourceApi, resourceProject, type AskResourceApi } from './resource-api.ts';

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let all: ReleaseControl;
let service: TestSandboxService;
let hop: NonNullable<ReturnType<typeof openSandboxService>>;
let projectId: string;
const api = createApi();
before(async () => {
  database = await createTestDatabase();
  service = await startTestSandboxService();
  hop = openSandboxService(service.address, 'https://*.apps.example.net')!;
  const environment = {
    DATABASE_URL: database.url,
    DELIVERY_RETRIES: '1',
    DELIVERY_BACKOFF_MS: '1',
    DELIVERY_BACKOFF_MS_MAX: '1',
  };
  all = await startReleaseControl(environment, { sandboxes: hop });
  projectId = await all.project('shop');
  const { 'src/index.ts': code, 'platform.yaml': yaml, ...files } = resourceProject;
  const { status, error_message: reason } = await all.deploy(projectId, { code, yaml, files });
  assert.equal(status, 'success', reason ?? '');
});
after(async () => {
  await all.close();
  await hop.close();
  await service.close();
  await database.close();
});

const asked =
  (token: () => string): AskResourceApi =>
  async (method, path, body) => {
    const isFile = body instanceof Uint8Array;
    const answer = await api.fetch(
      new Request(`http://api/projects/${projectId}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token()}`,
          ...(body !== undefined && { 'content-type': isFile ? 'text/html' : 'application/json' }),
        },
        ...(body !== undefined && { body: isFile ? Buffer.from(body) : JSON.stringify(body) }),
      }),
      all.control.parts,
    );
    const bytes = Buffer.from(await answer.arrayBuffer());
    const isJson = answer.headers.get('content-type')?.includes('json') === true;
    return {
      status: answer.status,
      headers: answer.headers,
      bytes,
      body: isJson ? JSON.parse(bytes.toString()) : undefined,
    };
  };
const ask = asked(() => all.control.owner.token);

keepsToResourceApi(ask, {
  fetch: (path) => all.platform.fetch('shop', path),
  listsCaches: false,
  open: async (method, path, { headers, ...given } = {}) =>
    api.fetch(
      new Request(`http://api/projects/${projectId}${path}`, {
        method,
        headers: { authorization: `Bearer ${all.control.owner.token}`, ...headers },
        ...given,
      }),
      all.control.parts,
    ),
});

test('a change needs the permission to write, and leaves a row that has names and no values', async () => {
  const viewer = await all.control.account('vic', { [all.control.organizationId]: 'viewer' });
  const asViewer = asked(() => viewer.token);
  assert.equal((await asViewer('GET', '/databases/DB/rows?table=guests')).status, 403);
  const { body: made } = await all.control.call('POST', '/tokens', { name: 'look', scope: 'read', projectId });
  const asReader = asked(() => made.token);
  assert.equal((await asReader('GET', '/databases/DB/rows?table=guests')).status, 200);
  assert.equal((await asReader('POST', '/databases/DB/explain', { sql: 'SELECT 1' })).status, 200);
  for (const [method, path, body] of [
    ['POST', '/databases/DB/query', { sql: 'SELECT 1' }],
    ['POST', '/databases/DB/copies', undefined],
    ['POST', '/queues/JOBS/redrive', undefined],
    ['DELETE', '/state/KV/entry?key=x', undefined],
    ['POST', '/users', { email: 'a@example.org' }],
  ] as const)
    assert.equal((await asReader(method, path, body)).status, 403, path);
  await ask('POST', '/databases/DB/query', { sql: "UPDATE guests SET name = 'hunter2' WHERE id = 1 AND name <> ''''" });
  await ask('POST', '/databases/DB/query', { sql: 'SELECT 1' });
  await ask('PUT', '/state/KV/entry?key=secret', { value: 'hunter2' });
  const rows = await all.control.sql<{ action: string; details: Record<string, unknown> }[]>`
    SELECT action, details FROM control.audit_event WHERE action IN ('data.db.query', 'data.state.put')
    ORDER BY seq DESC LIMIT 2`;
  assert.deepEqual(
    rows.map(({ action, details: { accountId: _by, ...details } }) => [action, details]),
    [
      ['data.state.put', { target: 'production', name: 'secret' }],
      ['data.db.query', { target: 'production', statement: 'UPDATE guests SET name = ? WHERE id = ? AND name <> ?' }],
    ],
  );
  assert.equal((await ask('GET', '/databases/DB/rows?table=guests&branch=none')).status, 400);
});

test('calls for sandboxes need their permission, and leave names, not commands; a preview has its own', async () => {
  const { body: made } = await all.control.call('POST', '/tokens', { name: 'look at boxes', scope: 'read', projectId });
  const asReader = asked(() => made.token);
  const box = '/sandboxes/BOX/audited';
  const run = { command: 'echo hunter2', env: { KEY: 'hunter2' } };
  assert.equal((await asReader('POST', `${box}/exec`, run)).status, 403);
  assert.equal((await asReader('GET', '/sandboxes/BOX')).status, 200);
  assert.equal((await asReader('DELETE', box)).status, 403);
  assert.equal((await ask('POST', `${box}/exec`, run)).body.stdout, 'hunter2\n');
  assert.equal((await ask('GET', `${box}/files`)).status, 200);
  await ask('PUT', `${box}/files/content?path=a/b`, Buffer.from('hunter2'));
  assert.equal((await ask('POST', `${box}/snapshot?snapshot=kept`)).status, 200);
  assert.equal((await ask('POST', `${box}/ports`, { port: 8080, auth: 'public' })).status, 200);
  assert.equal((await ask('DELETE', `${box}/ports/8080`)).status, 204);
  for (const [method, path, body] of [
    ['PUT', box, {}],
    ['POST', `${box}/snapshot`, undefined],
    ['POST', `${box}/fork?to=other`, undefined],
    ['DELETE', '/sandbox-snapshots/BOX/kept', undefined],
    ['POST', `${box}/ports`, { port: 8080 }],
    ['DELETE', `${box}/ports/8080`, undefined],
  ] as const)
    assert.equal((await asReader(method, path, body)).status, 403, `${method} ${path}`);
  assert.equal((await asReader('GET', '/sandbox-snapshots/BOX')).status, 200);
  assert.equal((await asReader('GET', `${box}/ports`)).status, 200);
  assert.equal((await ask('DELETE', '/sandbox-snapshots/BOX/kept')).status, 204);
  assert.equal((await ask('POST', `${box}/exec`, { command: 'x', cwd: 'none' })).status, 404);
  const gone = new AbortController();
  const lost = api.fetch(
    new Request(`http://api/projects/${projectId}${box}/exec`, {
      method: 'POST',
      headers: { authorization: `Bearer ${all.control.owner.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ command: 'echo > began; sleep 60' }),
      signal: gone.signal,
    }),
    all.control.parts,
  );
  await until(async () => (await ask('GET', `${box}/files/content?path=began`)).status === 200);
  gone.abort();
  await lost;
  const rows = await all.control.sql<{ action: string; subject: string; details: Record<string, unknown> }[]>`
    SELECT action, subject_kind || ' ' || subject_id AS subject, details FROM control.audit_event
    WHERE action LIKE 'data.sandbox.%' AND details->>'name' = 'audited' ORDER BY seq`;
  assert.deepEqual(
    rows.map(({ action, subject, details: { accountId: _by, ...details } }) => [action, subject, details]),
    [
      ['data.sandbox.exec', 'sandbox BOX', { target: 'production', name: 'audited' }],
      ['data.sandbox.writeFile', 'sandbox BOX', { target: 'production', name: 'audited', path: 'a/b' }],
      ['data.sandbox.snapshot', 'sandbox BOX', { target: 'production', name: 'audited', snapshot: 'kept' }],
      [
        'data.sandbox.exposePort',
        'sandbox BOX',
        { target: 'production', name: 'audited', port: '8080', auth: 'public' },
      ],
      ['data.sandbox.unexposePort', 'sandbox BOX', { target: 'production', name: 'audited', port: '8080' }],
      ['data.sandbox.exec', 'sandbox BOX', { target: 'production', name: 'audited' }],
    ],
  );
  const { 'src/index.ts': code, 'platform.yaml': yaml, ...files } = resourceProject;
  const { status } = await all.deploy(projectId, { code: `${code}\n// preview`, yaml, files }, 'feature/Boxes');
  assert.equal(status, 'success');
  const preview = `${box}/exec?branch=${encodeURIComponent('feature/Boxes')}`;
  assert.equal((await ask('POST', preview, { command: 'ls' })).body.stdout, '');
  assert.match(service.asked.at(-1)!, /^\/v1\/projects\/shop\/sandboxes\/boxes~~feature-boxes[^/]*\/audited\/exec$/);
});

test('without a sandbox service calls say which variables name it', async () => {
  const parts = { ...all.control.parts, sandboxes: null };
  const answer = await api.fetch(
    new Request(`http://api/projects/${projectId}/sandboxes/BOX`, {
      headers: { authorization: `Bearer ${all.control.owner.token}` },
    }),
    parts,
  );
  const { code, message } = (await answer.json()) as Record<string, string>;
  assert.deepEqual(
    [answer.status, code, message],
    [
      503,
      'binding_unavailable',
      'sandbox bindings are not available: no sandbox service is set (SANDBOX_URL with SANDBOX_AUTH_TOKEN)',
    ],
  );
});
