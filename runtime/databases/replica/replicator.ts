// Root of the replicator: the process that keeps replicas of databases in a bucket and restores from them. Started by
// service/replication.ts, which reports changes; reads the variables of the bucket from its environment.
import { readdirSync, statfsSync, statSync } from 'node:fs';
import { setPriority } from 'node:os';
import path from 'node:path';
import { SqlRefusal } from '#core/database-request.ts';
import { StorageGuard } from '#core/storage-left.ts';
import { openReplicaFence } from '../../stores/replica-fence-postgres.ts';
import type { ReplicatorMessage, ReplicatorOptions, ReplicatorRequest } from '../protocol/replicator-messages.ts';
import { isDatabaseName, projectOf } from '../protocol/database-name.ts';
import { LeaseEnd, LONG_AGO } from '../protocol/lease-clock.ts';
import { Home } from './home.ts';
import { isReplicated } from './replicated.ts';
import { objectsOf, restoreAt } from './restore.ts';
import { Schedule } from './schedule.ts';
import { rangeOf, readName, unneeded } from './series.ts';
import { replicaSettings } from './settings.ts';
import { openReplicaStorage } from './storage.ts';
import { DatabaseStream } from './stream.ts';

const NICE = 5;
const DAY_MS = 86_400_000;
const [SWEEP_MS, EXPIRE_MS, FIGURES_MS] = [30_000, 6 * 3_600_000, 1000];
const RESTORE_ATTEMPTS = 3;
/** Concurrent restores; each holds some parts of a snapshot in memory. */
const RESTORES_MAX = 2;
const FILL_AT_ONCE = 4;
/** The last moment that a Date supports; no object is later. */
const LATEST = 8_640_000_000_000_000;
const SWEEP_SOON_MS = 50;

const { directory, dataFolder, limits, isShared } = JSON.parse(process.argv[2] ?? '') as ReplicatorOptions;
const settings = replicaSettings(process.env);
if (settings === null) throw new Error('no DB_REPLICA_S3_* is set');
try {
  setPriority(NICE);
} catch {
  // Some sandboxes do not allow this call.
}

const tell = (message: ReplicatorMessage): void => void (process.connected && process.send?.(message));
const report = (message: string): void => tell({ type: 'report', message });
const storage = openReplicaStorage(settings.place);
const home = new Home({ storage, isShared, openFence: openReplicaFence, report });
/** Projects that this service has, with their numbers; null means all. */
let homes: Map<string, number> | null = null;
/** The time until which the service has these projects. */
const end = new LeaseEnd(isShared ? LONG_AGO : null);
/** Home numbers of projects, also while this service is alone: restores ignore objects with a lower number. */
const numbers = new Map<string, number>();
const retentionMs = limits.replicaRetentionDays * DAY_MS;
let bytes = 0;
const storageLeft = new StorageGuard(dataFolder);
let restoring = 0;

const pathOf = (name: string): string => path.join(directory, `${name}.sqlite`);
const schedule = new Schedule({
  intervalMs: limits.replicaIntervalMs,
  openMax: limits.replicaOpenMax,
  mayShip: (name) => home.mayStore && (end.at === null || (!end.isPast && !isElsewhere(name))),
  isElsewhere,
  streamOf: (name) =>
    new DatabaseStream(
      {
        storage,
        fence: () => (home.fence === 0 ? 0 : Math.max(home.fence, numbers.get(projectOf(name)) ?? 0)),
        logBytesMax: limits.replicaLogBytesMax,
        snapshotEveryMs: Math.min(DAY_MS, retentionMs / 2),
        stored: (count) => (bytes += count),
      },
      pathOf(name),
      name,
    ),
  report,
});

/** Databases whose files changed without a report, because of imports, kills or deletions. */
const seen = new Map<string, string>();
function sweep(): void {
  const there = new Set<string>();
  for (const namespace of foldersIn(directory))
    for (const file of filesIn(path.join(directory, namespace))) {
      if (!file.endsWith('.sqlite')) continue;
      const name = `${namespace}/${file.slice(0, -'.sqlite'.length)}`;
      if (!isDatabaseName(name) || !isReplicated(name, settings!.previews)) continue;
      if (isElsewhere(name)) continue;
      there.add(name);
      const [content, log] = ['', '-wal'].map((part) => statSync(pathOf(name) + part, { throwIfNoEntry: false }));
      const state = [content?.ino, content?.mtimeMs, content?.size, log?.mtimeMs, log?.size].join();
      if (seen.get(name) === state) continue;
      seen.set(name, state);
      schedule.changed(name);
    }
  for (const name of seen.keys()) {
    if (there.has(name)) continue;
    seen.delete(name);
    schedule.changed(name);
  }
}

/** Whether the project of a database is known to have another home. */
function isElsewhere(name: string): boolean {
  return homes !== null && !homes.has(projectOf(name));
}

/** Begins to store changes, because this service is now the home. */
function begin(): void {
  schedule.wake();
  sweep();
}

function foldersIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // Deleted meanwhile.
    return [];
  }
}

/** Deletes objects that are older than the retention and not needed to restore a later moment. */
async function expire(): Promise<void> {
  if (!home.mayStore) return;
  const found = new Map<string, string[]>();
  for (const key of await storage.list('databases/')) {
    const at = key.lastIndexOf('/');
    const below = key.slice(0, at);
    found.set(below, [...(found.get(below) ?? []), key.slice(at + 1)]);
  }
  for (const [below, names] of found) {
    const objects = names.flatMap((name) => readName(name) ?? []);
    for (const { name } of unneeded(objects, Date.now() - retentionMs)) await storage.remove(`${below}/${name}`);
  }
}

