// Route records from `<FS_PATH>/routes/*.json`, watched. A file that breaks keeps its last good version and is reported.
import { watch } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RouteRecord } from '#core/manifest.ts';
import { parseRouteRecord } from './route-record.ts';
import type { RouteProblem, RouteSource } from './route-source.ts';

/** Changes of one write come as several events. */
const SETTLE_MS = 10;
/** A file system that does not report changes is still read. */
const POLL_MS = 2000;

/** Reads all records of a folder, then follows its changes. */
export async function openRouteFiles(options: { folder: string; onProblem: (problem: RouteProblem) => void }): Promise<RouteSource> {
  const folder = join(options.folder, 'routes');
  let texts = new Map<string, { text: string; record: RouteRecord | null }>();
  let routes: readonly RouteRecord[] = [];
  const listeners: (() => void)[] = [];
  let reading: Promise<void> | null = null;
  let again = false;
  let closed = false;

  async function readAll(): Promise<boolean> {
    const next: typeof texts = new Map();
    let changed = false;
    for (const name of (await readdir(folder)).filter((file) => file.endsWith('.json')).toSorted()) {
      const before = texts.get(name);
      const text = await readFile(join(folder, name), 'utf8').catch((error: NodeJS.ErrnoException) => error);
      if (typeof text !== 'string') {
        if (text.code === 'ENOENT') continue;
        options.onProblem({ file: join(folder, name), reason: text.message });
        if (before !== undefined) next.set(name, before);
        continue;
      }
      if (before?.text === text) {
        next.set(name, before);
        continue;
      }
      changed = true;
      next.set(name, { text, record: parse(name, text) ?? before?.record ?? null });
    }
    changed ||= next.size !== texts.size;
    texts = next;
    if (changed) routes = [...next.values()].flatMap(({ record }) => (record === null ? [] : [record]));
    return changed;
  }

  function parse(name: string, text: string): RouteRecord | null {
    try {
      const record = parseRouteRecord(text);
      if (`${record.project}.json` !== name) throw new Error(`/project is "${record.project}", so the file must be ${record.project}.json`);
      return record;
    } catch (error) {
      options.onProblem({ file: join(folder, name), reason: (error as Error).message });
      return null;
    }
  }

  function refresh(): void {
    if (reading !== null) {
      again = true;
      return;
    }
    reading = readAll()
      .then((changed) => {
        if (changed && !closed) for (const listener of listeners) listener();
      })
      .catch((error: Error) => options.onProblem({ file: folder, reason: error.message }))
      .finally(() => {
        reading = null;
        if (again) {
          again = false;
          refresh();
        }
      });
  }

  await readAll();
  let settling: NodeJS.Timeout | null = null;
  const watcher = watch(folder, () => {
    settling ??= setTimeout(() => {
      settling = null;
      refresh();
    }, SETTLE_MS);
  });
  watcher.on('error', (error) => options.onProblem({ file: folder, reason: error.message }));
  const poll = setInterval(refresh, POLL_MS).unref();

  return {
    get routes() {
      return routes;
    },
    onChange: (listener) => void listeners.push(listener),
    close() {
      closed = true;
      watcher.close();
      clearInterval(poll);
      if (settling !== null) clearTimeout(settling);
    },
  };
}
