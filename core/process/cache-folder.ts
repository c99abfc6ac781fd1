// The folder for reproducible files: the guest's snapshot, code caches of workers, Node's compile cache of the
// platform itself. All these files are machine code, so they are only read from a folder that nobody else can write to.
import { chmodSync, mkdirSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

/** `PLATFORM_CACHE_DIR`, else the user's cache folder. */
export function cacheFolder(environment: Readonly<Record<string, string | undefined>>): string {
  const base = environment['XDG_CACHE_HOME'];
  return (
    environment['PLATFORM_CACHE_DIR'] ||
    join(base !== undefined && base !== '' ? base : join(homedir(), '.cache'), 'platform')
  );
}

/**
 * Creates the folder if necessary, and closes it to other users.
 *
 * @throws {Error} when the folder belongs to another user.
 */
export function openCacheFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const owner = statSync(folder);
  if (process.getuid !== undefined && owner.uid !== process.getuid())
    throw new Error(`${folder} belongs to another user: set PLATFORM_CACHE_DIR to a folder of your own`);
  if ((owner.mode & 0o022) !== 0) chmodSync(folder, 0o700);
}

/** Number of builds of the platform that are kept regardless of their age. */
const BUILDS_KEPT_MIN = 4;
/** A build that was used more recently may still be running, from this clone or another. */
const BUILD_UNUSED_MS = 7 * 24 * 3600 * 1000;

/** Marks a build of the platform as used, and removes other builds that were not used for a week. */
export function keepBuild(folder: string, now = Date.now()): void {
  utimesSync(folder, now / 1000, now / 1000);
  const builds = dirname(folder);
  const old = readdirSync(builds)
    .map((name) => join(builds, name))
    .map((one) => ({ one, takenAt: statSync(one, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .toSorted((one, other) => other.takenAt - one.takenAt);
  for (const { one, takenAt } of old.slice(BUILDS_KEPT_MIN))
    if (now - takenAt > BUILD_UNUSED_MS) rmSync(one, { recursive: true, force: true });
}
