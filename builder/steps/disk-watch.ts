// What a build has written: the free space of the disk is looked at often, since that is cheap, and what lies in the
// build's folders is added up when so much is gone that it could be over its bound. Called by sandbox.ts.
import { execFile } from 'node:child_process';
import { lstat, readdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** What is watched. */
interface DiskBounds {
  readonly folder: string;
  /** Folders of the machine in which a build without namespaces can write too, and whose files there are counted. */
  readonly shared: readonly string[];
  readonly uid: number | null;
  readonly bytesMax: number;
  readonly freeBytesMin: number;
}

/** Without any sign of growth the folder is added up this often. */
const FULL_LOOK_MS = 15_000;
/** And no more often than this, whatever goes on beside it. */
const LEAST_LOOK_MS = 1000;
/** Part of the disk's file entries that stays free. */
const FREE_ENTRIES_MIN = 0.02;

/** What is wrong, in words for the author of the build; null: nothing. */
export type DiskLook = () => Promise<string | null>;

/** @returns looks once; to be called several times a second. */
export async function watchDisk(bounds: DiskBounds): Promise<DiskLook> {
  const freeAtStart = await freeBytes(bounds.folder);
  let usedAtLook = 0;
  let freeAtLook = freeAtStart;
  let lookedAt = performance.now();
  return async () => {
    const { bavail, bsize, files, ffree } = await statfs(bounds.folder);
    const free = bavail * bsize;
    if (free < bounds.freeBytesMin)
      return `The disk of the platform is nearly full: ${free} bytes are free, ${bounds.freeBytesMin} stay free (DISK_FREE_BYTES_MIN)`;
    if (files > 0 && ffree < files * FREE_ENTRIES_MIN) return 'The disk of the platform has hardly room for more files';
    const since = performance.now() - lookedAt;
    const mayHave = usedAtLook + Math.max(0, freeAtLook - free);
    if (since < LEAST_LOOK_MS || (since < FULL_LOOK_MS && mayHave <= bounds.bytesMax)) return null;
    usedAtLook = await usedBytes(bounds);
    freeAtLook = free;
    lookedAt = performance.now();
    if (usedAtLook <= bounds.bytesMax) return null;
    return `The build has written ${usedAtLook} bytes; ${bounds.bytesMax} are allowed (BUILD_DISK_MAX_BYTES)`;
  };
}

/** Top-level entries that a user left in folders that everybody may write to. */
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

async function usedBytes({ folder, shared, uid }: DiskBounds): Promise<number> {
  const others = uid === null ? [] : await leftBehind(shared, uid);
  // One walk of its own process: some folders have 100,000 files.
  const words = ['-skx', '--', folder, ...others];
  const { stdout } = await promisify(execFile)('du', words, { maxBuffer: 2 ** 20 }).catch(
    // It complains of files that go while it looks, and has counted the others.
    (error: { stdout?: string }) => ({ stdout: error.stdout ?? '' }),
  );
  let bytes = 0;
  for (const [, kilobytes] of stdout.matchAll(/^(\d+)\t/gm)) bytes += Number(kilobytes) * 1024;
  return bytes;
}

async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
