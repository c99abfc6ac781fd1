// Limits the bytes that a build writes. Free disk space is polled often, since that is cheap; the build's folders are
// measured only when enough space was used to possibly exceed the limit. Called by fence.ts.
import { execFile } from 'node:child_process';
import { lstat, readdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Failure } from '#core/failure.ts';
import { buildFailure } from './types.ts';

/** What to watch. */
interface DiskLimits {
  readonly folder: string;
  /** Shared folders of the machine that a build without namespaces can write to; its files there are counted. */
  readonly shared: readonly string[];
  readonly uid: number | null;
  readonly bytesMax: number;
  readonly filesMax: number;
  readonly freeBytesMin: number;
}

/** Size of the folders. */
interface Amount {
  readonly bytes: number;
  readonly files: number;
}

/** The folder is measured at least this often. */
const FULL_LOOK_MS = 15_000;
/** The minimum interval between measurements. */
const LEAST_LOOK_MS = 1000;
/** Fraction of the disk's inodes to keep free. */
const FREE_ENTRIES_MIN = 0.02;

/** The exceeded limit, as a message for the build's author, or null. */
type DiskLook = () => Promise<Failure<'build'> | null>;

/** @returns a function that checks once; call it several times a second. */
export async function watchDisk(limits: DiskLimits): Promise<DiskLook> {
  const { folder, bytesMax, filesMax, freeBytesMin } = limits;
  let used: Amount = { bytes: 0, files: 0 };
  let freeAtLook = await freeOf(folder);
  let lookedAt = performance.now();
  return async () => {
    const free = await freeOf(folder);
    if (free.bytes < freeBytesMin || free.files < free.filesMin)
      return noRoom(`${free.bytes} bytes and ${free.files} file entries are free at ${folder}`);
    const since = performance.now() - lookedAt;
    const mayHave = (of: keyof Amount): number => used[of] + Math.max(0, freeAtLook[of] - free[of]);
    if (since < LEAST_LOOK_MS) return null;
    if (since < FULL_LOOK_MS && mayHave('bytes') <= bytesMax && mayHave('files') <= filesMax) return null;
    used = await amountOf(limits);
    freeAtLook = free;
    lookedAt = performance.now();
    if (used.bytes > bytesMax)
      return buildFailure(
        'disk_full',
        `The build has written ${used.bytes} bytes; ${bytesMax} are allowed (BUILD_DISK_MAX_BYTES)`,
      );
    if (used.files > filesMax)
      return buildFailure(
        'too_many_files',
        `The build has made ${used.files} files and folders; ${filesMax} are allowed at a time (BUILD_FILES_MAX)`,
      );
    return null;
  };
}

/**
 * The failure of a build when the platform's disk is full. @param why the reason, for the operator's log; tenants see
 * no details of the machine.
 */
export function noRoom(why: string): Failure<'build'> {
  const message = 'The disk of the platform is too full for this build: deploy again when the operator has freed space';
  return buildFailure('disk_full', message, { cause: new Error(why) });
}

/** A user's top-level entries in world-writable folders. */
export async function leftBehind(folders: readonly string[], uid: number): Promise<string[]> {
  const found: string[] = [];
  for (const folder of folders) {
    for (const name of await readdir(folder).catch(() => [])) {
      const info = await lstat(join(folder, name)).catch(() => null);
      if (info?.uid === uid) found.push(join(folder, name));
    }
  }
  return found;
}

async function amountOf({ folder, shared, uid }: DiskLimits): Promise<Amount> {
  const others = uid === null ? [] : await leftBehind(shared, uid);
  const [kilobytes, files] = await Promise.all([
    sumOf(['-skx', '--', folder, ...others]),
    sumOf(['-sx', '--inodes', '--', folder, ...others]),
  ]);
  return { bytes: kilobytes * 1024, files };
}

/** Runs `du` as a separate process: some folders have 100,000 files. */
async function sumOf(words: readonly string[]): Promise<number> {
  const { stdout } = await promisify(execFile)('du', words, { maxBuffer: 2 ** 20 }).catch(
    // The command reports errors for files that were deleted in the meantime, but has counted the others.
    (error: { stdout?: string }) => ({ stdout: error.stdout ?? '' }),
  );
  let sum = 0;
  for (const [, count] of stdout.matchAll(/^(\d+)\t/gm)) sum += Number(count);
  return sum;
}

/** File systems without a fixed number of inodes report 0: there, files have to be counted. */
async function freeOf(folder: string): Promise<Amount & { readonly filesMin: number }> {
  const { bavail, bsize, files, ffree } = await statfs(folder);
  return { bytes: bavail * bsize, files: ffree, filesMin: files * FREE_ENTRIES_MIN };
}
