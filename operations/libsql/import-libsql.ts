// Migrates from a libSQL server (`legacy-libsql` in the compose files): imports its database file into the project
// databases of a stopped platform. Called by `platform db import-libsql`.
import { existsSync, openSync, readdirSync, readSync, closeSync, renameSync, statSync } from 'node:fs';
import path from 'node:path';
import { isFailure } from '#core/failure.ts';
import { readTextSync } from '#core/text-file.ts';
import { isProjectName, isResourceName } from '#core/names.ts';
import { takeLock } from '#artifacts/file-lock.ts';
import { takeLibsqlFile, type TakenFile } from '#runtime/databases/sqlite/libsql-file.ts';
import { backupError } from '../archive/backup-error.ts';
import { checkLocations, type Locations } from '../locations.ts';

/** Options of the import. */
export interface LibsqlImport {
  readonly locations: Locations;
  /** A database file, or the data folder of a server. */
  readonly source: string;
  /** Namespace of the server; null means its only namespace. */
  readonly namespace: string | null;
  readonly project: string;
  /** Name of the database in platform.yaml. */
  readonly database: string;
  /** Folder of the migrations that created the tables; null means no migration counts as applied. */
  readonly migrations: string | null;
  /** Whether to set aside an existing database. */
  readonly force: boolean;
}

/** Result of the import. */
interface ImportedLibsql extends TakenFile {
  readonly source: string;
  readonly file: string;
  /** Migrations that count as applied. */
  readonly applied: readonly string[];
  /** Path to which the previous database was moved. */
  readonly aside: string | null;
}

const HEADER = 'SQLite format 3\0';

/** @throws {Failure} `backup` */
export function importLibsql(asked: LibsqlImport): ImportedLibsql {
  const { locations, project, database } = asked;
  if (!isProjectName(project) || !isResourceName(database))
    throw backupError(
      'settings',
      `${project}/${database} must be the names of a project and its database`,
      'Pass the name of the project, and the name of the database in platform.yaml.',
    );
  checkLocations(locations);
  if (locations.databases === null)
    throw backupError(
      'settings',
      'The project databases are not files of this machine',
      'Run it on the machine of the database service; a managed cloud imports files itself.',
    );
  const source = findDatabase(asked);
  const migrations = asked.migrations === null ? [] : readMigrations(asked.migrations);
  const locks = ['start', 'databases'].map((name) => takeLock(path.join(locations.folder, 'locks', name)));
  try {
    if (locks.includes(null))
      throw backupError(
        'running',
        `The platform runs on ${locations.folder}`,
        'Stop the platform and the libSQL server first: neither may write during the import.',
      );
    const file = path.join(locations.databases, project, `${database}.sqlite`);
    if (existsSync(file) && !asked.force)
      throw backupError('not_empty', `${project} has a database ${database}`, '--force sets it aside.');
    const aside = setAside(file);
    try {
      const taken = takeLibsqlFile(source, file, migrations);
      return { ...taken, source, file, applied: migrations.map(([name]) => name), aside };
    } catch (error) {
      if (aside !== null) for (const part of parts(aside)) renameSync(aside + part, file + part);
      if (!isFailure(error, 'unreadable_database')) throw error;
      const isRandom = /near "ROWID"/.test(error.message);
      throw backupError(
        'damaged',
        `${source} cannot be read by SQLite: ${error.message}`,
        isRandom
          ? 'A table is RANDOM ROWID, which only libSQL supports: recreate it on the server without this option.'
          : 'Stop the libSQL server cleanly, or use another copy of the file.',
      );
    }
  } finally {
    for (const lock of locks) lock?.release();
  }
}

/** Finds the file in a server's data folder: `dbs/<namespace>/data`, or `data` directly. */
function findDatabase({ source, namespace }: LibsqlImport): string {
  if (statSync(source, { throwIfNoEntry: false }) === undefined)
    throw backupError('settings', `There is no ${source}`, 'Name a file, or the data folder of the server.');
  const dbs = path.join(source, 'dbs');
  const found = isDatabase(source)
    ? [source]
    : [
        path.join(source, 'data'),
        ...(existsSync(dbs) ? readdirSync(dbs) : []).map((name) => path.join(dbs, name, 'data')),
      ].filter((file) => isDatabase(file));
  const wanted = namespace === null ? found : found.filter((file) => path.basename(path.dirname(file)) === namespace);
  if (wanted.length === 1) return wanted[0]!;
  const names = found.map((file) => path.basename(path.dirname(file)));
  throw backupError(
    'settings',
    wanted.length === 0
      ? `${source} has no database${namespace === null ? '' : ` ${namespace}`}`
      : `${source} has several databases`,
    names.length === 0
      ? 'A server stores its databases in dbs/<namespace>/data of its data folder.'
      : `Say which with --namespace: ${names.join(', ')}.`,
  );
}

function isDatabase(file: string): boolean {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return false;
  const descriptor = openSync(file, 'r');
  try {
    const head = Buffer.alloc(HEADER.length);
    readSync(descriptor, head, 0, head.length, 0);
    return head.toString('latin1') === HEADER;
  } finally {
    closeSync(descriptor);
  }
}

function readMigrations(folder: string): [name: string, sql: string][] {
  const names = existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => name.endsWith('.sql'))
        .toSorted()
    : [];
  if (names.length === 0)
    throw backupError(
      'settings',
      `${folder} has no SQL files`,
      'Pass the folder of the migrations that created the table.',
    );
  return names.map((name) => [name, readTextSync(path.join(folder, name))]);
}

function parts(file: string): string[] {
  return ['', '-wal', '-shm'].filter((part) => existsSync(file + part));
}

/** @returns the new path of the database; null if there was no database. */
function setAside(file: string): string | null {
  if (!existsSync(file)) return null;
  const aside = `${file}.before-import-${new Date().toISOString().replace(/[:.]/g, '-')}`;
  for (const part of parts(file)) renameSync(file + part, aside + part);
  return aside;
}
