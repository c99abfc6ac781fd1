// The versions of the program that can share a database: each version with the version before it. Used by migrate.ts,
// machine.ts and rolling upgrades; test/tidy/migration-rules.ts checks migrations.
import { createRequire } from 'node:module';
import type { Statements } from './connection.ts';

/** A version of the program. */
export interface ProgramVersion {
  readonly version: string;
  /** The oldest version that can run at the same time. */
  readonly worksFrom: string;
}

/** A version in {@link versions}. */
interface PublishedVersion extends ProgramVersion {
  /** Number of migrations of the previous version. */
  readonly migrationsBefore: number;
}

/**
 * Versions that can be upgraded machine by machine, oldest first. Each published version adds a row. The first version
 * cannot run together with an earlier one.
 */
export const versions: readonly PublishedVersion[] = [{ version: '0.2.0', worksFrom: '0.2.0', migrationsBefore: 49 }];

/** This program. */
export function thisProgram(): ProgramVersion {
  const { version } = createRequire(import.meta.url)('../package.json') as { version: string };
  const row = versions.find((one) => one.version === version);
  return { version, worksFrom: row?.worksFrom ?? versions.at(-1)!.version };
}

/** Whether a version is older than another; false if one of them is not a version. */
export function isOlderVersion(version: string, other: string): boolean {
  const [a, b] = [numbersOf(version), numbersOf(other)];
  if (a === null || b === null) return false;
  const at = a.findIndex((number, index) => number !== b[index]);
  return at !== -1 && a[at]! < b[at]!;
}

function numbersOf(version: string): number[] | null {
  const found = /^(\d+)\.(\d+)\.(\d+)/.exec(version);
  return found === null ? null : found.slice(1).map(Number);
}

/** The versions recorded in the database; null if it is from before they were recorded. */
export async function databaseVersion(sql: Statements): Promise<ProgramVersion | null> {
  const [column] = await sql.all(
    `SELECT FROM information_schema.columns
      WHERE table_schema = 'control' AND table_name = 'platform' AND column_name = 'works_from'`,
  );
  if (column === undefined) return null;
  const [row] = await sql.all<{ version: string | null; works_from: string | null }>(
    'SELECT version, works_from FROM control.platform',
  );
  const { version = null, works_from: worksFrom = null } = row ?? {};
  return version === null || worksFrom === null ? null : { version, worksFrom };
}

/** Why a version cannot share this database with the others; null if it can. */
export function versionProblem({ version }: ProgramVersion, database: ProgramVersion | null): string | null {
  if (database === null || !isOlderVersion(version, database.worksFrom)) return null;
  return (
    `This is version ${version}, and the installation has version ${database.version}, which works beside ` +
    `${database.worksFrom} and newer ones: install one of these here`
  );
}

/** Names of running machines that are too old to share the database with a version. */
export async function tooOldMachines(
  sql: Statements,
  { worksFrom }: ProgramVersion,
): Promise<readonly { readonly name: string; readonly version: string }[]> {
  const machines = await sql.all<{ name: string; version: string }>(
    `SELECT name, version FROM control.machine_now WHERE status <> 'lost' ORDER BY name`,
  );
  return machines.filter(({ version }) => isOlderVersion(version, worksFrom));
}
