// Applies postgres/migrations/ in order, each once, in a transaction together with its row in the ledger (ledger.ts).
// Called before anything else uses the database; concurrent calls wait for one another.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Postgres, Session } from './connection.ts';
import { createLedger, findLedger, FORMER_LEDGER } from './ledger.ts';
import { sqlState } from './postgres-error.ts';

/** A migration in the folder. */
export interface Migration {
  /** The number in its name. */
  readonly version: number;
  /** File name. */
  readonly name: string;
  readonly text: string;
  /** SHA-256 of the text, hex. */
  readonly hash: string;
}

const folder = path.join(import.meta.dirname, 'migrations');
/** An arbitrary number that nothing else locks. */
const LOCK_KEY = 7_528_341_001;

/** The migrations of this version of the platform. @throws {Error} when their numbers are not 1, 2, 3... */
export function readMigrations(from: string = folder): Migration[] {
  const names = readdirSync(from)
    .filter((name) => name.endsWith('.sql'))
    .toSorted();
  return names.map((name, index) => {
    const version = Number(/^(\d{6})_[a-z0-9_]+\.sql$/.exec(name)?.[1]);
    if (version !== index + 1)
      throw new Error(`Migration ${name} must be called ${String(index + 1).padStart(6, '0')}_<words>.sql`);
    const text = readFileSync(path.join(from, name), 'utf8');
    return { version, name, text, hash: createHash('sha256').update(text).digest('hex') };
  });
}

/**
 * Migrates a database to the current version.
 *
 * @returns the names applied now.
 * @throws {Error} when a migration fails (it is rolled back), when the text of an applied one has changed, or when a
 * newer version of the platform wrote the database.
 */
export function migrate(sql: Postgres, migrations: readonly Migration[] = readMigrations()): Promise<string[]> {
  return sql.session(async (session) => {
    try {
      // A concurrent call waits as long as the first one takes.
      await session.all(`SELECT set_config('statement_timeout', '0', false)`);
      await session.all('SELECT pg_advisory_lock($1::bigint)', LOCK_KEY);
      return await apply(session, migrations);
    } finally {
      await session.all('SELECT pg_advisory_unlock($1::bigint)', LOCK_KEY).catch(() => {});
      await session.all(`SELECT set_config('statement_timeout', '30000', false)`).catch(() => {});
    }
  });
}

async function apply(session: Session, migrations: readonly Migration[]): Promise<string[]> {
  const query = (text: string): Promise<Record<string, unknown>[]> => session.all(text);
  let table = await findLedger(query);
  if (table === null) await session.script(createLedger);
  table ??= FORMER_LEDGER;
  const ledger = await session.all<{ version: number; name: string; hash: string }>(
    `SELECT version, name, hash FROM ${table} ORDER BY version`,
  );
  const applied: string[] = [];
  for (const row of ledger) {
    const known = migrations[row.version - 1];
    if (known === undefined)
      throw new Error(
        `The database has migration ${row.name}, which this version of the platform does not know: start the newer version`,
      );
    if (known.hash !== row.hash)
      throw new Error(
        `Migration ${known.name} was applied with another text: applied migrations are never changed, write a new one`,
      );
  }
  for (const migration of migrations.slice(ledger.length)) {
    const began = performance.now();
    try {
      await session.script('BEGIN');
      await session.script(migration.text);
      // A migration may rename it.
      table = (await findLedger(query)) ?? table;
      await session.all(
        `INSERT INTO ${table} (version, name, hash, duration_ms) VALUES ($1, $2, $3, $4)`,
        migration.version,
        migration.name,
        migration.hash,
        Math.round(performance.now() - began),
      );
      await session.script('COMMIT');
    } catch (error) {
      await session.script('ROLLBACK').catch(() => {});
      throw new Error(`Migration ${migration.name} failed: ${(error as Error).message} (${sqlState(error)})`, {
        cause: error,
      });
    }
    applied.push(migration.name);
  }
  return applied;
}
