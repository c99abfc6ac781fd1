// The API over bindings, answered by engines and asked through the control plane; who may, and what the audit log says.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startResourceApi, type TestResourceApi } from '#test/setup/resource-api.ts';
import { keepsToResourceApi, resourceProject } from './resource-api.ts';

let it: TestResourceApi;
before(async () => {
  it = await startResourceApi(resourceProject);
});
after(() => it.close());

keepsToResourceApi((...asked) => it.ask(...asked), {
  fetch: (path) => it.all.platform.fetch('shop', path),
  listsCaches: false,
});

test('a change needs the permission to write, and leaves a row that has names and no values', async () => {
  const viewer = await it.all.control.account('vic', { [it.all.control.organizationId]: 'viewer' });
  const asViewer = it.asked(viewer.token);
  assert.equal((await asViewer('GET', '/databases/DB/rows?table=guests')).status, 403);
  const { body: made } = await it.all.control.call('POST', '/tokens', {
    name: 'look',
    scope: 'read',
    projectId: it.projectId,
  });
  const asReader = it.asked(made.token);
  assert.equal((await asReader('GET', '/databases/DB/rows?table=guests')).status, 200);
  assert.equal((await asReader('POST', '/databases/DB/explain', { sql: 'SELECT 1' })).status, 200);
  for (const [method, path, body] of [
    ['POST', '/databases/DB/query', { sql: 'SELECT 1' }],
    ['POST', '/databases/DB/copies', undefined],
    ['POST', '/databases/DB/imports', undefined],
    ['PUT', '/databases/DB/imports/00000000-0000-4000-8000-000000000000?offset=0', Buffer.from('SELECT 1')],
    ['POST', '/queues/JOBS/redrive', undefined],
    ['DELETE', '/state/KV/entry?key=x', undefined],
    ['POST', '/users', { email: 'a@example.org' }],
  ] as const)
    assert.equal((await asReader(method, path, body)).status, 403, path);
  await it.ask('POST', '/databases/DB/query', {
    sql: "UPDATE guests SET name = 'hunter2' WHERE id = 1 AND name <> ''''",
  });
  await it.ask('POST', '/databases/DB/query', { sql: 'SELECT 1' });
  await it.ask('PUT', '/state/KV/entry?key=secret', { value: 'hunter2' });
  const rows = await it.all.control.sql<{ action: string; details: Record<string, unknown> }[]>`
    SELECT action, details FROM control.audit_event WHERE action IN ('data.db.query', 'data.state.put')
    ORDER BY seq DESC LIMIT 2`;
  assert.deepEqual(
    rows.map(({ action, details: { accountId: _by, ...details } }) => [action, details]),
    [
      ['data.state.put', { target: 'production', name: 'secret' }],
      ['data.db.query', { target: 'production', statement: 'UPDATE guests SET name = ? WHERE id = ? AND name <> ?' }],
    ],
  );
  assert.equal((await it.ask('GET', '/databases/DB/rows?table=guests&branch=none')).status, 400);
});
