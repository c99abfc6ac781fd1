// The cache of a project's builds: what its package manager has downloaded, by the hash of the lockfile. Packages are
// installed from it anew each time, and the manager compares them with the lockfile. It belongs to one project, builds
// of forks never see it, and only a build that worked writes it. Called by install.ts and run-build.ts.
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { copyTree } from './copy-tree.ts';

/** What decides whether a cache is exactly that of a build. */
export interface CacheKey {
  readonly manager: string;
  /** Content of the lockfile. */
  readonly lockfile: string;
}

/** The cache of one build. */
export interface PackageCache {
  /** Fills the build's cache folder. @returns what the log says of it. */
  restore(): Promise<string>;
  /** Keeps what the build's cache folder holds, unless the same is there. @returns what the log says of it. */
  save(): Promise<string | null>;
}

const PREFIX = 'packages-';
const FILES_MAX = 300_000;
/** Sets of packages that are kept: those of two lockfiles, of the main branch and of the one that changes it. */
const KEPT = 2;

/** Key of a cache: platform, Node and manager belong to it, for some packages are made for them. */
export function cacheName({ manager, lockfile }: CacheKey): string {
  const made = [process.platform, process.arch, process.versions.modules, manager].join(' ');
  return `${PREFIX}${createHash('sha256').update(`${made}\n${lockfile}`).digest('hex').slice(0, 32)}`;
}

/**
 * @param store folder of the project's caches @param folder of the build; exists and is empty
 * @param giveAway gives the folder to the build's user
 */
export function openPackageCache(options: {
  readonly store: string;
  readonly folder: string;
  readonly key: CacheKey;
  readonly bytesMax: number;
  readonly giveAway: (folder: string) => Promise<void>;
}): PackageCache {
  const { store, folder, key, bytesMax } = options;
  const name = cacheName(key);
  const bounds = { bytesMax, filesMax: FILES_MAX, without: ['npm/_logs'] };
  return {
    async restore() {
      const entries = await entriesOf(store);
      const entry = entries.find((one) => one.name === name) ?? entries[0];
      if (entry === undefined) return 'No packages are cached yet';
      await rm(folder, { recursive: true, force: true });
      const copied = await copyTree(join(store, entry.name), folder, bounds).catch(() => null);
      if (copied === null) {
        // Half a cache is as good as none.
        await rm(folder, { recursive: true, force: true });
        await mkdir(folder, { mode: 0o700 });
      }
      await options.giveAway(folder);
      if (copied === null) return 'The cached packages cannot be used';
      const now = new Date();
      await utimes(join(store, entry.name), now, now);
      const which = entry.name === name ? 'of this lockfile' : 'of another lockfile';
      return `Using cached packages ${which} (${copied.files} files, ${copied.bytes} bytes)`;
    },
    async save() {
      const entries = await entriesOf(store);
      if (entries.some((one) => one.name === name)) return null;
      await mkdir(store, { recursive: true, mode: 0o700 });
      const temporary = join(store, `.${name}-${randomBytes(6).toString('hex')}`);
      try {
        const copied = await copyTree(folder, temporary, bounds);
        if (copied === null)
          return `The packages are not cached: they have more than ${bytesMax} bytes (BUILD_CACHE_BYTES_MAX)`;
        if (copied.files === 0) return null;
        await rename(temporary, join(store, name));
        for (const { name: old } of entries.slice(KEPT - 1))
          await rm(join(store, old), { recursive: true, force: true });
        return `Cached ${copied.files} files of packages, ${copied.bytes} bytes`;
      } finally {
        await rm(temporary, { recursive: true, force: true });
      }
    },
  };
}

/** Entries, the one that was used last first. */
async function entriesOf(store: string): Promise<{ readonly name: string; readonly usedAt: number }[]> {
  const names = (await readdir(store).catch(() => [])).filter((name) => name.startsWith(PREFIX));
  const entries = await Promise.all(
    names.map(async (name) => ({ name, usedAt: (await stat(join(store, name)).catch(() => null))?.mtimeMs ?? 0 })),
  );
  return entries.toSorted((a, b) => b.usedAt - a.usedAt);
}
