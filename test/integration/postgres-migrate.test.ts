// Migrations and roles on a real server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPostgres, type Postgres } from '#postgres/connection.ts';
import { openEngineRole } from '#postgres/engine-role.ts';
import { migrate, readMigrations, type Migration } from '#postgres/migrate.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';

function fact(title: string, run: (sql: Postgres, engineUrl: string) => Promise<void>): void {
  test(title, async () => {
    const database = await createTestDatabase();
    const sql = openPostgres({ url: database.url, name: 'test', connectionsMax: 4 });
    try {
      await run(sql, database.engineUrl);
    } finally {
      await sql.close();
      await database.close();
    }
  });
}

const known = readMigrations();
function more(text: string, version = known.length + 1): Migration {
  return { version, name: `${String(version).padStart(6, '0')}_test.sql`, text, hash: text };
}

fact('a migrated database needs nothing more', async (sql) => {
  assert.deepEqual(await migrate(sql), []);
});

fact('each migration has its row in the ledger, and runs once when several start at a time', async (sql) => {
  const list = [...known, more('CREATE TABLE once (n int); INSERT INTO once VALUES (1)')];
  const applied = await Promise.all([migrate(sql, list), migrate(sql, list), migrate(sql, list)]);
  assert.deepEqual(applied.flat(), [list.at(-1)!.name]);
  const rows = await sql.all('SELECT version, name, hash FROM platform_migrations ORDER BY version DESC LIMIT 1');
  assert.deepEqual(rows, [{ version: list.length, name: list.at(-1)!.name, hash: list.at(-1)!.hash }]);
  assert.equal((await sql.all('SELECT * FROM once')).length, 1);
});

fact('a migration that fails leaves nothing of it, and says which and why', async (sql) => {
  const list = [...known, more('CREATE TABLE half (n int); SELECT 1/0')];
  await assert.rejects(
    migrate(sql, list),
    new RegExp(`Migration ${list.at(-1)!.name} failed: division by zero \\(22012\\)`),
  );
  assert.equal((await sql.all(`SELECT to_regclass('half') AS half`))[0]!['half'], null);
  assert.equal((await sql.all('SELECT count(*)::int4 AS n FROM platform_migrations'))[0]!['n'], known.length);
});

fact('an applied migration with another text is refused', async (sql) => {
  const changed = known.map((migration, index) => (index === 0 ? { ...migration, hash: 'other' } : migration));
  await assert.rejects(migrate(sql, changed), /was applied with another text/);
});

fact('a version works on the schema of the next one, and not on that of the one after it', async (sql) => {
  const [first, next] = [more('SELECT 1'), more('SELECT 2', known.length + 2)];
  await migrate(sql, known, { version: '1.2.0', worksFrom: '1.1.0' });
  await migrate(sql, [...known, first], { version: '1.10.0', worksFrom: '1.2.0' });
  // One that is started again meanwhile.
  assert.deepEqual(await migrate(sql, known, { version: '1.2.0', worksFrom: '1.1.0' }), []);
  await migrate(sql, [...known, first, next], { version: '1.11.0', worksFrom: '1.10.0' });
  await assert.rejects(migrate(sql, known, { version: '1.2.0', worksFrom: '1.1.0' }), {
    message:
      'This is version 1.2.0, and the installation has version 1.11.0, which works beside 1.10.0 and newer ones: install one of these here',
  });
  assert.deepEqual(await migrate(sql, [...known, first], { version: '1.10.0', worksFrom: '1.2.0' }), []);
});

fact('a newer database that does not say which versions work on it is refused', async (sql) => {
  await migrate(sql, [...known, more('SELECT 1')]);
  await sql.all('UPDATE control.platform SET version = NULL, works_from = NULL');
  await assert.rejects(migrate(sql), /which this version of the platform does not know/);
});

