// The note next to a database that is fully replicated: the state of its file and the position in its log. With this
// note, the next run of the replicator continues without a snapshot. Used by stream.ts.
import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { LogPosition } from './log-file.ts';

/** The position in the log; `start` means that the whole log is new. */
export type Position = LogPosition | 'start';

/** The state of the file when it contained its whole log and had no readers. */
export interface Rest {
  readonly inode: string;
  readonly changedAt: string;
  readonly bytes: string;
  readonly position: Position;
}

function restPath(file: string): string {
  return `${file}-replica`;
}

/** The current state of the file; null if it does not exist. */
export function restOf(file: string, position: Position): Rest | null {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  if (found === undefined) return null;
  return { inode: String(found.ino), changedAt: String(found.mtimeNs), bytes: String(found.size), position };
}

export function isSameFile(rest: Rest, file: string): boolean {
  const now = restOf(file, rest.position);
  return now !== null && now.inode === rest.inode && now.changedAt === rest.changedAt && now.bytes === rest.bytes;
}

/** The note of the last run; null if it is missing or unreadable. */
export function readRest(file: string): Rest | null {
  if (!existsSync(restPath(file))) return null;
  try {
    return JSON.parse(readFileSync(restPath(file), 'utf8')) as Rest;
  } catch {
    return null;
  }
}

export function keepRest(file: string, rest: Rest): void {
  writeFileSync(`${restPath(file)}.new`, JSON.stringify(rest), { mode: 0o600 });
  renameSync(`${restPath(file)}.new`, restPath(file));
}

export function forgetRest(file: string): void {
  rmSync(restPath(file), { force: true });
}
