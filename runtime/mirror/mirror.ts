// Copies route records from Postgres, and their artifacts from the shared store, to the folder of this machine, where
// engines read them. A record is written when its required artifacts are copied. While Postgres or the store is
// unavailable, the folder does not change. Opened by main.ts and by tests.
import type { Logger } from 'pino';
import { unsealFile, type RouteKeys, type SealedFile } from '#artifacts/sealed-route.ts';
import type { ArtifactStore } from '#artifacts/store/artifact-store.ts';
import type { Figure } from '#core/process/figures.ts';
import { createWake } from '#core/process/wake.ts';
import { STORAGE_FILE } from '#core/storage-left.ts';
import type { Statements } from '#postgres/connection.ts';
import { createBroughtArtifacts } from './brought-artifacts.ts';
import { neededArtifacts } from './needed-artifacts.ts';
import { isRouteFile, macsIn, readNote, recordIn, recordOf, writeNote, writeRouteFile } from './route-folder.ts';

interface MirrorDeps {
  /** `FS_PATH`. */
  readonly folder: string;
  /** With the schema `binding`. */
  readonly sql: Pick<Statements, 'all'>;
  readonly store: ArtifactStore;
  readonly keys: RouteKeys;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly stopping: AbortSignal;
}

/** A running mirror. */
export interface Mirror {
  /** Resolves when this machine has received every record at least once. */
  readonly synced: Promise<void>;
  /** Whether there are records of an earlier run. */
  readonly hadRoutes: Promise<boolean>;
  /** Called when something may have changed. */
  readonly wake: () => void;
  /** Called when changes may have been missed: all files are compared. */
  readonly compareAll: () => void;
  figures(): Figure[];
  /** Resolves when the mirror has stopped. */
  readonly ended: Promise<void>;
}

/** A file that must be copied to this machine. */
interface Waiting {
  /** Incremented at each change of the file; only the latest version is written. */
  generation: number;
  /** The generation that is being copied; 0 if none is being copied. */
  bringing: number;
  failures: number;
  notBefore: number;
}

const POLL_MS = 2000;
/** Compares all files, to find manual changes and missing artifacts. */
const FULL_MS = 3_600_000;
const LATER_MS = 60_000;
const [AGAIN_MS, AGAIN_MS_MAX] = [1000, 30_000];
/**
 * The interval at which the time of the last complete state is stored, from which the age is computed after a restart.
 */
const NOTE_MS = 30_000;
const SAY_MS = 300_000;

