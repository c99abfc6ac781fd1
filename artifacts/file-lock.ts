// An exclusive lock that dies with its holder: the operating system's file lock, taken through Node's SQLite. The lock
// never becomes stale, not even after kill -9, and containers that share the folder see it too.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** A held lock. */
interface Lock {
  release(): void;
}

/**
 * Takes the lock of a file, or returns null if another process holds it.
 *
 * @param file an empty file, which is created if it does not exist, and never deleted.
 * @param waitMs blocks the thread for up to this time; 0 tries once.
 */
export function takeLock(file: string, waitMs = 0): Lock | null {
  const folder = path.dirname(file);
  mkdirSync(path.dirname(folder), { recursive: true, mode: 0o755 });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const database = new DatabaseSync(file, { timeout: waitMs });
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode === 5) return null;
    throw error;
  }
  return { release: () => database.close() };
}

/** Records the holder of a lock, only for messages, in the file `<file>.pid` next to the lock file. */
export function noteHolder(file: string, pid: number): void {
  writeFileSync(`${file}.pid`, `${pid}\n`, { mode: 0o600 });
}

/** The last recorded holder, or null. */
export function notedHolder(file: string): number | null {
  try {
    return Number(readFileSync(`${file}.pid`, 'utf8').trim()) || null;
  } catch {
    return null;
  }
}
