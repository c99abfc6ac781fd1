// The way out of a libSQL server. The files of test/fixtures/libsql/ are written by libSQL itself (libsql 0.5.29): a
// table with a vector, an index over it, a row and a change of the table that are in the log alone; and a table that
// only libSQL can read. They lie here as a server's data folder has them.
import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { databaseOps } from '#core/database-request.ts';
import { takeLock } from '#artifacts/file-lock.ts';
import { importLibsql, type LibsqlImport } from '#operations/libsql/import-libsql.ts';
import { locationsOf } from '#operations/locations.ts';
import { startFor } from '#test/setup/databases.ts';

const fixtures = path.join(import.meta.dirname, '../fixtures/libsql');
const MIGRATION = 'CREATE TABLE guests (id INTEGER PRIMARY KEY, name TEXT, face BLOB);';

interface Laid {
  readonly folder: string;
  readonly server: string;
  readonly migrations: string;
}

/** A data folder of a server with these databases, and an empty one of a platform. */
function lay(t: TestContext, namespaces: readonly string[] = ['default'], fixture = 'server.sqlite'): Laid {
  const work = mkdtempSync(path.join(tmpdir(), 'platform-libsql-'));
  t.after(() => rmSync(work, { recursive: true, force: true }));
  const [folder, server, migrations] = ['platform', 'data.sqld', 'migrations'].map((name) => path.join(work, name));
  mkdirSync(folder!);
  mkdirSync(migrations!);
  writeFileSync(path.join(migrations!, '0001_guests.sql'), MIGRATION);
  for (const name of namespaces) {
    const place = path.join(server!, 'dbs', name);
    mkdirSync(place, { recursive: true });
    copyFileSync(path.join(fixtures, fixture), path.join(place, 'data'));
    if (fixture === 'server.sqlite') copyFileSync(path.join(fixtures, `${fixture}-wal`), path.join(place, 'data-wal'));
  }
  return { folder: folder!, server: server!, migrations: migrations! };
}

function asked({ folder, server }: Laid, databases: string, more: Partial<LibsqlImport> = {}): LibsqlImport {
  return {
    locations: locationsOf({ DB_STORAGE_DIR: databases }, folder),
    source: server,
    namespace: null,
    project: 'shop',
    database: 'main',
    migrations: null,
    force: false,
    ...more,
  };
}

test('a database of a libSQL server is taken over whole, its log too, and serves with its migrations as applied', async (t) => {
  const laid = lay(t);
  const service = await startFor(t);
  const before = readdirSync(path.join(laid.server, 'dbs/default')).map((name) =>
    readFileSync(path.join(laid.server, 'dbs/default', name)).toString('hex'),
  );
  const imported = importLibsql(asked(laid, service.directory, { migrations: laid.migrations }));
  assert.deepEqual(
    [imported.tables, imported.leftOut, imported.applied, imported.aside],
    [1, ['guests_face'], ['0001_guests.sql'], null],
  );
  const place = { namespace: 'shop', resource: 'main' };
  const run = async (sql: string): Promise<string> =>
    String(await service.client.run(place, databaseOps.query, 0, JSON.stringify([sql, [], 0])));
  const files = [
    ['0001_guests.sql', MIGRATION] as const,
    ['0002_more.sql', "INSERT INTO guests (name) VALUES ('Eve');"] as const,
  ];
  assert.deepEqual(await service.client.migrate(place, files), ['0002_more.sql']);
  assert.match(await run('SELECT name, hex(face) FROM guests ORDER BY id'), /Ada.*0000803F.*Grace.*00008040.*Eve/);
  // The server's own files are as they were.
  const after = readdirSync(path.join(laid.server, 'dbs/default')).map((name) =>
    readFileSync(path.join(laid.server, 'dbs/default', name)).toString('hex'),
  );
  assert.deepEqual(after, before);
  assert.deepEqual(
    readdirSync(path.join(service.directory, 'shop')).filter((name) => name.includes('importing')),
    [],
  );
});

test('a database that is there is not replaced without --force, and set aside with it', (t) => {
  const laid = lay(t);
  const databases = path.join(laid.folder, 'databases');
  importLibsql(asked(laid, databases));
  assert.throws(() => importLibsql(asked(laid, databases)), {
    reason: 'not_empty',
    message: 'shop has a database main',
  });
  const { aside } = importLibsql(asked(laid, databases, { force: true }));
  assert.match(path.basename(aside!), /^main\.sqlite\.before-import-/);
  assert.ok(existsSync(aside!));
});

test('what only libSQL can read is refused with the reason, and what was there stays', (t) => {
  const databases = path.join(lay(t).folder, 'databases');
  importLibsql(asked(lay(t), databases));
  const before = readFileSync(path.join(databases, 'shop/main.sqlite'));
  const random = lay(t, ['default'], 'random-rowid.sqlite');
  assert.throws(() => importLibsql(asked(random, databases, { force: true })), {
    reason: 'damaged',
    message: /cannot be read by SQLite: malformed database schema \(tokens\)/,
    advice: 'A table is RANDOM ROWID, which only libSQL supports: recreate it on the server without this option.',
  });
  assert.deepEqual(readdirSync(path.join(databases, 'shop')), ['main.sqlite']);
  assert.ok(before.equals(readFileSync(path.join(databases, 'shop/main.sqlite'))));
});

test('a damaged file is refused', (t) => {
  const laid = lay(t);
  const file = path.join(laid.server, 'dbs/default/data');
  const bytes = readFileSync(file);
  bytes.fill(0xff, 512);
  writeFileSync(file, bytes);
  rmSync(`${file}-wal`);
  const databases = path.join(laid.folder, 'databases');
  assert.throws(() => importLibsql(asked(laid, databases)), { reason: 'damaged' });
  assert.deepEqual(readdirSync(path.join(databases, 'shop')), []);
});

test('which of several databases is meant has to be said, and what is none is named', (t) => {
  const laid = lay(t, ['default', 'orders']);
  const databases = path.join(laid.folder, 'databases');
  assert.throws(() => importLibsql(asked(laid, databases)), {
    reason: 'settings',
    advice: 'Say which with --namespace: default, orders.',
  });
  const { source } = importLibsql(asked(laid, databases, { namespace: 'orders' }));
  assert.equal(source, path.join(laid.server, 'dbs/orders/data'));
  const text = path.join(laid.migrations, '0001_guests.sql');
  assert.throws(() => importLibsql(asked(laid, databases, { source: text })), { reason: 'settings' });
  assert.throws(() => importLibsql(asked(laid, databases, { source: path.join(laid.server, 'nowhere') })), {
    reason: 'settings',
  });
  for (const project of ['../shop', 'Shop', 'a--b'])
    assert.throws(() => importLibsql(asked(laid, databases, { project, namespace: 'orders' })), { reason: 'settings' });
});

test('a platform that runs is not touched', (t) => {
  const laid = lay(t);
  mkdirSync(path.join(laid.folder, 'locks'));
  const lock = takeLock(path.join(laid.folder, 'locks', 'databases'))!;
  t.after(() => lock.release());
  assert.throws(() => importLibsql(asked(laid, path.join(laid.folder, 'databases'))), { reason: 'running' });
});