/** Follows the routes until `stopping`. */
export function startMirror({ folder, sql, store, keys, log, stopping }: MirrorDeps): Mirror {
  const wake = createWake(stopping);
  const artifacts = createBroughtArtifacts({ folder, store, log, stopping });
  const waiting = new Map<string, Waiting>();
  const synced = Promise.withResolvers<void>();
  const startedAt = Date.now();
  let installation = '';
  let seq = -1;
  let [fullAt, laterAt, notedAt, saidAt] = [-Infinity, -Infinity, -Infinity, -Infinity];
  /** Time of the last query to Postgres. */
  let lookedAt: number | null = null;
  /** When the folder was last complete. */
  let syncedAt: number | null = null;
  let isAway = false;

  const hadRoutes = readNote(folder).then((note) => {
    if (note !== null) syncedAt ??= Date.parse(note.syncedAt);
    return note !== null;
  });

  /** @throws {Error} if the folder has the routes of another platform. */
  async function identify(): Promise<void> {
    if (installation !== '') return;
    const [platform] = await sql.all<{ id: string }>('SELECT id FROM platform_id');
    const note = await readNote(folder);
    if (note !== null && note.installation !== platform!.id)
      throw new Error(
        `${folder} has the routes of the platform ${note.installation}, and the database is that of ${platform!.id}: set FS_PATH to an empty folder, or connect to the right database`,
      );
    installation = platform!.id;
  }

  async function look(): Promise<void> {
    await identify();
    const at = Date.now();
    const [last] = await sql.all<{ seq: number }>('SELECT coalesce(max(seq), 0) AS seq FROM route_file');
    const isBack = last!.seq < seq;
    if (seq < 0 || isBack || at - fullAt > FULL_MS) await compare();
    else if (last!.seq > seq) {
      const rows = await sql.all<{ name: string; seq: number }>(
        'SELECT name, seq FROM route_file WHERE seq > $1 ORDER BY seq',
        seq,
      );
      for (const row of rows) want(row.name);
      seq = rows.at(-1)?.seq ?? seq;
    }
    lookedAt = at;
  }

  /** Compares all files, not only changed ones. */
  async function compare(): Promise<void> {
    const rows = await sql.all<{ name: string; seq: number; mac: Uint8Array | null }>(
      'SELECT name, seq, mac FROM route_file',
    );
    const here = await macsIn(folder, keys);
    for (const { name, mac } of rows) {
      const own = here.get(name);
      if (mac === null ? own !== undefined : own?.equals(mac) !== true) want(name);
      else if (mac !== null && name !== STORAGE_FILE) {
        const record = await recordIn(folder, name);
        artifacts.bringLater(Object.values(record?.deployments ?? {}).map(({ artifact }) => artifact));
      }
    }
    seq = rows.reduce((most, row) => Math.max(most, row.seq), 0);
    fullAt = Date.now();
  }

  function want(name: string): void {
    if (!isRouteFile(name)) return log.error({ name }, 'Route file with an unexpected name ignored');
    const one = waiting.get(name) ?? { generation: 0, bringing: 0, failures: 0, notBefore: 0 };
    one.generation++;
    one.notBefore = 0;
    waiting.set(name, one);
  }

  function bringWaiting(): void {
    const now = Date.now();
    for (const [name, one] of waiting)
      if (one.bringing !== one.generation && one.notBefore <= now) void bring(name, one);
  }

  async function bring(name: string, one: Waiting): Promise<void> {
    const generation = (one.bringing = one.generation);
    const isLatest = (): boolean => one.generation === generation && !stopping.aborted;
    try {
      await bringFile(name, isLatest);
      if (isLatest()) waiting.delete(name);
    } catch (error) {
      if (!isLatest()) return;
      one.bringing = 0;
      one.notBefore = Date.now() + Math.min(AGAIN_MS_MAX, AGAIN_MS * 2 ** one.failures);
      if (one.failures++ === 0)
        log.error({ name, reason: (error as Error).message }, 'Route file not copied: retrying');
    }
    if (waiting.size === 0) wake.now();
  }

  async function bringFile(name: string, isLatest: () => boolean): Promise<void> {
    const [row] = await sql.all<{ mac: Uint8Array | null; sealed: Uint8Array | null }>(
      'SELECT mac, sealed FROM route_file WHERE name = $1',
      name,
    );
    if (row === undefined) return;
    if (row.mac === null) {
      if (isLatest()) writeRouteFile(folder, name, null);
      return;
    }
    const text = unsealFile(keys, name, row as SealedFile);
    if (name === STORAGE_FILE) {
      if (isLatest()) writeRouteFile(folder, name, text);
      return;
    }
    const { first, later } = neededArtifacts(recordOf(name, text), await recordIn(folder, name));
    await artifacts.bring(first);
    if (!isLatest()) return;
    writeRouteFile(folder, name, text);
    artifacts.bringLater(later);
  }

  async function noteSynced(): Promise<void> {
    if (lookedAt === null || waiting.size > 0) return;
    syncedAt = lookedAt;
    if (Date.now() - notedAt > NOTE_MS) {
      await writeNote(folder, { installation, syncedAt: new Date(syncedAt).toISOString() });
      notedAt = Date.now();
    }
    synced.resolve();
  }

  /** Logs the age of the routes while updates fail. */
  function say(error: unknown): void {
    if (stopping.aborted || Date.now() - saidAt < (isAway ? SAY_MS : 0)) return;
    isAway = true;
    saidAt = Date.now();
    log.warn(
      { reason: (error as Error).message, asOf: syncedAt === null ? null : new Date(syncedAt).toISOString() },
      'Routes cannot be updated: this machine serves the last known ones',
    );
  }

  async function run(): Promise<void> {
    await hadRoutes;
    while (!stopping.aborted) {
      try {
        await look();
        if (isAway) log.info('Routes are updated again');
        isAway = false;
        bringWaiting();
        await noteSynced();
        if (Date.now() - laterAt > LATER_MS) {
          laterAt = Date.now();
          artifacts.again();
        }
      } catch (error) {
        // After an outage, the database may have another state, such as that of a restore.
        fullAt = -Infinity;
        say(error);
      }
      await wake.wait(POLL_MS);
    }
  }

  return {
    synced: synced.promise,
    hadRoutes,
    wake: wake.now,
    compareAll() {
      fullAt = -Infinity;
      wake.now();
    },
    figures: () => [
      ['platform_routes_age_seconds', {}, Math.max(0, Date.now() - (syncedAt ?? startedAt)) / 1000],
      ['platform_routes_waiting', {}, waiting.size],
      ['platform_artifacts_waiting', {}, artifacts.later],
      ['platform_artifacts_fetched_total', {}, artifacts.fetched],
      ['platform_artifact_fetch_failures_total', {}, artifacts.failures],
    ],
    ended: run(),
  };
}
