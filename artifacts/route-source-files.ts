// Route records from `<FS_PATH>/routes/*.json`, watched. A file that becomes invalid keeps its last good version and is
// reported. Only changed files are read, because a deploy changes one file out of thousands.
import { createHash } from 'node:crypto';
import { readFileSync, statSync, watch, type BigIntStats } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { RouteRecord } from '#core/manifest.ts';
import { parseRouteRecord } from './route-record.ts';
import type { RouteProblem, RouteRecordChange, RouteSource } from './route-source.ts';

/** Wait before files are read, because one write causes several events. */
const SETTLE_MS = 10;
/**
 * Polling interval, for file systems that do not report changes. Only the folder is checked, which every replaced,
 * added or removed file changes, because checking a hundred thousand files takes seconds.
 */
const POLL_MS = 2000;
const REPORT_MS = 100;
/** All files are checked at intervals, to detect files written in place: this uses at most a hundredth of the time. */
const FULL_MS = 30_000;
const FULL_SHARE = 0.01;
/** A file may change again within one tick of the file system's clock. */
const STALE_MS = 1000;

interface RouteFile {
  /** A value that changes with the file; empty while the file is too new for it to be reliable. */
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
  /** The files that the listeners have received. */
  const shown = new Map<string, RouteFile>();
  /** The records of `shown`; null until they are needed. */
  let routes: readonly RouteRecord[] | null = null;
  const listeners: ((changes: readonly RouteRecordChange[]) => void)[] = [];
  let reading: Promise<void> | null = null;
  /** Names reported by the watcher since the last read; null means all of them. */
  let next: Set<string> | null = new Set();
  let folderStamp = '';
  /** Whether a change was reported since the last read. */
  let isTold = false;
  /** Whether this file system has ever reported a change. */
  let reports = false;
  let fullAt = 0;
  let fullTookMs = 0;
  let closed = false;
  /**
   * False during the first read. No requests are served yet, so files are read synchronously, which is four times as
   * fast.
   */
  let isOpen = false;

  async function readAll(): Promise<RouteRecordChange[]> {
    const began = performance.now();
    const { stamp, isYoung } = await stampOf(folder);
    folderStamp = isYoung && !reports ? '' : stamp;
    const names = new Set((await readdir(folder)).filter((name) => name.endsWith('.json')));
    const changes = await readNames([...names, ...[...files.keys()].filter((name) => !names.has(name))]);
    fullAt = performance.now();
    fullTookMs = fullAt - began;
    return changes;
  }

  async function readNames(names: Iterable<string>): Promise<RouteRecordChange[]> {
    const changed: string[] = [];
    for (const name of names) if (await readOne(name)) changed.push(name);
    // Touches only the changed files, not all of them.
    return changed.map((name) => {
      const file = files.get(name);
      if (file === undefined) shown.delete(name);
      else shown.set(name, file);
      routes = null;
      return { project: name.slice(0, -'.json'.length), record: file?.record ?? null };
    });
  }

  /** Reads the reported files. The folder's stamp is read first, so that later changes are noticed. */
  async function readTold(names: Iterable<string>): Promise<RouteRecordChange[]> {
    folderStamp = (await stampOf(folder)).stamp;
    return readNames(names);
  }

  function readRoutes(): readonly RouteRecord[] {
    const sorted = [...shown].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return sorted.flatMap(([, { record }]) => (record === null ? [] : [record]));
  }

  async function readOne(name: string): Promise<boolean> {
    const before = files.get(name);
    try {
      const path = join(folder, name);
      const { stamp: seen, isYoung } = isOpen ? await stampOf(path) : stampIn(statSync(path, { bigint: true }));
      const stamp = isYoung ? '' : seen;
      if (before !== undefined && stamp !== '' && stamp === before.stamp) return false;
      const text = isOpen ? await readFile(path, 'utf8') : readFileSync(path, 'utf8');
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
    if (reading !== null || (next !== null && !isTold)) return;
    const names = next;
    next = new Set();
    isTold = false;
    reading = (names === null ? readAll() : readTold(names))
      .then((changes) => {
        if (changes.length > 0 && !closed) for (const listener of listeners) listener(changes);
      })
      .catch((error: Error) => options.onProblem({ file: folder, reason: error.message }))
      .finally(() => {
        reading = null;
        refresh();
      });
  }

  async function look(): Promise<void> {
    if (performance.now() - fullAt < Math.max(FULL_MS, fullTookMs / FULL_SHARE)) {
      if (await isKnown()) return;
      // The watcher may be about to report the change.
      await delay(REPORT_MS, undefined, { ref: false });
      if (closed || (await isKnown())) return;
    }
    next = null;
    refresh();
  }

  /**
   * Whether all changes of the folder are known. A folder that has just changed counts as known if the file system
   * reports changes, since a report will follow.
   */
  async function isKnown(): Promise<boolean> {
    const seen = await stampOf(folder).catch(() => null);
    return seen?.stamp === folderStamp || (reports && seen?.isYoung === true);
  }

  await readAll();
  isOpen = true;
  let settling: NodeJS.Timeout | null = null;
  const watcher = watch(folder, (_event, name) => {
    isTold = true;
    reports = true;
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
      return (routes ??= readRoutes());
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

/**
 * Returns a value that changes with the file. While `isYoung`, the value may miss a second change, because the last
 * change is too recent.
 */
async function stampOf(path: string): Promise<{ readonly stamp: string; readonly isYoung: boolean }> {
  return stampIn(await stat(path, { bigint: true }));
}

function stampIn({ mtimeNs, size, ino }: BigIntStats): { readonly stamp: string; readonly isYoung: boolean } {
  return { stamp: `${mtimeNs} ${size} ${ino}`, isYoung: Date.now() - Number(mtimeNs / 1_000_000n) < STALE_MS };
}
