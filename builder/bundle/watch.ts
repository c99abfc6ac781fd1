// Rebundles when a source file changes, for `platform dev`. Called by runtime/dev/dev.ts and cli/. A change reruns the
// bundler instead of using rolldown's watcher: a small worker takes a few milliseconds either way. Folders are watched
// instead of files, which also covers editors that replace files, and files that do not exist yet.
import { watch as watchFolder, type FSWatcher } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import type { BuildError } from '../project/build-error.ts';
import { bundleInto, type Bundle, type BundleOptions } from './bundle.ts';
import { asBuildError } from './bundler-errors.ts';

/** Result of a change. */
export type WatchResult =
  | { readonly bundle: Bundle; readonly error?: never }
  | { readonly bundle?: never; readonly error: BuildError };

/** A running watch. */
export interface Watch {
  /** Rebundles now, even without a change. */
  rebuild(): void;
  /** Stops the watch; resolves when no bundling is running. */
  close(): Promise<void>;
}

/** Debounce: editors write a file in several steps, and a bundle in between would contain half a file. */
const SETTLE_MS = 4;

/**
 * Bundles immediately and after each change. `onResult` is called with the first result, then with each different
 * result; never concurrently.
 */
export function watch(options: BundleOptions, onResult: (result: WatchResult) => void): Watch {
  const watchers = new Map<string, FSWatcher>();
  const files = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let again = false;
  let closed = false;
  let last = '';

  async function run(): Promise<void> {
    const inputs = new Set<string>([options.entry]);
    const result: WatchResult = await bundleInto(options, inputs).then(
      (bundle) => ({ bundle }),
      (error: unknown) => ({ error: asBuildError(error) }),
    );
    if (closed) return;
    // A failed run may not have read every file, so the files of the last successful run stay watched.
    if (result.bundle) files.clear();
    for (const file of inputs) files.add(file);
    watchFolders(result.error !== undefined);
    const current = result.bundle ? `+${result.bundle.code}` : `-${result.error.message}${result.error.frame}`;
    if (current === last) return;
    last = current;
    onResult(result);
  }

  function start(): void {
    if (closed) return;
    again = running !== undefined;
    if (again) return;
    running = run().finally(() => {
      running = undefined;
      if (again) start();
    });
  }

  function soon(): void {
    clearTimeout(timer);
    timer = setTimeout(start, SETTLE_MS);
  }

  /** After a failure, any change triggers a run: the missing file may have been created. */
  function watchFolders(failed: boolean): void {
    const folders = new Set<string>();
    for (const file of files) {
      if (!file.includes(`${sep}node_modules${sep}`)) folders.add(dirname(file));
    }
    if (failed) folders.add(options.root);
    for (const [folder, watcher] of watchers) {
      if (folders.has(folder)) continue;
      watcher.close();
      watchers.delete(folder);
    }
    for (const folder of folders) {
      if (watchers.has(folder)) continue;
      try {
        const watcher = watchFolder(folder, (_event, name) => {
          if (name === null || last.startsWith('-') || files.has(join(folder, name))) soon();
        });
        watcher.on('error', () => {
          watcher.close();
          watchers.delete(folder);
        });
        watchers.set(folder, watcher);
      } catch {
        // The folder was deleted; the next run reports the missing files.
      }
    }
  }

  start();
  return {
    rebuild: start,
    async close() {
      closed = true;
      clearTimeout(timer);
      for (const watcher of watchers.values()) watcher.close();
      watchers.clear();
      await running;
    },
  };
}
