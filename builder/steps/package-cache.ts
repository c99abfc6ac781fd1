// The download cache of a project's package manager, by the hash of the lockfile. The package manager always installs
// packages from the cache and verifies them against the lockfile. A cache belongs to one project, is never used for
// forks, and is only written by successful builds. Called by install.ts and run-build.ts.
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { copyTree } from './copy-tree.ts';

/** The key of a cache. */
interface CacheKey {
  readonly manager: string;
  /** Content of the lockfile. */
  readonly lockfile: string;
}

/** The cache of one build. */
export interface PackageCache {
  /** Fills the build's cache folder. @returns a line for the log. */
  restore(): Promise<string>;
  /** Saves the build's cache folder, unless it is unchanged. @returns a line for the log. */
  save(): Promise<string | null>;
}

const PREFIX = 'packages-';
const FILES_MAX = 300_000;
/** Maximum number of caches per project: two lockfiles, of the main branch and of a branch that changes it. */
const KEPT = 2;

/** Key of a cache; includes platform, Node and package manager, since some packages depend on them. */
function cacheName({ manager, lockfile }: CacheKey): string {
  const made = [process.platform, process.arch, process.versions.modules, manager].join(' ');
  return `${PREFIX}${createHash('sha256').update(`${made}\n${lockfile}`).digest('hex').slice(0, 32)}`;
}

/**
 * @param store folder of the project's caches @param folder the folder of the build; must exist and be empty
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
        // An incomplete cache is discarded.
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

/** Entries, most recently used first. */
async function entriesOf(store: string): Promise<{ readonly name: string; readonly usedAt: number }[]> {
  const names = (await readdir(store).catch(() => [])).filter((name) => name.startsWith(PREFIX));
  const entries = await Promise.all(
    names.map(async (name) => ({ name, usedAt: (await stat(join(store, name)).catch(() => null))?.mtimeMs ?? 0 })),
  );
  return entries.toSorted((a, b) => b.usedAt - a.usedAt);
}
