// A lock on the path of a database. The shard takes it to replace or delete files, the replicator to open them. SQLite
// opens the log and its index by path, after the file, so a connection opened during a replacement would use the log of
// the other file. Both hold the lock for milliseconds, without interruption.
import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';

const PAUSE_MS = 1;
const pause = new Int32Array(new SharedArrayBuffer(4));

/**
 * Runs `work` while holding the lock.
 *
 * @param waitMs how long to wait for the lock. @returns null if another process holds the lock.
 */
export function withPathLock<Result>(file: string, waitMs: number, work: () => Result): Result | null {
  const lock = `${file}-path-lock`;
  const until = performance.now() + waitMs;
  while (!take(lock)) {
    if (performance.now() > until) return null;
    Atomics.wait(pause, 0, 0, PAUSE_MS);
  }
  try {
    return work();
  } finally {
    rmSync(lock, { force: true });
  }
}

function take(lock: string): boolean {
  try {
    const descriptor = openSync(lock, 'wx', 0o600);
    writeSync(descriptor, String(process.pid));
    closeSync(descriptor);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // If the folder does not exist, there is no file to lock.
    if (code === 'ENOENT') return true;
    if (code !== 'EEXIST') throw error;
    // A killed process leaves the lock behind.
    if (isDead(lock)) rmSync(lock, { force: true });
    return false;
  }
}

function isDead(lock: string): boolean {
  try {
    const pid = Number(readFileSync(lock, 'utf8'));
    if (pid === 0) return false;
    if (pid === process.pid) return true;
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
