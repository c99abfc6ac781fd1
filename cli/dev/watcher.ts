// Watches files of a project: one watch per folder, without installed and generated folders (node:fs would watch all
// of node_modules). Called by `platform dev`.
import { readdirSync, statSync, watch, type FSWatcher } from 'node:fs';
import path from 'node:path';
import { CliError } from '../terminal/failure.ts';

/** A running watch. */
export interface Watcher {
  close(): void;
}

const skipped = new Set(['node_modules', '.git', '.platform', '.cache', '.wrangler', '.DS_Store']);
// Log files are ignored too, because writing a log line about a change would be another change.
/** Editors write files in several steps; events within this time count as one change. */
const SETTLE_MS = 8;
/** Maximum number of watched folders: the kernel's limit is shared by all programs. */
const FOLDERS_MAX = 5000;

/** Dependencies of a watch; tests pass a system without free watches. */
interface WatchDeps {
  readonly watch?: typeof watch;
  readonly foldersMax?: number;
  /** Filter of paths, relative to the folder; folders that do not match are skipped. */
  readonly only?: (relative: string) => boolean;
  /** Called once, when a new folder cannot be watched. */
  readonly onLimit?: (error: CliError) => void;
}

/**
 * Watches a folder and everything below it.
 *
 * @param ignored files and folders to ignore, relative to the folder.
 * @throws {CliError} if the system allows no more watches.
 * @param onChange gets the changed paths, relative and sorted, after a few quiet milliseconds.
 */
export function watchFolder(
  folder: string,
  ignored: readonly string[],
  onChange: (paths: readonly string[]) => void,
  deps: WatchDeps = {},
): Watcher {
  const { watch: open = watch, foldersMax: most = FOLDERS_MAX, only = () => true, onLimit = () => {} } = deps;
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
  /** Removes the watch of a deleted folder: a new folder with the same name needs a new watch. */
  const forget = (relative: string): void => {
    for (const [name, watcher] of watched) {
      if (name !== relative && !name.startsWith(relative + path.sep)) continue;
      watcher.close();
      watched.delete(name);
    }
  };
  /** Watches a folder and its subfolders. With `fresh`, the existing files are reported as changed. */
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
      // The entries are read after the watch has started, so that no new file is missed.
      entries = readdirSync(absolute, { withFileTypes: true });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (error instanceof CliError) throw error;
      if (code === 'ENOSPC' || code === 'EMFILE') return limited(fresh, tooManyWatches());
      // Already deleted.
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
  /** At the start, throws the error. Later, changes in unwatched folders take effect with the next detected change. */
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
      'Move generated folders out of the project (node_modules and .git are ignored), or build once with --no-watch.',
  });
}

function tooManyWatches(): CliError {
  return new CliError('The system does not allow more folder watches', {
    advice: 'Raise fs.inotify.max_user_watches and max_user_instances (sysctl), or build once with --no-watch.',
  });
}
