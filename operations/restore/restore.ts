// Replaces the data of a stopped platform with a backup. The whole backup is verified before anything changes. Existing
// data is set aside, not deleted, and a marker in the data folder prevents a start until the restore is complete.
// Called by `platform restore` and by the rollback of an upgrade.
import { cpSync, createWriteStream, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { chmod, cp, mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Failure, isFailure } from '#core/failure.ts';
import { INSTALLATION_FILE } from '#core/process/installation.ts';
import {
  readJson,
  recordedLocations,
  RESTORE_FILE,
  writeDataFolderRecord,
  writeWhole,
} from '#core/process/platform-record.ts';
import { takeLock } from '#artifacts/file-lock.ts';
import { hasTables, loadTables, schemaProblem } from '#postgres/load.ts';
import { schemaVersion } from '#postgres/schema-version.ts';
import { backupError } from '../archive/backup-error.ts';
import { FILE_FOLDERS, type Part } from '../archive/manifest.ts';
import type { OpenBackup } from '../archive/reader.ts';
import { encryptionKeyIds, openDatabase, type Locations } from '../locations.ts';
import { checkSpace, restoreNeeds } from '../space.ts';
import { putFiles } from './files.ts';

/** Source and target of a restore. */
interface RestoreOptions {
  readonly backup: OpenBackup;
  readonly locations: Locations;
  /** Whether existing data may be replaced. */
  readonly force: boolean;
  /** Whether to continue with a different encryption key, with which encrypted values stay unreadable. */
  readonly withoutKeys: boolean;
  readonly onProgress?: (what: string) => void;
  /** Called between steps, for tests. */
  readonly onStep?: (step: string) => void;
}

/** Result of a restore. */
interface RestoreReport {
  readonly rows: number;
  readonly databases: number;
  readonly files: number;
  readonly hasKeys: boolean;
  /** Folder with the previous data; null if there was none. */
  readonly aside: string | null;
  readonly leftOut: readonly string[];
}

interface Marker {
  readonly archive: string;
  readonly aside: string | null;
  /** Marks that all previous data was set aside: the current data is from an unfinished restore and can be deleted. */
  readonly isAside: boolean;
}

/** Everything in a data folder that a restore recreates. */
const REPLACED: readonly string[] = [
  ...FILE_FOLDERS,
  'databases',
  'files',
  'postgres',
  'state.sqlite',
  INSTALLATION_FILE,
];

/** @throws {Failure} `backup` with how to fix it. */
export async function restoreBackup(options: RestoreOptions): Promise<RestoreReport> {
  const { backup, locations, onProgress = () => {}, onStep = () => {} } = options;
  const { folder } = locations;
  const { manifest } = backup;
  await checkBackup(options);
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  const lock = takeLock(path.join(folder, 'locks', 'start'));
  const other = lock === null ? null : takeLock(path.join(folder, 'locks', 'databases'));
  if (lock === null || other === null) {
    lock?.release();
    throw backupError('running', `A platform runs on ${folder}`, 'Stop it, then restore.');
  }
  try {
    const before = readJson(path.join(folder, RESTORE_FILE)) as Marker | null;
    await checkTarget(options, before !== null);
    onProgress('Verifying the backup');
    await backup.verify((bytes) => onProgress(`Verifying the backup: ${bytes} bytes`));
    checkSpace(restoreNeeds(locations, manifest.parts));
    onStep('verified');
    const aside = before === null ? asideFor(locations) : before.aside;
    const marker = { archive: backup.location, aside };
    const mark = (isAside: boolean): void =>
      writeWhole(path.join(folder, RESTORE_FILE), { ...marker, isAside } satisfies Marker);
    if (before?.isAside === true) {
      mark(true);
      await clear(locations, null);
    } else {
      mark(false);
      onStep('marked');
      await clear(locations, aside);
      mark(true);
    }
    onStep('cleared');
    await putParts(options);
    onStep('files');
    await putTables(options);
    onStep('tables');
    if (locations.bucket !== null) await putFiles(backup, locations.bucket, folder, onProgress);
    // Records the version of the backup, so that this version does not back up the restored data again when it starts.
    const startedAt = new Date().toISOString();
    writeDataFolderRecord(folder, {
      format: 1,
      version: manifest.platform,
      program: path.resolve(import.meta.dirname, '../..'),
      schema: manifest.schema?.length ?? schemaVersion(),
      ...recordedLocations(locations.environment),
      startedAt,
    });
    // The last step: from now on the platform can start.
    await rm(path.join(folder, RESTORE_FILE));
    const of = (kind: Part['kind']): Part[] => manifest.parts.filter((part) => part.kind === kind);
    return {
      rows: of('table').reduce((sum, { rows = 0 }) => sum + rows, 0),
      databases: of('database').length,
      files: of('content').length,
      hasKeys: of('key').length > 0,
      aside,
      leftOut: manifest.leftOut,
    };
  } finally {
    other.release();
    lock.release();
  }
}

/** Checks that do not need the existing data. */
async function checkBackup({ backup: { manifest }, locations, withoutKeys }: RestoreOptions): Promise<void> {
  const problem = manifest.schema === null ? null : schemaProblem(manifest.schema);
  if (problem !== null)
    throw backupError(
      'newer',
      `The backup, of version ${manifest.platform}, cannot be restored by this one: ${problem}`,
      'Restore it with the version of the platform that wrote it, or a later one.',
    );
  if (manifest.schema !== null && locations.postgres === 'none')
    throw backupError(
      'settings',
      'The backup contains a database, but DATABASE_URL is "none"',
      'Set DATABASE_URL, or unset it for an embedded database.',
    );
  if (locations.databases === null && manifest.parts.some(({ kind }) => kind === 'database'))
    throw backupError(
      'settings',
      'The backup contains project databases, but DB_URL or DB_STORAGE_MODE say that they are not on this machine',
      'Run the restore on the machine of the database service.',
    );
  const own = encryptionKeyIds(locations);
  const bringsKey = manifest.parts.some(({ kind, name }) => kind === 'key' && name === 'secrets/encryption-key');
  const isGiven = (locations.environment['ENCRYPTION_KEY']?.trim() ?? '') !== '';
  const willHave = manifest.keyId === null || (bringsKey && !isGiven) || own.includes(manifest.keyId);
  if (!willHave && !withoutKeys)
    throw backupError(
      'settings',
      `The variables and credentials in the backup are encrypted with a key that this machine does not have (${manifest.keyId})`,
      'Set ENCRYPTION_KEY to the key of that platform, or put its secrets/encryption-key into the data folder. `--without-keys` restores the rest: set those values again.',
    );
}

async function checkTarget({ locations, force }: RestoreOptions, wasCutOff: boolean): Promise<void> {
  const { postgres } = locations;
  if (force || wasCutOff) return;
  const [found] = dataAt(locations);
  const notEmpty = (what: string): Failure<'backup'> =>
    backupError(
      'not_empty',
      `${what} holds data of a platform`,
      'Restore into an empty one, or pass --force, which moves an existing data folder aside and replaces an external database.',
    );
  if (found !== undefined) throw notEmpty(found);
  if (typeof postgres !== 'object') return;
  const database = await openDatabase(locations, false);
  try {
    if (await hasTables(database!.sql)) throw notEmpty('The database of DATABASE_URL');
  } catch (error) {
    if (isFailure(error, 'backup')) throw error;
    throw backupError(
      'settings',
      `The database cannot be reached: ${(error as Error).message}`,
      'Check DATABASE_URL.',
      { cause: error },
    );
  } finally {
    await database!.close();
  }
}

function isEmpty(at: string): boolean {
  try {
    return readdirSync(at).length === 0;
  } catch {
    return false;
  }
}

/** Paths of the platform's existing data; databases outside the data folder come last. */
function dataAt({ folder, databases }: Locations): string[] {
  const elsewhere = databases === null || databases === path.join(folder, 'databases') ? [] : [databases];
  const all = [...REPLACED.map((name) => path.join(folder, name)), ...elsewhere];
  return all.filter((at) => existsSync(at) && !isEmpty(at));
}

/** Path to which existing data is moved, or null. */
function asideFor(locations: Locations): string | null {
  if (dataAt(locations).length === 0) return null;
  return path.join(locations.folder, `before-restore-${new Date().toISOString().replace(/[:.]/g, '-')}`);
}

/** @param aside null means the data of an unfinished restore is deleted. */
async function clear(locations: Locations, aside: string | null): Promise<void> {
  const { folder } = locations;
  const isOwn = (at: string): boolean => REPLACED.some((name) => at === path.join(folder, name));
  if (aside === null) {
    for (const at of dataAt(locations))
      try {
        if (isOwn(at)) rmSync(at, { recursive: true });
        else empty(at);
      } catch (error) {
        if (!isMount(error)) throw error;
        empty(at);
      }
    return;
  }
  // The data set aside is readable only with these keys, so they are copied. The keys are kept unless the backup
  // replaces them.
  for (const name of ['secret', 'secrets'])
    if (existsSync(path.join(folder, name)))
      await cp(path.join(folder, name), path.join(aside, name), { recursive: true, force: true });
  for (const at of dataAt(locations))
    if (isOwn(at)) moveInto(folder, [path.basename(at)], aside);
    // Moves the content, because the folder itself may be the root of a disk.
    else moveInto(at, readdirSync(at), `${at.replace(/\/+$/, '')}-${path.basename(aside)}`);
}

function moveInto(folder: string, names: readonly string[], target: string): void {
  mkdirSync(target, { recursive: true, mode: 0o700 });
  for (const name of names) {
    const [from, to] = [path.join(folder, name), path.join(target, name)];
    try {
      renameSync(from, to);
    } catch (error) {
      if (!isMount(error)) throw error;
      cpSync(from, to, { recursive: true });
      empty(from);
    }
  }
}

/** In containers, some of these folders are volumes, which cannot be moved. */
function isMount(error: unknown): boolean {
  return ['EBUSY', 'EXDEV'].includes((error as NodeJS.ErrnoException).code ?? '');
}

function empty(folder: string): void {
  for (const name of readdirSync(folder)) rmSync(path.join(folder, name), { recursive: true, force: true });
}

async function putParts({ backup, locations, onProgress = () => {} }: RestoreOptions): Promise<void> {
  const { folder, databases, bucket, environment } = locations;
  let done = 0;
  for (const part of backup.manifest.parts) {
    const file = fileOf(part, folder, databases, bucket !== null);
    if (file === null) continue;
    // A key given as a variable takes precedence over the backup's key.
    if (part.name === 'secrets/encryption-key' && (environment['ENCRYPTION_KEY']?.trim() ?? '') !== '') continue;
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    if (part.kind === 'key') await rm(file, { force: true });
    await pipeline(Readable.from(backup.read(part)), createWriteStream(file, { flags: 'wx', mode: 0o600 }));
    if (++done % 50 === 0) onProgress(`Writing files: ${done}`);
  }
  // Git recognizes a repository only if these folders exist.
  for (const name of new Set(
    backup.manifest.parts.flatMap((part) => /^repositories\/[^/]+\.git/.exec(part.name)?.[0] ?? []),
  ))
    for (const inner of ['refs/heads', 'objects'])
      await mkdir(path.join(folder, name, inner), { recursive: true, mode: 0o700 });
  for (const name of ['artifacts', 'routes']) {
    await mkdir(path.join(folder, name), { recursive: true, mode: 0o700 });
    await chmod(path.join(folder, name), 0o700);
  }
}

/**
 * The path of a part that is a file of the data folder; null for other parts, and for files that are restored
 * elsewhere.
 */
function fileOf({ kind, name }: Part, folder: string, databases: string | null, hasBucket: boolean): string | null {
  if (kind === 'file' || kind === 'key') return path.join(folder, name);
  if (kind === 'database') return path.join(databases!, `${name}.sqlite`);
  if (hasBucket) return null;
  if (kind === 'index') return path.join(folder, 'files', 'index.sqlite');
  return kind === 'content' ? path.join(folder, 'files', 'content', name.slice(0, 2), name) : null;
}

async function putTables({ backup, locations, onProgress = () => {} }: RestoreOptions): Promise<void> {
  const { schema, sequences, parts } = backup.manifest;
  if (schema === null) return;
  onProgress('Filling the database');
  const database = (await openDatabase(locations, true))!;
  try {
    const tables = parts
      .filter(({ kind }) => kind === 'table')
      .map((part) => ({
        name: part.name,
        columns: part.columns!,
        rows: part.rows!,
        ...(part.partitions && { partitions: part.partitions }),
        content: () => backup.read(part),
      }));
    await loadTables(database.sql, { applied: schema, sequences }, tables, true);
  } catch (error) {
    throw backupError(
      'failed',
      `The database refuses the backup: ${(error as Error).message}`,
      'The database was not changed. Fix the problem, then run the same command again.',
      { cause: error },
    );
  } finally {
    await database.close();
  }
}
