// Processes of a build and their usage, from /proc: for limits without a control group, and to verify that none
// remain. Called by sandbox.ts.
import { readdir, readFile, readlink } from 'node:fs/promises';

/** One process. */
export interface ProcessEntry {
  readonly id: number;
  readonly parent: number;
  readonly group: number;
  readonly uid: number;
  readonly threads: number;
  /** Resident memory not shared with a file, in bytes. */
  readonly bytes: number;
  readonly isDead: boolean;
}

/** All visible processes, except those that end during the read. */
export async function readProcesses(): Promise<ProcessEntry[]> {
  const names = await readdir('/proc').catch(() => []);
  const entries = await Promise.all(names.filter((name) => /^\d+$/.test(name)).map(readEntry));
  return entries.filter((entry) => entry !== null);
}

let lately: { readonly at: number; readonly entries: Promise<ProcessEntry[]> } | null = null;

/**
 * Like {@link readProcesses}, but at most `ageMsMax` old: callers that monitor many programs each second read the table
 * only once.
 */
export async function readProcessesLately(ageMsMax: number): Promise<readonly ProcessEntry[]> {
  const now = performance.now();
  if (lately === null || now - lately.at > ageMsMax) lately = { at: now, entries: readProcesses() };
  return lately.entries;
}

async function readEntry(id: string): Promise<ProcessEntry | null> {
  try {
    return parseProcess(Number(id), await readFile(`/proc/${id}/status`, 'latin1'));
  } catch {
    return null;
  }
}

/** @param status text of /proc/id/status */
export function parseProcess(id: number, status: string): ProcessEntry {
  const value = (key: string): number => Number(new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0);
  return {
    id,
    parent: value('PPid'),
    group: value('NSpgid'),
    uid: value('Uid'),
    threads: value('Threads'),
    bytes: (value('RssAnon') + value('RssShmem')) * 1024,
    isDead: /^State:\s+[ZX]/m.test(status),
  };
}

/**
 * The processes of a build: all of its user, and all descendants or group members of its first process.
 *
 * @param root the id of its first process; 0 if there is none. @param uid null if the build has no separate user.
 */
export function processesOf(entries: readonly ProcessEntry[], root: number, uid: number | null): ProcessEntry[] {
  const found = new Set<number>(root === 0 ? [] : [root]);
  const isKnown = (entry: ProcessEntry): boolean =>
    found.has(entry.id) || (root !== 0 && entry.group === root) || (uid !== null && entry.uid === uid);
  // A parent may have a higher number than its child.
  for (let before = -1; before !== found.size;) {
    before = found.size;
    for (const entry of entries) if (isKnown(entry) || found.has(entry.parent)) found.add(entry.id);
  }
  return entries.filter((entry) => found.has(entry.id) && !entry.isDead);
}

/** Process ids in a process namespace. @param inode its number, as reported by its fence */
export async function processesInNamespace(entries: readonly ProcessEntry[], inode: number): Promise<number[]> {
  return filterProcesses(entries, async (id) => (await readlink(`/proc/${id}/ns/pid`)) === `pid:[${inode}]`);
}

/** Ids of processes that have an environment variable, to find builds without confinement. */
export async function processesWith(entries: readonly ProcessEntry[], variable: string): Promise<number[]> {
  return filterProcesses(entries, async (id) =>
    (await readFile(`/proc/${id}/environ`, 'latin1')).split('\0').includes(variable),
  );
}

async function filterProcesses(
  entries: readonly ProcessEntry[],
  isWanted: (id: number) => Promise<boolean>,
): Promise<number[]> {
  const ids = entries.filter(({ isDead }) => !isDead).map(({ id }) => id);
  const wanted = await Promise.all(ids.map((id) => isWanted(id).catch(() => false)));
  return ids.filter((_, index) => wanted[index]);
}
