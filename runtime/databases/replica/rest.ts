// What is kept beside a database whose replica has everything, so that the next run goes on without a snapshot: the
// file as it was, and how far its log was read. Used by stream.ts.
import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { LogPosition } from './log-file.ts';

/** How far a log was read; `start`: all that is in it is new. */
export type Position = LogPosition | 'start';

/** The file as it was when all of its log was in it and nothing read it any more. */
export interface Rest {
  readonly inode: string;
  readonly changedAt: string;
  readonly bytes: string;
  readonly position: Position;
}

function restPath(file: string): string {
  return `${file}-replica`;
}

/** The file as it is now; null: there is none. */
export function restOf(file: string, position: Position): Rest | null {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  if (found === undefined) return null;
  return { inode: String(found.ino), changedAt: String(found.mtimeNs), bytes: String(found.size), position };
}

export function isSameFile(rest: Rest, file: string): boolean {
  const now = restOf(file, rest.position);
  return now !== null && now.inode === rest.inode && now.changedAt === rest.changedAt && now.bytes === rest.bytes;
}

/** What the last run left; null: nothing, or nothing that can be read. */
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