fact('no migration is applied while a machine runs a version that stops beside it', async (sql) => {
  await sql.all(`INSERT INTO control.machine (name, member, lock_key, parts, version, key_ids, memory_bytes,
      memory_free_bytes, disk_bytes, disk_free_bytes, seen_at)
    VALUES ('m2', 'b1-x', 1, '{handler}', '1.1.0', '{}', 1, 1, 1, 1, now() + interval '1 hour')`);
  const list = [...known, more('CREATE TABLE later (n int)')];
  const newer = { version: '1.3.0', worksFrom: '1.2.0' };
  await assert.rejects(migrate(sql, list, newer, 0), {
    message:
      'Machine m2 runs version 1.1.0, and this is version 1.3.0, which works beside 1.2.0 and newer ones: upgrade m2 to one of these first, or stop it',
  });
  assert.equal((await sql.all(`SELECT to_regclass('later') AS later`))[0]!['later'], null);
  // It is killed.
  const migrating = migrate(sql, list, newer);
  await sql.all(`UPDATE control.machine SET seen_at = now() - interval '1 minute'`);
  assert.deepEqual(await migrating, [list.at(-1)!.name]);
});

fact("the engines' role works with the tables of bindings and reaches nothing else", async (sql, engineUrl) => {
  await sql.all('CREATE TABLE secrets (value text)');
  const engine = openPostgres({ url: engineUrl, name: 'test', connectionsMax: 1, schema: 'binding' });
  try {
    await engine.all(`INSERT INTO lane (kind, namespace, resource) VALUES ('queue', 'shop', 'mail')`);
    assert.equal((await engine.all('DELETE FROM lane RETURNING namespace'))[0]!['namespace'], 'shop');
    await assert.rejects(engine.all('SELECT * FROM public.secrets'), { code: '42501' });
    await assert.rejects(engine.all('SELECT * FROM public.platform_migrations'), { code: '42501' });
    await assert.rejects(engine.all('CREATE TABLE public.mine (n int)'), { code: '42501' });
    await assert.rejects(engine.all('CREATE TABLE binding.mine (n int)'), { code: '42501' });
    await assert.rejects(engine.all('DROP TABLE binding.lane'), { code: '42501' });
    await assert.rejects(engine.all('CREATE ROLE other'), { code: '42501' });
    await assert.rejects(engine.all(`COPY lane TO PROGRAM 'cat'`), { code: '42501' });
    await assert.rejects(engine.all(`SELECT pg_read_file('postgresql.conf')`), { code: '42501' });
  } finally {
    await engine.close();
  }
});

test("the engines' role cannot keep bytes beside the tables, and what it says of its later sessions is undone at the next start", async () => {
  const database = await createTestDatabase();
  const sql = openPostgres({ url: database.url, name: 'test', connectionsMax: 2 });
  const engine = openPostgres({ url: database.engineUrl, name: 'test', connectionsMax: 1, schema: 'binding' });
  try {
    await engine.all('ALTER ROLE platform_engine SET cursor_tuple_fraction = 0.2');
    await sql.all(
      `ALTER ROLE platform_engine IN DATABASE ${new URL(database.url).pathname.slice(1)} SET cursor_tuple_fraction = 0.3`,
    );
    assert.equal(await openEngineRole(sql, database.url), database.engineUrl);
    const settings = `SELECT setconfig FROM pg_db_role_setting JOIN pg_roles ON pg_roles.oid = setrole WHERE rolname = 'platform_engine'`;
    assert.deepEqual(await sql.all(settings), []);
    for (const text of [
      'CREATE TEMPORARY TABLE kept (value text)',
      `SELECT lo_from_bytea(0, 'kept')`,
      'SELECT lo_create(0)',
      'CREATE TABLE public.kept (value text)',
      'CREATE SCHEMA kept',
      'SELECT * FROM pg_authid',
      `COPY state TO '/tmp/kept'`,
    ])
      await assert.rejects(engine.all(text), { code: '42501' }, text);
    await engine.all(`INSERT INTO lane (kind, namespace, resource) VALUES ('queue', 'shop', 'narrow')`);
  } finally {
    await engine.close();
    await sql.close();
    await database.close();
  }
});