async function restore(name: string, at: number, target: string): Promise<unknown> {
  if (at > Date.now()) throw new SqlRefusal('SQLITE_CANTOPEN', `${new Date(at).toISOString()} is in the future`);
  if (restoring >= RESTORES_MAX) throw new SqlRefusal('SQLITE_BUSY', 'other databases are being restored: try again');
  restoring++;
  try {
    await schedule.settle(name);
    for (let attempt = 1; ; attempt++)
      try {
        return await restoreAt(storage, name, at, target, (size) => checkRoom(name, size));
      } catch (error) {
        // Changes are packed in the meantime.
        if (error instanceof SqlRefusal || attempt === RESTORE_ATTEMPTS) throw error;
      }
  } finally {
    restoring--;
  }
}

/** @throws {SqlRefusal} if the disk or the organization's storage limit has no room for a copy. */
function checkRoom(name: string, size: number): void {
  const { bavail, bsize } = statfsSync(directory);
  if (bavail * bsize < size + limits.diskFreeBytesMin)
    throw new SqlRefusal('SQLITE_FULL', `the disk has no room for a copy of ${size} bytes`);
  const namespace = name.slice(0, name.indexOf('/'));
  if (storageLeft.left(namespace) < size)
    throw new SqlRefusal('SQLITE_FULL', `the organization's storage has no room for a copy of ${size} bytes`);
  storageLeft.note(namespace, size);
}

async function range(name: string): Promise<unknown> {
  await schedule.settle(name);
  return { range: rangeOf(await objectsOf(storage, name)) };
}

/**
 * Restores replicated databases whose files are missing, to the latest state that the newest home stored, regardless of
 * its clock.
 *
 * @param project null: all.
 * @returns how many.
 */
async function fill(project: string | null): Promise<unknown> {
  const names = new Set<string>();
  for (const key of await storage.list(`databases/${project ?? ''}`)) {
    const [, namespace, resource] = key.split('/');
    const name = `${namespace}/${resource}`;
    if (project !== null && projectOf(name) !== project) continue;
    if (isDatabaseName(name) && statSync(pathOf(name), { throwIfNoEntry: false }) === undefined) names.add(name);
  }
  const waiting = [...names];
  let restored = 0;
  const work = async (): Promise<void> => {
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop())
      try {
        await restoreAt(storage, name, LATEST, pathOf(name));
        restored++;
      } catch (error) {
        // This database has been deleted.
        if (!(error instanceof SqlRefusal)) throw error;
      }
  };
  await Promise.all(Array.from({ length: FILL_AT_ONCE }, work));
  return { restored };
}

function figures(): void {
  tell({ type: 'figures', ...schedule.state(), bytes, problem: home.problem ?? schedule.problem });
}

const timers = [
  setInterval(sweep, SWEEP_MS),
  setInterval(figures, FIGURES_MS),
  setInterval(
    () => void expire().catch((error: Error) => report(`old replicas were not deleted: ${error.message}`)),
    EXPIRE_MS,
  ),
];

async function finish(): Promise<unknown> {
  for (const timer of timers) clearInterval(timer);
  await schedule.finish();
  return {};
}

const answers: Record<string, (request: ReplicatorRequest & { id: number }) => Promise<unknown>> = {
  restore: (request) => {
    const { name, at, target } = request as Extract<ReplicatorRequest, { type: 'restore' }>;
    return restore(name, at, target);
  },
  range: (request) => range((request as Extract<ReplicatorRequest, { type: 'range' }>).name),
  fill: (request) => fill((request as Extract<ReplicatorRequest, { type: 'fill' }>).project),
  async confirm(request) {
    const { name } = request as Extract<ReplicatorRequest, { type: 'confirm' }>;
    if (!isReplicated(name, settings.previews)) return {};
    await schedule.settle(name);
    // The replica has no state for that time.
    if (isElsewhere(name)) throw new Error('its project has another home');
    return {};
  },
  async leave(request) {
    const { project } = request as Extract<ReplicatorRequest, { type: 'leave' }>;
    await schedule.leave((name) => projectOf(name) === project);
    return {};
  },
  finish,
};

let soon: NodeJS.Timeout | null = null;
process.on('message', (request: ReplicatorRequest) => {
  if (request.type === 'changed') {
    if (isReplicated(request.name, settings.previews)) schedule.changed(request.name);
    return;
  }
  if (request.type === 'homes') {
    end.set(request.until);
    if (request.homes !== undefined) {
      homes = request.homes === null ? null : new Map(request.homes);
      for (const [project, fence] of homes ?? []) numbers.set(project, fence);
      if (home.mayStore) begin();
    }
    return;
  }
  if (request.type === 'home') {
    const { project, fence } = request;
    if (fence === null) homes?.delete(project);
    else {
      homes?.set(project, fence);
      numbers.set(project, fence);
    }
    soon ??= setTimeout(() => {
      soon = null;
      sweep();
    }, SWEEP_SOON_MS);
    return;
  }
  if (request.type === 'postgres') {
    void home.join(request.url).then(begin, (error: Error) => report(`no database is replicated: ${error.message}`));
    return;
  }
  const { id, type } = request;
  answers[type]!(request).then(
    (value) => tell({ type: 'answer', id, value }),
    (error: Error) => tell({ type: 'failed', id, reason: error.message, isRefusal: error instanceof SqlRefusal }),
  );
});
// Only the parent reports changes, so the process exits with it.
process.on('disconnect', () => process.exit(0));
process.on('SIGINT', () => {});
