// The sandboxes that this replica holds: a lease on the row of each excludes other replicas, and work on each is
// serialized. Used by sandboxes.ts and the parts that it connects.
import { PlatformError } from '#core/errors.ts';
import type { SandboxPlace, SandboxState } from '#core/sandbox/operations.ts';
import type { StoredOptions } from '#core/sandbox/options.ts';
import { heldElsewhere } from '../routes/held-sandboxes.ts';
import type { SandboxRow, SandboxRows } from './rows.ts';

/** A sandbox held by this replica. */
export interface Entry {
  readonly key: string;
  readonly place: SandboxPlace;
  state: SandboxState;
  options: StoredOptions;
  lastActiveAt: number;
  holds: number;
  /** Aborts the calls that run in the sandbox. */
  readonly destroyed: AbortController;
  /** The last operation on the sandbox's machine. */
  work: Promise<unknown>;
}

/** Dependencies. */
interface LeasesDeps {
  readonly rows: SandboxRows;
  readonly perProjectMax: number;
  /** Called when the sandbox with this key is no longer held. */
  forgotten(key: string): void;
}

export interface Leases {
  /** All held sandboxes. Changes during the iteration are included. */
  all(): Iterable<Entry>;
  find(place: SandboxPlace): Entry | undefined;
  has(entry: Entry): boolean;
  /** @throws {PlatformError} {@link heldElsewhere} */
  claim(place: SandboxPlace): Promise<Entry>;
  /** Null if the row does not exist, or another replica holds it. */
  claimKey(key: string): Promise<Entry | null>;
  /** Extends the leases, and forgets the sandboxes whose lease was lost. */
  renew(): Promise<void>;
  /** Releases the lease when unused here, so that another replica can take the next call. */
  release(entry: Entry): Promise<void>;
  /** Forgets a sandbox without releasing its lease, because the lease was lost or the row was deleted. */
  forget(entry: Entry): void;
  clear(): void;
}

/** Serializes the operations on a machine. */
export function inTurn<Result>(entry: Entry, work: () => Promise<Result>): Promise<Result> {
  const done = entry.work.then(work);
  entry.work = done.catch(() => {});
  return done;
}

export function createLeases({ rows, perProjectMax, forgotten }: LeasesDeps): Leases {
  const entries = new Map<string, Entry>();
  /** Claims in progress, shared by concurrent callers. */
  const claims = new Map<string, Promise<Entry>>();
  const nameOf = ({ project, resource, id }: SandboxPlace): string => `${project}/${resource}/${id}`;

  function remember(row: SandboxRow): Entry {
    const known = entries.get(nameOf(row.place));
    if (known?.key === row.key) return known;
    const { key, place, state, options, lastActiveAt } = row;
    const entry: Entry = {
      key,
      place,
      state,
      options,
      lastActiveAt,
      holds: 0,
      destroyed: new AbortController(),
      work: Promise.resolve(),
    };
    entries.set(nameOf(place), entry);
    return entry;
  }

  const has = (entry: Entry): boolean => entries.get(nameOf(entry.place)) === entry;

  function forget(entry: Entry): void {
    if (has(entry)) entries.delete(nameOf(entry.place));
    forgotten(entry.key);
  }

  return {
    all: () => entries.values(),
    find: (place) => entries.get(nameOf(place)),
    has,
    claim(place) {
      const name = nameOf(place);
      const known = entries.get(name);
      if (known !== undefined) return Promise.resolve(known);
      const running = claims.get(name);
      if (running !== undefined) return running;
      const claiming = rows
        .claim(place)
        .then((found) => {
          if (found.is === 'held') throw heldElsewhere(found);
          if (found.is === 'ours') return remember(found.row);
          throw new PlatformError('sandbox_limit', {
            what: `Another sandbox of ${place.project}`,
            limit:
              found.is === 'full'
                ? `${perProjectMax} (SANDBOX_PER_PROJECT_MAX)`
                : 'the storage of its organization, which is full',
          });
        })
        .finally(() => claims.delete(name));
      claims.set(name, claiming);
      return claiming;
    },
    async claimKey(key) {
      const row = await rows.claimKey(key);
      return row === null ? null : remember(row);
    },
    async renew() {
      const ours = [...entries.values()];
      const kept = new Set(await rows.renew(ours.map(({ key }) => key)));
      for (const entry of ours) if (!kept.has(entry.key)) forget(entry);
    },
    async release(entry) {
      forget(entry);
      await rows.release(entry.key);
    },
    forget,
    clear: () => entries.clear(),
  };
}
