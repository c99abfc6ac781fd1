// Route records in the data folder of a platform on this machine: read, and changed under a lock. Called by
// publish.ts and commands that change a project's routes. The handler sees either the old record or the new one.
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { Failure } from '#core/failure.ts';
import type { RouteRecord } from '#core/manifest.ts';
import { isProjectName } from '#core/names.ts';
import { parseRouteRecord } from './route-record.ts';
import { takeLock } from './file-lock.ts';

const LOCK_WAIT_MS = 10_000;

/** All readable records in a data folder, by project; the handler reports the others. */
export function readRoutes(dataFolder: string): RouteRecord[] {
  const folder = path.join(dataFolder, 'routes');
  if (!existsSync(folder)) return [];
  const projects = readdirSync(folder).flatMap((name) =>
    name.endsWith('.json') ? [name.slice(0, -'.json'.length)] : [],
  );
  return projects
    .filter(isProjectName)
    .sort()
    .flatMap((project) => {
      try {
        return readRoute(dataFolder, project) ?? [];
      } catch {
        return [];
      }
    });
}

/** The record of a project, or null. @throws {Failure} `publish` that names a broken file. */
export function readRoute(dataFolder: string, project: string): RouteRecord | null {
  const file = fileOf(dataFolder, project);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  try {
    return parseRouteRecord(text);
  } catch (error) {
    const reason = error instanceof SyntaxError ? 'is not JSON' : `cannot be used: ${(error as Error).message}`;
    throw new Failure('publish', `This route record ${reason}`, {
      file,
      advice: 'Restore or delete the file, then deploy again.',
    });
  }
}

/**
 * Changes the record of a project; concurrent changes are serialized.
 *
 * @param change receives the current record and returns the next one; if it returns the same object, nothing is
 * written.
 * @throws {Failure} `publish` when the data folder cannot be written.
 */
export function changeRoute(
  dataFolder: string,
  project: string,
  change: (before: RouteRecord) => RouteRecord,
): RouteRecord {
  return locked(dataFolder, () => {
    const before = readRoute(dataFolder, project) ?? emptyRoute(project);
    const route = change(before);
    if (route !== before) replaceFile(dataFolder, fileOf(dataFolder, project), recordText(route));
    return route;
  });
}

/**
 * Replaces a project's whole record; an identical record is not written.
 *
 * @throws {Failure} `publish` as `changeRoute`.
 */
export function replaceRoute(dataFolder: string, record: RouteRecord): void {
  const file = fileOf(dataFolder, record.project);
  const text = recordText(record);
  locked(dataFolder, () => {
    if (!existsSync(file) || readFileSync(file, 'utf8') !== text) replaceFile(dataFolder, file, text);
  });
}

/** A record as text for its file. */
export function recordText(record: RouteRecord): string {
  return `${JSON.stringify(record, null, 2)}\n`;
}

/** Deletes the record of a project, which is then no longer served. @throws {Failure} `publish` as `changeRoute`. */
export function removeRoute(dataFolder: string, project: string): void {
  locked(dataFolder, () => rmSync(fileOf(dataFolder, project), { force: true }));
}

function locked<Result>(dataFolder: string, work: () => Result): Result {
  return writable(dataFolder, () => {
    const lock = takeLock(path.join(dataFolder, 'locks', 'routes'), LOCK_WAIT_MS);
    if (lock === null)
      throw new Failure('publish', `Another deploy holds ${dataFolder} for more than ${LOCK_WAIT_MS / 1000} s`, {
        advice: 'Try again.',
      });
    try {
      return work();
    } finally {
      lock.release();
    }
  });
}

/**
 * Replaces a file of `routes/` without the lock, for the only process that writes there.
 *
 * @param name such as `shop.json`. @param text the new text; null if the file is deleted.
 */
export function replaceRouteFile(dataFolder: string, name: string, text: string | null): void {
  const file = path.join(dataFolder, 'routes', name);
  if (text === null) rmSync(file, { force: true });
  else replaceFile(dataFolder, file, text);
}

/** SHA-256 of a project's written record, in hex. */
export function recordHash(dataFolder: string, project: string): string {
  return createHash('sha256')
    .update(readFileSync(fileOf(dataFolder, project)))
    .digest('hex');
}

/** Runs work that writes to a data folder; errors of the system are reported with instructions. */
export function writable<Result>(dataFolder: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOSPC')
      throw new Failure('publish', `No space left in ${dataFolder}: nothing was changed`, {
        advice: 'Free some space and try again.',
      });
    if (code === 'EACCES' || code === 'EROFS' || code === 'EPERM') {
      throw new Failure('publish', `${dataFolder} cannot be written: nothing was changed`, {
        advice: 'Run this as the user who started the platform, or set FS_PATH to your own data folder.',
      });
    }
    throw error;
  }
}

/** A folder in the data folder, readable only by its owner: records contain variables, artifacts code. */
function makeFolder(folder: string): void {
  mkdirSync(path.dirname(folder), { recursive: true, mode: 0o755 });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
}

/**
 * A temporary folder inside the destination folder, which may be a separate volume, so that a rename from it is
 * atomic. Names that begin with a dot are ignored by readers.
 */
export function temporaryFolder(dataFolder: string, within: 'artifacts' | 'routes'): string {
  const parent = path.join(dataFolder, within);
  makeFolder(parent);
  return mkdtempSync(path.join(parent, '.incoming-'));
}

function fileOf(dataFolder: string, project: string): string {
  return path.join(dataFolder, 'routes', `${project}.json`);
}

function emptyRoute(project: string): RouteRecord {
  return { version: 1, project, plan: 'free', vars: {}, domains: [], production: null, branches: {}, deployments: {} };
}

/**
 * Written and synced under another name, then renamed over the old file: a reader never sees half a file, even after a
 * power failure.
 */
function replaceFile(dataFolder: string, file: string, text: string): void {
  const incoming = temporaryFolder(dataFolder, 'routes');
  try {
    const beside = path.join(incoming, path.basename(file));
    // It contains variables.
    const descriptor = openSync(beside, 'w', 0o600);
    try {
      writeSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(beside, file);
  } finally {
    rmSync(incoming, { recursive: true, force: true });
  }
}
