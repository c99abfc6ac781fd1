// Disk usage of the subfolders of a folder, by name. Measured by `du`, since repositories and caches have many files.
// Called by count.ts.
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
/** Arguments per process. */
const FOLDERS_AT_ONCE = 500;
/** Lower priority than processes that serve requests. */
const NICE = '10';

/** @returns the bytes by folder name; empty if the folder does not exist. */
export async function folderBytes(folder: string): Promise<ReadonlyMap<string, number>> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const bytes = new Map<string, number>();
  for (let at = 0; at < names.length; at += FOLDERS_AT_ONCE) {
    const output = await du(names.slice(at, at + FOLDERS_AT_ONCE).map((name) => join(folder, name)));
    for (const [, kilobytes, name] of output.matchAll(/^(\d+)\t.*\/([^/\n]+)$/gm))
      bytes.set(name!, Number(kilobytes) * 1024);
  }
  return bytes;
}

function du(folders: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    const env = { PATH: process.env['PATH'], LC_ALL: 'C' };
    // The command reports folders that disappear while it runs, but counts the others.
    const words = ['-n', NICE, 'du', '-skx', '--', ...folders];
    execFile('nice', words, { env, maxBuffer: OUTPUT_BYTES_MAX }, (_error, output) => resolve(output));
  });
}
