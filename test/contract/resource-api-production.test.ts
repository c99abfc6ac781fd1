// The API over bindings, answered by engines and asked through the control plane; who may, and what the audit log says.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createApi } from '#control/api/app.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { startReleaseControl, type ReleaseControl } from '#test/setup/release-control.ts';
import { keepsToResourceApi, resourceProject, type AskResourceApi } from './resource-api.ts';

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let all: ReleaseControl;
let projectId: string;
const api = createApi();
before(async () => {
  database = await createTestDatabase();
  all = await startReleaseControl({
    DATABASE_URL: database.url,
    DELIVERY_RETRIES: '1',
    DELIVERY_BACKOFF_MS: '1',
    DELIVERY_BACKOFF_MS_MAX: '1',
  });
  projectId = await all.project('shop');
  const { 'src/index.ts': code, 'platform.yaml': yaml, ...files } = resourceProject;
  const { status, error_message: reason } = await all.deploy(projectId, { code, yaml, files });
  assert.equal(status, 'success', reason ?? '');
});
after(async () => {
  await all.close();
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

keepsToResourceApi(ask, { fetch: (path) => all.platform.fetch('shop', path), listsCaches: false });

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
