// Applies postgres/migrations/ in order, each once, in a transaction together with its row in the ledger (ledger.ts).
// Called before any other code uses the database; concurrent calls wait for one another.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import {
  databaseVersion,
  isOlderVersion,
  thisProgram,
  tooOldMachines,
  versionProblem,
  type ProgramVersion,
} from './compatibility.ts';
import type { Postgres, Session } from './connection.ts';
import { createLedger, findLedger, FORMER_LEDGER } from './ledger.ts';
import { sqlState } from './postgres-error.ts';

/** A migration in the folder. */
export interface Migration {
  /** The number in the name of the migration. */
  readonly version: number;
  /** File name. */
  readonly name: string;
  readonly text: string;
  /** SHA-256 of the text, hex. */
  readonly hash: string;
}

const folder = path.join(import.meta.dirname, 'migrations');
/** An arbitrary number that no other lock uses. */
const LOCK_KEY = 7_528_341_001;
/** The migration since which the database records versions. */
const NOTES_VERSIONS = 50;
/** Longer than the ten seconds after which a killed machine counts as lost. */
const OLD_MACHINES_MS_MAX = 15_000;
const LOOK_MS = 500;

/** The migrations of this version of the platform. @throws {Error} when the migrations are not numbered 1, 2, 3... */
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
 * @param oldMachinesMsMax how long to wait for machines that are too old, because a killed machine stays in the table
 * for a while.
 * @returns the names applied now. @throws {Error} when a migration fails (it is rolled back), when the text of an
 * applied migration has changed, when a newer, incompatible version has migrated the database, or when a machine runs
 * an older, incompatible version.
 */
export function migrate(
  sql: Postgres,
  migrations: readonly Migration[] = readMigrations(),
  program: ProgramVersion = thisProgram(),
  oldMachinesMsMax = OLD_MACHINES_MS_MAX,
): Promise<string[]> {
  return sql.session(async (session) => {
    try {
      // A concurrent call waits until the first call has finished.
      await session.all(`SELECT set_config('statement_timeout', '0', false)`);
      await session.all('SELECT pg_advisory_lock($1::bigint)', LOCK_KEY);
      return await apply(session, migrations, program, oldMachinesMsMax);
    } finally {
      await session.all('SELECT pg_advisory_unlock($1::bigint)', LOCK_KEY).catch(() => {});
      await session.all(`SELECT set_config('statement_timeout', '30000', false)`).catch(() => {});
    }
  });
}

async function apply(
  session: Session,
  migrations: readonly Migration[],
  program: ProgramVersion,
  oldMachinesMsMax: number,
): Promise<string[]> {
  const query = (text: string): Promise<Record<string, unknown>[]> => session.all(text);
  let table = await findLedger(query);
  if (table === null) await session.script(createLedger);
  table ??= FORMER_LEDGER;
  const ledger = await session.all<{ version: number; name: string; hash: string }>(
    `SELECT version, name, hash FROM ${table} ORDER BY version`,
  );
  const applied: string[] = [];
  const noted = table === FORMER_LEDGER ? null : await databaseVersion(session);
  const problem = versionProblem(program, noted);
  if (problem !== null) throw new Error(problem);
  for (const row of ledger) {
    const known = migrations[row.version - 1];
    // A newer version has recorded that this version can share its database.
    if (known === undefined && noted !== null) break;
    if (known === undefined)
      throw new Error(
        `The database has migration ${row.name}, which this version of the platform does not know: start the newer version`,
      );
    if (known.hash !== row.hash)
      throw new Error(
        `Migration ${known.name} was applied with another text: applied migrations are never changed, write a new one`,
      );
  }
  const isNewer = noted === null || isOlderVersion(noted.version, program.version);
  if (isNewer && ledger.length >= NOTES_VERSIONS - 1) await leaveTooOld(session, program, oldMachinesMsMax);
  for (const migration of migrations.slice(ledger.length)) {
    const began = performance.now();
    try {
      await session.script('BEGIN');
      await session.script(migration.text);
      // A migration may rename the ledger.
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
  if (isNewer && migrations.length >= NOTES_VERSIONS)
    await session.all('UPDATE control.platform SET version = $1, works_from = $2', program.version, program.worksFrom);
  return applied;
}

/** Waits until machines with incompatible versions have stopped. @throws {Error} that names a remaining machine. */
async function leaveTooOld(session: Session, program: ProgramVersion, msMax: number): Promise<void> {
  const end = performance.now() + msMax;
  for (;;) {
    const [old] = await tooOldMachines(session, program);
    if (old === undefined) return;
    if (performance.now() > end)
      throw new Error(
        `Machine ${old.name} runs version ${old.version}, and this is version ${program.version}, which works beside ` +
          `${program.worksFrom} and newer ones: upgrade ${old.name} to one of these first, or stop it`,
      );
    await pause(LOOK_MS);
  }
}
