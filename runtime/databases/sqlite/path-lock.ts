// A lock on the path of a database between the shard, which replaces and deletes files, and the replicator, which opens
// them: SQLite opens the log and its index by their paths, and later than the file, so that a connection that is opened
// while the file is replaced would use those of the other one. Both hold it for milliseconds, in one piece.
import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';

const PAUSE_MS = 1;
const pause = new Int32Array(new SharedArrayBuffer(4));

/**
 * Runs `work` while nobody else has the lock.
 *
 * @param waitMs how long to wait for it. @returns null: somebody else has it.
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
    // Without its folder there is no file.
    if (code === 'ENOENT') return true;
    if (code !== 'EEXIST') throw error;
    // A process that was killed leaves it.
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
