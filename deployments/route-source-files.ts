// Route records from `<FS_PATH>/routes/*.json`, watched. A file that breaks keeps its last good version and is
// reported. Only files that changed are read: of ten thousand, one deploy touches one.
import { createHash } from 'node:crypto';
import { watch } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { RouteRecord } from '#core/manifest.ts';
import { parseRouteRecord } from './route-record.ts';
import type { RouteProblem, RouteSource } from './route-source.ts';

/** Changes of one write come as several events. */
const SETTLE_MS = 10;
/**
 * A file system that does not report changes is still looked at: a file that is replaced, added or removed changes its
 * folder.
 */
const POLL_MS = 2000;
/** Every so many looks all files are looked at, for those that are written in place. */
const FULL_EVERY = 15;
/** A file may change once more within the same tick of the file system's clock. */
const STALE_MS = 1000;

interface RouteFile {
  /** What a change of the file changes; empty while that may not be relied on yet. */
  readonly stamp: string;
  readonly text: string;
  readonly record: RouteRecord | null;
}

/** Reads all records of a folder, then follows its changes. */
export async function openRouteFiles(options: {
  folder: string;
  onProblem: (problem: RouteProblem) => void;
}): Promise<RouteSource> {
  const folder = join(options.folder, 'routes');
  const files = new Map<string, RouteFile>();
  /** The files that `routes` was made of. */
  let shown = new Map<string, RouteFile>();
  let routes: readonly RouteRecord[] = [];
  const listeners: (() => void)[] = [];
  let reading: Promise<void> | null = null;
  /** Names that the watcher gave since the last reading; null: all of them. */
  let next: Set<string> | null = new Set();
  let folderStamp = '';
  let polls = 0;
  let closed = false;

  async function readAll(): Promise<boolean> {
    folderStamp = await stampOf(folder);
    const names = new Set((await readdir(folder)).filter((name) => name.endsWith('.json')));
    return readNames([...names, ...[...files.keys()].filter((name) => !names.has(name))]);
  }

  async function readNames(names: Iterable<string>): Promise<boolean> {
    let changed = false;
    for (const name of names) if (await readOne(name)) changed = true;
    if (changed) {
      shown = new Map(files);
      const sorted = [...files].toSorted(([a], [b]) => (a < b ? -1 : 1));
      routes = sorted.flatMap(([, { record }]) => (record === null ? [] : [record]));
    }
    return changed;
  }

  async function readOne(name: string): Promise<boolean> {
    const before = files.get(name);
    try {
      const stamp = await stampOf(join(folder, name));
      if (before !== undefined && stamp !== '' && stamp === before.stamp) return false;
      const text = await readFile(join(folder, name), 'utf8');
      const same = before?.text === text;
      files.set(name, { stamp, text, record: same ? before.record : (parse(name, text) ?? before?.record ?? null) });
      return !same;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return files.delete(name);
      options.onProblem({ file: join(folder, name), reason: message });
      return false;
    }
  }

  function parse(name: string, text: string): RouteRecord | null {
    try {
      const record = parseRouteRecord(text);
      if (`${record.project}.json` !== name)
        throw new Error(`/project is "${record.project}", so the file must be ${record.project}.json`);
      return record;
    } catch (error) {
      options.onProblem({ file: join(folder, name), reason: (error as Error).message });
      return null;
    }
  }

  function refresh(): void {
    if (reading !== null || (next !== null && next.size === 0)) return;
    const names = next;
    next = new Set();
    reading = (names === null ? readAll() : readNames(names))
      .then((changed) => {
        if (changed && !closed) for (const listener of listeners) listener();
      })
      .catch((error: Error) => options.onProblem({ file: folder, reason: error.message }))
      .finally(() => {
        reading = null;
        refresh();
      });
  }

  async function look(): Promise<void> {
    const isFull = ++polls % FULL_EVERY === 0;
    if (!isFull && folderStamp !== '' && (await stampOf(folder).catch(() => '')) === folderStamp) return;
    next = null;
    refresh();
  }

  await readAll();
  let settling: NodeJS.Timeout | null = null;
  const watcher = watch(folder, (_event, name) => {
    if (name === null) next = null;
    else if (name.endsWith('.json')) next?.add(name);
    settling ??= setTimeout(() => {
      settling = null;
      refresh();
    }, SETTLE_MS);
  });
  watcher.on('error', (error) => options.onProblem({ file: folder, reason: error.message }));
  const poll = setInterval(() => void look(), POLL_MS).unref();

  return {
    get routes() {
      return routes;
    },
    hashOf(project) {
      const file = shown.get(`${project}.json`);
      return file === undefined ? null : createHash('sha256').update(file.text).digest('hex');
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

/** Changes with the file; empty while it is so young that another change may not show. */
async function stampOf(path: string): Promise<string> {
  const { mtimeNs, size, ino } = await stat(path, { bigint: true });
  return Date.now() - Number(mtimeNs / 1_000_000n) < STALE_MS ? '' : `${mtimeNs} ${size} ${ino}`;
}
