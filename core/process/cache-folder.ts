// The folder for what can be made again: the guest's snapshot, compiled forms of workers, what Node compiled of the
// platform itself. All of that is machine code, so it is only ever read from a folder that nobody else can write to.
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
 * Makes the folder where there is none, and closes it to others.
 *
 * @throws {Error} when it belongs to somebody else.
 */
export function openCacheFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const owner = statSync(folder);
  if (process.getuid !== undefined && owner.uid !== process.getuid())
    throw new Error(`${folder} belongs to another user: set PLATFORM_CACHE_DIR to a folder of your own`);
  if ((owner.mode & 0o022) !== 0) chmodSync(folder, 0o700);
}

/** Builds that stay, however old. */
const BUILDS_KEPT_MIN = 4;
/** One that was taken later may be served still, by this clone or another. */
const BUILD_UNUSED_MS = 7 * 24 * 3600 * 1000;

/** Notes that a build is taken now, and removes builds beside it that nobody took for a week. */
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
