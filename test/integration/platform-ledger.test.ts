// The ledger of the platform's own migrations, in databases that versions before its new name have made and used.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPostgres, type Postgres } from '#postgres/connection.ts';
import { ownSchemas } from '#postgres/dump.ts';
import { countMigrations } from '#postgres/ledger.ts';
import { migrate, readMigrations } from '#postgres/migrate.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';

const known = readMigrations();
/** What the version before knew. */
const BEFORE = 15;
const names = known.map(({ name }) => name);

function fact(title: string, run: (sql: Postgres) => Promise<void>): void {
  test(title, async () => {
    const database = await createTestDatabase();
    const sql = openPostgres({ url: database.url, name: 'test', connectionsMax: 2 });
    try {
      for (const schema of ownSchemas()) await sql.all(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
      await sql.all('DROP TABLE public.platform_migrations, public.database_migration_audit');
      await makeAsBefore(sql);
      await run(sql);
    } finally {
      await sql.close();
      await database.close();
    }
  });
}

/** Word for word what the version before did. */
async function makeAsBefore(sql: Postgres): Promise<void> {
  await sql.session(async (session) => {
    await session.script(`CREATE TABLE IF NOT EXISTS public.database_migration_audit (
      version integer PRIMARY KEY, name text NOT NULL, hash text NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT now(), duration_ms integer NOT NULL)`);
    for (const { version, name, hash, text } of known.slice(0, BEFORE)) {
      await session.script('BEGIN');
      await session.script(text);
      await session.all(
        'INSERT INTO public.database_migration_audit (version, name, hash, duration_ms) VALUES ($1, $2, $3, $4)',
        version,
        name,
        hash,
        1,
      );
      await session.script('COMMIT');
    }
    await session.script('RESET search_path');
  });
}

async function ledgers(sql: Postgres): Promise<string[]> {
  const rows = await sql.all<{ name: string }>(`
    SELECT tablename AS name FROM pg_tables
    WHERE schemaname = 'public' AND tablename IN ('platform_migrations', 'database_migration_audit') ORDER BY 1`);
  return rows.map(({ name }) => name);
}

async function applied(sql: Postgres): Promise<string[]> {
  const rows = await sql.all<{ name: string }>('SELECT name FROM public.platform_migrations ORDER BY version');
  return rows.map(({ name }) => name);
}

fact('the ledger of a database of the version before takes its new name, with its rows', async (sql) => {
  assert.equal(await countMigrations((text) => sql.all(text)), BEFORE);
  const at = await sql.all('SELECT version, applied_at FROM public.database_migration_audit ORDER BY version');
  assert.deepEqual(await migrate(sql), names.slice(BEFORE));
  assert.deepEqual(await applied(sql), names);
  assert.deepEqual(
    (await sql.all('SELECT version, applied_at FROM public.platform_migrations ORDER BY version')).slice(0, BEFORE),
    at,
  );
  assert.deepEqual(await migrate(sql), []);
});

fact('the version before is told that the database is newer, and leaves it as it is', async (sql) => {
  await migrate(sql);
  // Word for word what it reads.
  await sql.all(`CREATE TABLE IF NOT EXISTS public.database_migration_audit (
    version integer PRIMARY KEY, name text NOT NULL, hash text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now(), duration_ms integer NOT NULL)`);
  const [first] = await sql.all<{ version: number }>(
    'SELECT version, name, hash FROM public.database_migration_audit ORDER BY version',
  );
  assert.deepEqual(first, { version: 1_000_000, name: '000016_ledger.sql', hash: '' });
  assert.equal(await countMigrations((text) => sql.all(text)), known.length);
  assert.deepEqual(await migrate(sql), []);
});

fact('a database that the version before has taken back from its backup is upgraded again', async (sql) => {
  await migrate(sql);
  for (const schema of ownSchemas()) await sql.all(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  await sql.all('DROP TABLE public.database_migration_audit');
  await makeAsBefore(sql);
  assert.deepEqual(await ledgers(sql), ['database_migration_audit', 'platform_migrations']);
  assert.equal(await countMigrations((text) => sql.all(text)), BEFORE);
  assert.deepEqual(await migrate(sql), names.slice(BEFORE));
  assert.deepEqual(await applied(sql), names);
});
