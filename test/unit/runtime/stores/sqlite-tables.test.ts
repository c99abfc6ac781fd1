// Files of `platform dev` have Postgres's tables, and those that an older platform wrote are taken over.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import Database from 'better-sqlite3';
import { defaultLimits } from '#core/limits.ts';
import { sqliteMigrations } from '#postgres/sqlite-migrations.ts';
import { openEventsSqlite } from '#runtime/stores/event-stores-sqlite.ts';
import { openStateSqlite } from '#runtime/stores/state-sqlite.ts';

function fileOf(t: TestContext, name: string, script: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'platform-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const db = new Database(join(folder, name));
  db.exec(script);
  db.close();
  return join(folder, name);
}

test('the statements of the migrations are those of SQLite, and a table that is not asked for is not made', () => {
  assert.deepEqual(sqliteMigrations(['outbox_database', 'none']), [
    'CREATE TABLE outbox_database (\n  namespace text NOT NULL,\n  resource text NOT NULL,\n  touched_at bigint NOT NULL,\n  check_at bigint NOT NULL,\n  PRIMARY KEY (namespace, resource)\n);\nCREATE INDEX outbox_database_due ON outbox_database (check_at)',
  ]);
  assert.deepEqual(sqliteMigrations([]), []);
});

test('a queue of a file with the tables of its first version keeps its messages', async (t) => {
  const file = fileOf(
    t,
    'events.sqlite',
    `${sqliteMigrations(['lane', 'queue_message', 'queue_dedupe', 'timer', 'workflow_execution'])[0]};
     INSERT INTO lane (kind, namespace, resource) VALUES ('queue', 'shop', 'mail');
     INSERT INTO queue_message (lane_id, due_at, message_id, payload, sent_at, expires_at, project, branch, binding)
       VALUES (1, 5, 'm1', '{"to":"ada"}', 5, 9007199254740991, 'shop', 'main', 'MAIL');
     PRAGMA user_version = 1;`,
  );
  const stores = openEventsSqlite({ file, limits: defaultLimits.delivery });
  const place = { namespace: 'shop', resource: 'mail' };
  assert.deepEqual(await stores.queue.list(place, { limit: 10, after: 0 }), {
    messages: [{ id: 'm1', payload: '{"to":"ada"}', attempt: 0, timestamp: 5, dueAt: 5, deadReason: null }],
    next: null,
  });
  await stores.outboxes.touch({ namespace: 'shop', resource: 'main' }, 1, 2);
  await stores.close();
});

test('a file of a newer version is refused', (t) => {
  const file = fileOf(t, 'events.sqlite', 'PRAGMA user_version = 99');
  assert.throws(() => openEventsSqlite({ file, limits: defaultLimits.delivery }), {
    message: `${file} was written by a newer version of the platform`,
  });
});

test('state of a file from before it had versions is there as it was put', async (t) => {
  const file = fileOf(
    t,
    'state.sqlite',
    `CREATE TABLE state (
       namespace TEXT NOT NULL, resource TEXT NOT NULL, key TEXT NOT NULL,
       value ANY NOT NULL, metadata TEXT, expires_at INTEGER, version TEXT NOT NULL,
       PRIMARY KEY (namespace, resource, key)
     ) WITHOUT ROWID, STRICT;
     INSERT INTO state VALUES ('shop', 'kv', 'text', '12', '{"a":1}', NULL, 'v1');
     INSERT INTO state VALUES ('shop', 'kv', 'bytes', x'00ff', NULL, 99, 'v2');`,
  );
  for (let opened = 0; opened < 2; opened++) {
    const state = openStateSqlite(file);
    const [text, bytes] = await state.get({ namespace: 'shop', resource: 'kv' }, ['text', 'bytes'], 1);
    assert.deepEqual(text, { value: '12', metadata: '{"a":1}', expiresAt: null, version: 'v1' });
    assert.deepEqual(
      { ...bytes, value: [...(bytes!.value as Uint8Array)] },
      { value: [0, 255], metadata: null, expiresAt: 99, version: 'v2' },
    );
    state.close();
  }
});
