// Copies a tree of regular files between owners: no links, no special files, only owner permissions. Used for caches,
// which are copied from the build's user to the platform's user and back. Called by package-cache.ts.
import { constants } from 'node:fs';
import { chmod, copyFile, lstat, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** The size of the copy; null means it exceeded its limits. */
interface Copied {
  readonly files: number;
  readonly bytes: number;
}

interface CopyLimits {
  readonly bytesMax: number;
  readonly filesMax: number;
  /** Names of folders that are skipped. */
  readonly without?: readonly string[];
}

const AT_ONCE = 16;
const RIGHTS_OF_OTHERS = 0o7077;
const PATH_CHARS_MAX = 3000;

/**
 * @param to the target, which must not exist; it stays incomplete if a limit is exceeded.
 * @returns null if the tree exceeds its limits.
 */
export async function copyTree(from: string, to: string, limits: CopyLimits): Promise<Copied | null> {
  let files = 0;
  let bytes = 0;
  const isOver = (): boolean => bytes > limits.bytesMax || files > limits.filesMax;
  const waiting = [''];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    await mkdir(join(to, folder), { mode: 0o700 });
    const names = await readdir(join(from, folder));
    for (let at = 0; at < names.length; at += AT_ONCE) {
      const some = names.slice(at, at + AT_ONCE).map((name) => join(folder, name));
      await Promise.all(
        some.map(async (path) => {
          const info = await lstat(join(from, path));
          if (info.isDirectory() && limits.without?.includes(path) !== true && path.length < PATH_CHARS_MAX)
            waiting.push(path);
          // Setuid files do not belong in a cache.
          if (!info.isFile() || (info.mode & 0o7000) !== 0) return;
          // The size is counted first, because a copy of a sparse or hard-linked file takes its full size.
          files++;
          bytes += info.size;
          if (isOver()) return;
          const target = join(to, path);
          await copyFile(join(from, path), target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
          const mode = (info.mode | 0o600) & 0o777;
          if ((info.mode & RIGHTS_OF_OTHERS) !== 0 || mode !== (info.mode & 0o777))
            await chmod(target, mode & ~RIGHTS_OF_OTHERS);
        }),
      );
      if (isOver()) return null;
    }
  }
  return { files, bytes };
}
