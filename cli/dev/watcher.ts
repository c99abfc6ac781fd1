// Tells when files of a project change: one watch a folder, installed and generated folders left out (node:fs would
// watch all of node_modules). Called by `platform dev`.
import { readdirSync, statSync, watch, type FSWatcher } from 'node:fs';
import path from 'node:path';
import { CliError } from '../terminal/failure.ts';

/** A running watch. */
export interface Watcher {
  close(): void;
}

const skipped = new Set(['node_modules', '.git', '.platform', '.cache', '.wrangler', '.DS_Store']);
// Logs neither: what is written into one because of a change would be a change again.
/** Editors write a file in several steps; what comes within this time is one change. */
const SETTLE_MS = 8;
/** A bound on watched folders: the kernel's is shared by all programs. */
const FOLDERS_MAX = 5000;

/** What a watch is made of; tests hand in a system that has no more. */
interface WatchParts {
  readonly watch?: typeof watch;
  readonly foldersMax?: number;
  /** Paths, relative to the folder, that count alone; a folder that does not is not looked into. */
  readonly only?: (relative: string) => boolean;
  /** A folder that came later cannot be watched any more; told once. */
  readonly onLimit?: (error: CliError) => void;
}

/**
 * Watches a folder and everything below it.
 *
 * @param ignored paths relative to the folder, whole folders or files, that do not count.
 * @throws {CliError} when the system allows no more watches.
 * @param onChange gets the changed paths, relative and sorted, once they have been quiet for some milliseconds.
 */
export function watchFolder(
  folder: string,
  ignored: readonly string[],
  onChange: (paths: readonly string[]) => void,
  parts: WatchParts = {},
): Watcher {
  const { watch: open = watch, foldersMax: most = FOLDERS_MAX, only = () => true, onLimit = () => {} } = parts;
  let isLimited = false;
  const watched = new Map<string, FSWatcher>();
  const changed = new Set<string>();
  let timer: NodeJS.Timeout | null = null;
  const isIgnored = (relative: string): boolean =>
    relative.split(path.sep).some((part) => skipped.has(part)) ||
    relative.endsWith('.log') ||
    !only(relative) ||
    ignored.some((entry) => relative === entry || relative.startsWith(entry + path.sep));

  const settle = (): void => {
    timer = null;
    const paths = [...changed].sort();
    changed.clear();
    onChange(paths);
  };
  const note = (relative: string): void => {
    changed.add(relative);
    if (timer !== null) clearTimeout(timer);
    timer = setTimeout(settle, SETTLE_MS);
  };
  /** What is made again under a name that was watched is another folder: the old watch would stay silent. */
  const forget = (relative: string): void => {
    for (const [name, watcher] of watched) {
      if (name !== relative && !name.startsWith(relative + path.sep)) continue;
      watcher.close();
      watched.delete(name);
    }
  };
  /** Watches a folder and those below it. `fresh`: what it holds already counts as changed. */
  const add = (relative: string, fresh: boolean): void => {
    if (watched.has(relative)) return;
    const absolute = path.join(folder, relative);
    let entries;
    try {
      if (!statSync(absolute).isDirectory()) return;
      if (watched.size >= most) return limited(fresh, tooManyFolders(most));
      const watcher = open(absolute, (event, name) => {
        if (name === null) return;
        const below = path.join(relative, name);
        if (isIgnored(below)) return;
        note(below);
        if (event === 'rename') forget(below);
        add(below, true);
      });
      watcher.on('error', () => forget(relative));
      watched.set(relative, watcher);
      // Only now: a file made between reading and watching would be missed.
      entries = readdirSync(absolute, { withFileTypes: true });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (error instanceof CliError) throw error;
      if (code === 'ENOSPC' || code === 'EMFILE') return limited(fresh, tooManyWatches());
      // Gone again.
      if (relative !== '') forget(relative);
      return;
    }
    for (const entry of entries) {
      const below = path.join(relative, entry.name);
      if (isIgnored(below)) continue;
      if (fresh) note(below);
      if (entry.isDirectory()) add(below, fresh);
    }
  };
  /** At the start it is for the user to decide; what comes later is served at the next change that is seen. */
  const limited = (fresh: boolean, error: CliError): void => {
    if (!fresh) throw error;
    if (!isLimited) onLimit(error);
    isLimited = true;
  };
  const close = (): void => {
    if (timer !== null) clearTimeout(timer);
    for (const watcher of watched.values()) watcher.close();
    watched.clear();
  };
  try {
    add('', false);
  } catch (error) {
    close();
    throw error;
  }
  return { close };
}

function tooManyFolders(most: number): CliError {
  return new CliError(`There are more than ${most} folders to watch`, {
    advice:
      'Move what is generated out of the project (node_modules and .git are left out anyway), or build once with --no-watch.',
  });
}

function tooManyWatches(): CliError {
  return new CliError('The system allows no more watches on folders', {
    advice: 'Raise fs.inotify.max_user_watches and max_user_instances (sysctl), or build once with --no-watch.',
  });
}
