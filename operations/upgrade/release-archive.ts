// Release archives of `npm run pack -- archive`: checked by checksum and signature before they are unpacked. Called by
// releases.ts.
import { spawnSync } from 'node:child_process';
import { createHash, createPublicKey, verify, type KeyObject } from 'node:crypto';
import { createReadStream, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { backupError } from '../archive/backup-error.ts';

/** Whether a file is named like a release archive: `platform-<version>-linux-<x64|arm64>.tar.gz`. */
export function isReleaseArchive(file: string): boolean {
  return /^platform-.+-linux-[a-z0-9]+\.tar\.gz$/.test(path.basename(file));
}

/**
 * Checks a release archive and unpacks it to `<home>/releases/<name>-<beginning of its SHA-256>`, atomically; an
 * unpacked archive is reused. install.sh uses the same name.
 *
 * @returns the folder of the release. @throws {Failure} `backup` when the archive is for another system, its checksum
 * is missing or differs, or `home` has a `release.pub` with which the checksum is not signed. The archive is then not
 * unpacked.
 */
export async function unpackRelease(home: string, file: string): Promise<string> {
  const name = path.basename(file);
  const system = `${process.platform}-${process.arch}`;
  if (!name.endsWith(`-${system}.tar.gz`))
    throw backupError('settings', `${name} is not for this machine`, `Use platform-<version>-${system}.tar.gz.`);
  const sum = await checkedSum(file, trustedKey(home));
  const folder = path.join(home, 'releases', `${name.slice(0, -'.tar.gz'.length)}-${sum.slice(0, 12)}`);
  if (existsSync(folder)) return folder;
  const unfinished = `${folder}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true, mode: 0o755 });
  const words = ['-xzf', file, '-C', unfinished, '--strip-components=1', '--no-same-owner'];
  const { status, stderr, error } = spawnSync('tar', words, { encoding: 'utf8' });
  if (status !== 0) {
    rmSync(unfinished, { recursive: true, force: true });
    throw backupError(
      'failed',
      `${name} could not be unpacked: ${error?.message ?? stderr.trim()}`,
      'Nothing was changed. Check the disk space, and that tar and gzip are installed.',
    );
  }
  renameSync(unfinished, folder);
  return folder;
}

/** The key that archives must be signed with; null if none was installed. */
function trustedKey(home: string): KeyObject | null {
  const file = path.join(home, 'release.pub');
  return existsSync(file) ? createPublicKey(readFileSync(file)) : null;
}

/** SHA-256 of the archive, after comparison with the checksum file. */
async function checkedSum(file: string, key: KeyObject | null): Promise<string> {
  const name = path.basename(file);
  const sums = `${file}.sha256`;
  if (!existsSync(sums))
    throw backupError('settings', `There is no ${name}.sha256 beside the archive`, 'Download it too.');
  const text = readFileSync(sums);
  if (key !== null && !isSigned(text, `${sums}.sig`, key))
    throw backupError(
      'settings',
      `${name}.sha256 is not signed with the key of this installation (release.pub)`,
      `Download ${name}.sha256 and ${name}.sha256.sig again from the publisher of your version.`,
    );
  const [, wanted = '', of] = /^([0-9a-f]{64}) [ *](\S+)\n?$/.exec(text.toString('latin1')) ?? [];
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  if (of !== name || hash.digest('hex') !== wanted)
    throw backupError(
      'settings',
      `${name} is damaged or was changed: its SHA-256 is not that of ${name}.sha256`,
      'Nothing was changed. Download both again.',
    );
  return wanted;
}

function isSigned(text: Buffer, file: string, key: KeyObject): boolean {
  if (!existsSync(file)) return false;
  try {
    return verify(null, text, key, readFileSync(file));
  } catch {
    return false;
  }
}
