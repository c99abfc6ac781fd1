// Operations on whole database files: checks after a crash, quarantine of damaged files, backup, restore, branch.
// Called by database-file.ts. Messages that may reach a worker contain no path.
import {
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { findOutbox, outboxTable } from '#core/database-outbox.ts';
import { SqlRefusal } from '#core/database-request.ts';
import { PlatformError } from '#core/errors.ts';
import type { Connection } from './connection.ts';
import { isBusy } from './sqlite-errors.ts';

/** Pages per step of a copy; others may write between steps. */
const PAGES_A_STEP = 2048;
const parts = ['', '-wal', '-shm'];

function marker(file: string): string {
  return `${file}.corrupt`;
}

/** Whether there is a database, or a damaged one that was set aside. */
export function isThere(file: string): boolean {
  return existsSync(file) || isDamaged(file);
}

/** Whether a database was set aside and not replaced. */
export function isDamaged(file: string): boolean {
  return existsSync(marker(file));
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * Checks a file before it is opened: a leftover log means that its process died. Creates its folder.
 *
 * @throws {PlatformError} `database_corrupt` when the file is damaged, now or earlier.
 */
export function checkFile(file: string, checkBytesMax: number, report: (message: string) => void): void {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  if (isDamaged(file)) throw corrupt(file);
  if (sizeOf(`${file}-wal`) === 0 || sizeOf(file) > checkBytesMax) return;
  const found = firstProblem(file);
  if (found !== 'ok') throw setAside(file, found, report);
}

/** `ok`, or the first problem found by `quick_check`. */
export function firstProblem(file: string): string {
  let db: DatabaseSync | null = null;
  try {
    db = new DatabaseSync(file, { returnArrays: true, timeout: 1000 });
    return String((db.prepare('PRAGMA quick_check(1)').get() as unknown as unknown[])[0]);
  } catch (error) {
    const { errcode } = error as { errcode?: number };
    // Only errors about the file count: the database may also be busy, or the disk may be full.
    if (errcode === undefined || ((errcode & 0xff) !== 11 && (errcode & 0xff) !== 26)) return 'ok';
    return (error as Error).message;
  } finally {
    db?.close();
  }
}

/**
 * Renames a damaged file, so that no process writes to it and no data is lost. A marker prevents an empty database from
 * replacing the damaged file.
 */
export function setAside(file: string, reason: string, report: (message: string) => void): PlatformError {
  const aside = `${file}.corrupt-${new Date().toISOString().replace(/[:.]/g, '-')}`;
  writeFileSync(marker(file), JSON.stringify({ aside: path.basename(aside), reason }));
  for (const part of parts) if (existsSync(file + part)) renameSync(file + part, aside + part);
  report(
    `${file} is corrupt (${reason}); it is now ${aside}. Restore a backup, or delete ${marker(file)} to begin with an empty database`,
  );
  return corrupt(file);
}

function corrupt(file: string): PlatformError {
  let reason = 'unknown damage';
  try {
    reason = (JSON.parse(readFileSync(marker(file), 'utf8')) as { reason: string }).reason;
  } catch {
    // The marker file alone is sufficient, even if its reason is unreadable.
  }
  return new PlatformError('database_corrupt', { database: path.basename(file, '.sqlite'), reason });
}

/**
 * Copies a database to a new file while it is in use.
 *
 * @param progress called between steps; if it throws, the copy ends and its file is deleted.
 * @returns its size.
 */
export async function backupTo(file: string, target: string, progress = (): void => {}): Promise<number> {
  mkdirSync(path.dirname(target), { recursive: true, mode: 0o700 });
  const unfinished = `${target}.unfinished`;
  rmSync(unfinished, { force: true });
  // A separate connection and read transaction: a snapshot of the database, regardless of concurrent writes.
  const source = new DatabaseSync(file, { timeout: 1000 });
  try {
    source.exec('BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1');
    await backup(source, unfinished, { rate: PAGES_A_STEP, progress });
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  } finally {
    source.close();
  }
  renameSync(unfinished, target);
  return sizeOf(target);
}

/** Result of branching. */
interface Branch {
  readonly bytes: number;
  /** Whether the branch shares its unchanged blocks with the original, if the file system supports that. */
  readonly shared: boolean;
  /** False means that the database already existed. */
  readonly made: boolean;
}

/**
 * Creates a new database with the content of this one, except messages waiting for a queue. The file system shares the
 * blocks if it can (Btrfs, XFS); otherwise a backup is made. The new file appears atomically.
 *
 * @param unlessThere whether an existing copy is accepted.
 * @throws {SqlRefusal} when there is a database of that name; when a copy would be larger than `branchBytesMax`.
 */
export async function branchTo(
  connection: Connection,
  file: string,
  target: string,
  { branchBytesMax, unlessThere }: { readonly branchBytesMax: number; readonly unlessThere: boolean },
): Promise<Branch> {
  if (isThere(target)) {
    if (!unlessThere) throw new SqlRefusal('SQLITE_MISUSE', 'there is a database of that name already');
    return { bytes: sizeOf(target), shared: false, made: false };
  }
  mkdirSync(path.dirname(target), { recursive: true, mode: 0o700 });
  const unfinished = `${target}.branch`;
  const shared = cloneTo(connection, file, unfinished);
  if (!shared) {
    const bytes = sizeOf(file);
    if (bytes > branchBytesMax)
      throw new SqlRefusal(
        'SQLITE_TOOBIG',
        `a copy of the database, ${bytes} bytes, exceeds DB_MAX_BRANCH_BYTES (${branchBytesMax})`,
      );
    await backupTo(file, unfinished);
  }
  emptyOutbox(unfinished);
  renameSync(unfinished, target);
  return { bytes: sizeOf(target), shared, made: true };
}

/** Copies a file by sharing its blocks. Returns whether that was possible. */
function cloneTo(connection: Connection, file: string, target: string): boolean {
  rmSync(target, { force: true });
  connection.own('PRAGMA wal_checkpoint(TRUNCATE)');
  // The file is complete if its log is empty, and stays complete while writes are locked.
  try {
    connection.own('BEGIN IMMEDIATE');
  } catch (error) {
    // An import holds the write lock until it ends; in the meantime the state before it can be copied.
    if (isBusy(error)) return false;
    throw error;
  }
  try {
    if (sizeOf(`${file}-wal`) !== 0) return false;
    copyFileSync(file, target, constants.COPYFILE_FICLONE_FORCE | constants.COPYFILE_EXCL);
    return true;
  } catch {
    rmSync(target, { force: true });
    return false;
  } finally {
    connection.own('ROLLBACK');
  }
}

/** Deletes the waiting messages of a copy: the original database sends them, and from both, they would arrive twice. */
export function emptyOutbox(file: string): void {
  const db = new DatabaseSync(file);
  try {
    if (db.prepare(findOutbox).get() !== undefined) db.exec(`PRAGMA foreign_keys=OFF; DELETE FROM ${outboxTable}`);
  } finally {
    db.close();
  }
}

/**
 * Replaces a closed database by a copy of another file.
 *
 * @param keep name under which the replaced database is kept, with everything committed; null if it is deleted. @throws
 * {SqlRefusal} when that file is not a valid database; the database is then unchanged.
 */
export function replaceFile(file: string, source: string, keep: string | null = null): void {
  const unfinished = `${file}.unfinished`;
  if (!existsSync(source)) throw new SqlRefusal('SQLITE_CANTOPEN', 'there is no such backup');
  for (const part of ['-wal', '-shm']) rmSync(unfinished + part, { force: true });
  copyFileSync(source, unfinished, constants.COPYFILE_FICLONE);
  // A kept database may have its latest commits in its log; the check moves them into the file.
  if (existsSync(`${source}-wal`)) copyFileSync(`${source}-wal`, `${unfinished}-wal`);
  const found = firstProblem(unfinished);
  for (const part of ['-wal', '-shm']) rmSync(unfinished + part, { force: true });
  if (found !== 'ok') {
    rmSync(unfinished, { force: true });
    throw new SqlRefusal('SQLITE_NOTADB', `the backup is damaged: ${found}`);
  }
  // Both names have the same content, so the kept database is complete even if the process dies here.
  if (keep !== null) for (const part of ['-wal', '']) if (existsSync(file + part)) linkSync(file + part, keep + part);
  for (const part of ['-wal', '-shm']) rmSync(file + part, { force: true });
  renameSync(unfinished, file);
  rmSync(marker(file), { force: true });
}

/**
 * Deletes a closed database, and the marker of a damaged one; the next database starts empty. Files set aside are kept.
 */
export function removeFile(file: string): void {
  for (const part of parts) rmSync(file + part, { force: true });
  rmSync(marker(file), { force: true });
}

/** Maximum number of listed databases of one project. */
const LISTED_MAX = 10_000;

/** The databases in a project's folder, sorted by name; none without a folder. */
export function databasesIn(folder: string, after = ''): { resource: string; bytes: number; changedAt: number }[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith('.sqlite'));
  return names
    .toSorted()
    .filter((name) => name > `${after}.sqlite` || after === '')
    .slice(0, LISTED_MAX)
    .flatMap((name) => {
      const found = statSync(path.join(folder, name), { throwIfNoEntry: false });
      const resource = name.slice(0, -'.sqlite'.length);
      if (found === undefined) return [];
      // The latest writes may be only in the log, not in the file.
      const log = statSync(path.join(folder, `${name}-wal`), { throwIfNoEntry: false });
      const changedAt = Math.round(Math.max(found.mtimeMs, log !== undefined && log.size > 0 ? log.mtimeMs : 0));
      return [{ resource, bytes: found.size, changedAt }];
    });
}
