// Free disk space, and the size of folders: checked before a build starts and when caches are cleaned. The steps check
// disk usage of a running build.
import { execFile } from 'node:child_process';
import { statfs } from 'node:fs/promises';
import type { Failure } from '#core/failure.ts';
import { noRoom } from '../../steps/disk-watch.ts';

/** Why no data may be written to the folder's disk now; null if there is enough space. */
export async function spaceFailure(folder: string, freeBytesMin: number): Promise<Failure<'build'> | null> {
  if (freeBytesMin === 0) return null;
  const { bavail, bsize } = await statfs(folder).catch(() => ({ bavail: Infinity, bsize: 1 }));
  if (bavail * bsize >= freeBytesMin) return null;
  return noRoom(`${bavail * bsize} bytes are free at ${folder}, and ${freeBytesMin} stay free (DISK_FREE_BYTES_MIN)`);
}

/** Disk usage of a folder; 0 if it cannot be measured. Runs `du`, since a checkout has many files. */
export function bytesOf(folder: string): Promise<number> {
  return new Promise((resolve) => {
    execFile('du', ['-skx', folder], { env: { PATH: process.env['PATH'], LC_ALL: 'C' } }, (_error, output) => {
      resolve((Number.parseInt(output, 10) || 0) * 1024);
    });
  });
}
