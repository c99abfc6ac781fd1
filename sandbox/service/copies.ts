// Snapshots and forks of sandboxes. A snapshot is a sandbox that never runs, in a resource that platform.yaml cannot
// name: it has a row and a stopped machine, counts towards the project's sandboxes and is deleted with them. Called by
// sandboxes.ts, which provides the locks and leases.
import { randomBytes } from 'node:crypto';
import { PlatformError } from '#core/errors.ts';
import type { SandboxPlace, SandboxSnapshot, SandboxState } from '#core/sandbox/operations.ts';
import type { StoredOptions } from '#core/sandbox/options.ts';
import type { SandboxBackend } from '../backends/backend.ts';
import type { Sandboxes } from '../routes/held-sandboxes.ts';
import type { SandboxRow, SandboxRows } from './rows.ts';

/** The fields of a held sandbox that are used here. */
interface CopiedEntry {
  readonly key: string;
  readonly place: SandboxPlace;
  readonly state: SandboxState;
  readonly options: StoredOptions;
  readonly holds: number;
}

/** Dependencies. Work on each entry is serialized. */
interface CopiesDeps<Entry extends CopiedEntry> {
  readonly backend: SandboxBackend;
  readonly rows: SandboxRows;
  claim(place: SandboxPlace): Promise<Entry>;
  inTurn<Result>(entry: Entry, work: () => Promise<Result>): Promise<Result>;
  own<Result>(place: SandboxPlace, work: (entry: Entry) => Promise<Result>): Promise<Result | null>;
  save(entry: Entry, state: SandboxState): Promise<void>;
  suspend(entry: Entry): Promise<void>;
  wake(entry: Entry): Promise<void>;
  /** Deletes the copy's machine and its row. */
  destroy(entry: Entry): Promise<void>;
  /** Releases the lease. */
  release(entry: Entry): Promise<void>;
}

interface Copies<Entry extends CopiedEntry> extends Pick<
  Sandboxes,
  'snapshot' | 'fork' | 'listSnapshots' | 'deleteSnapshot'
> {
  /** Copies a snapshot's files to a new sandbox. Call it inside `inTurn`. */
  begin(entry: Entry, snapshot: string): Promise<void>;
}

const within = ({ project, resource }: Omit<SandboxPlace, 'id'>): Omit<SandboxPlace, 'id'> => ({
  project,
  resource: `.snapshots.${resource}`,
});
const placeOf = (sandbox: SandboxPlace, id: string): SandboxPlace => ({ ...within(sandbox), id });

export function createCopies<Entry extends CopiedEntry>(deps: CopiesDeps<Entry>): Copies<Entry> {
  const { backend, rows, claim, inTurn, own, save, suspend, wake, destroy, release } = deps;
  /** The last requested copy of each project. Copies of a project are made one at a time, because disks are shared. */
  const last = new Map<string, Promise<unknown>>();

  /** Call this function inside `inTurn` of the source; it must not wait for another lock. */
  function inQueue<Result>({ project }: SandboxPlace, work: () => Promise<Result>): Promise<Result> {
    const done = (last.get(project) ?? Promise.resolve()).then(work);
    const settled: Promise<unknown> = done
      .catch(() => {})
      .then(() => last.get(project) === settled && last.delete(project));
    last.set(project, settled);
    return done;
  }

  /**
   * Copies the files of the source while its processes are frozen. Call this function inside `inTurn` of the source.
   * @returns the size of the copy in bytes.
   */
  async function copyStill(source: Entry, to: string): Promise<number> {
    const ran = source.state === 'running';
    await suspend(source);
    try {
      return await backend.copy(source.key, to);
    } finally {
      if (ran) await wake(source);
    }
  }

  /** Copies a sandbox to an unused location. @param optionsOf returns the options of the copy for its size. */
  async function copy(
    of: SandboxPlace,
    target: SandboxPlace,
    optionsOf: (source: Entry, sizeBytes: number) => StoredOptions,
  ): Promise<SandboxRow | null> {
    return own(of, async (source) => {
      if (source.state === 'creating')
        throw new PlatformError('sandbox_copy_refused', { reason: 'it was never started' });
      if ((await rows.find(target)) !== null)
        throw new PlatformError('sandbox_exists', {
          what: target.resource === of.resource ? 'sandbox' : 'snapshot',
          id: target.id,
        });
      const made = await claim(target);
      return inTurn(made, async () => {
        try {
          const sizeBytes = await inQueue(of, () => copyStill(source, made.key));
          await rows.saveOptions(made.key, optionsOf(source, sizeBytes));
          await save(made, 'stopped');
        } catch (error) {
          await destroy(made);
          throw error;
        }
        const row = await rows.find(target);
        // Other callers may already be waiting for the copy.
        if (made.holds === 0) await release(made);
        return row;
      });
    });
  }

  const noSandbox = ({ id }: SandboxPlace): PlatformError =>
    new PlatformError('sandbox_copy_refused', {
      reason: `sandbox ${id} does not exist: call it once, which creates it`,
    });

  return {
    async snapshot(place, id) {
      backend.checkCopy();
      const target = placeOf(place, id ?? randomBytes(8).toString('hex'));
      const row = await copy(place, target, ({ options }, sizeBytes) => ({
        ...options,
        taken: { of: place.id, sizeBytes },
      }));
      if (row === null) throw noSandbox(place);
      return snapshotOf(row)!;
    },
    async fork(place, id) {
      backend.checkCopy();
      if ((await copy(place, { ...place, id }, ({ options }) => options)) === null) throw noSandbox(place);
    },
    async begin(entry, snapshot) {
      const { project } = entry.place;
      try {
        const row = await rows.find(placeOf(entry.place, snapshot));
        if (row === null || snapshotOf(row) === null)
          throw new PlatformError('snapshot_not_found', { project, name: snapshot });
        await inQueue(entry.place, () => backend.copy(row.key, entry.key));
        await save(entry, 'stopped');
        // Using a snapshot extends its retention. If another replica holds the snapshot, that replica extends its
        // retention.
        if ((await rows.claimKey(row.key)) === null) return;
        await rows.save(row.key, 'stopped', Date.now());
        await rows.release(row.key);
      } catch (error) {
        await destroy(entry);
        throw error;
      }
    },
    async listSnapshots(of, page) {
      const found = await rows.list(within(of), { ...page, limit: page.limit + 1 });
      const shown = found.slice(0, page.limit);
      return {
        items: shown.flatMap((row) => snapshotOf(row) ?? []),
        cursor: found.length > page.limit ? (shown.at(-1)?.place.id ?? null) : null,
      };
    },
    async deleteSnapshot(snapshot) {
      await own(placeOf(snapshot, snapshot.id), destroy);
    },
  };
}

/** Null if the copy is incomplete. */
function snapshotOf({ place: { id }, state, createdAt, options: { taken } }: SandboxRow): SandboxSnapshot | null {
  return state !== 'stopped' || taken === undefined ? null : { id, ...taken, createdAt };
}
