// Interface of the store for sandboxes, with one row per sandbox and the replica that holds it. Used by sandboxes.ts;
// implemented by rows-postgres.ts and rows-memory.ts. Types only.
import type { StoredOptions } from '#core/sandbox/options.ts';
import type { SandboxInfo, SandboxPlace, SandboxState } from '#core/sandbox/operations.ts';

/** A sandbox. */
export interface SandboxRow {
  /** Key of its machine: unique per sandbox, so that a destroyed machine is not found again. */
  readonly key: string;
  readonly place: SandboxPlace;
  readonly provider: string;
  readonly state: SandboxState;
  readonly options: StoredOptions;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly lastActiveAt: number;
}

/**
 * Result of a claim. `held`: another replica holds the sandbox, for `leaseMs` unless that replica renews its lease.
 * `full`: the project has reached its maximum; `storage_full`: its organization has reached its storage limit.
 */
type Claim =
  | { readonly is: 'ours'; readonly row: SandboxRow }
  | { readonly is: 'held'; readonly owner: string; readonly leaseMs: number }
  | { readonly is: 'full' }
  | { readonly is: 'storage_full' };

/** The action that is due for a sandbox. */
type DueFor = 'suspend' | 'stop' | 'destroy';

/** Rows as seen by one replica, which only writes rows that it has claimed. */
export interface SandboxRows {
  /**
   * Claims the row of a sandbox for the time of a lease. If the row does not exist, it is created with the state
   * `creating`, unless the project has reached its maximum.
   */
  claim(place: SandboxPlace): Promise<Claim>;
  /** Claims an existing row by its key. */
  claimKey(key: string): Promise<SandboxRow | null>;
  /** @returns whether this replica still holds the sandbox. */
  save(key: string, state: SandboxState, lastActiveAt: number): Promise<boolean>;
  /**
   * Records the disk usage of machines, by key, whichever replica holds them: for the storage of their organizations.
   */
  saveSizes(sizes: ReadonlyMap<string, number>): Promise<void>;
  /** Sets the options for its next start. @returns whether this replica still holds the sandbox. */
  saveOptions(key: string, options: StoredOptions): Promise<boolean>;
  /** Renews the leases. @returns the keys still held. */
  renew(keys: readonly string[]): Promise<readonly string[]>;
  /** Releases the lease. */
  release(key: string): Promise<void>;
  remove(key: string): Promise<void>;
  find(place: SandboxPlace): Promise<SandboxRow | null>;
  list(
    within: Omit<SandboxPlace, 'id'>,
    page: { readonly prefix: string; readonly cursor: string; readonly limit: number },
  ): Promise<readonly SandboxRow[]>;
  placesOf(project: string): Promise<readonly SandboxPlace[]>;
  /**
   * Unclaimed rows that are due: idle for long enough, of a deleted project, or left behind by a dead replica.
   */
  due(): Promise<readonly { readonly key: string; readonly what: DueFor }[]>;
  /** The given keys that have a row. */
  known(keys: readonly string[]): Promise<ReadonlySet<string>>;
  close(): Promise<void>;
}

/** Idle times after which each action is due; with 0, it is never due. */
export interface IdleTimes {
  readonly idleMs: number;
  readonly stopMs: number;
  readonly destroyMs: number;
}

export function infoOf({ place, state, provider, options, createdAt, lastActiveAt }: SandboxRow): SandboxInfo {
  const { machine, image, egress, ai } = options;
  return { id: place.id, state, provider, machine, image, egress, ai, createdAt, lastActiveAt };
}

/** The action due for an unclaimed row at a point in time. */
export function dueFor(row: SandboxRow, times: IdleTimes, now: number): DueFor | null {
  const idleMs = now - row.lastActiveAt;
  const isOver = (ms: number): boolean => ms > 0 && idleMs >= ms;
  const sleeps = row.state === 'suspended' || row.state === 'stopped' || row.state === 'error';
  if (sleeps && isOver(times.destroyMs)) return 'destroy';
  if (row.state === 'suspended' && isOver(times.stopMs)) return 'stop';
  // A row in the state `creating` is from a replica that died, and has no data yet.
  if (row.state === 'running' || row.state === 'creating') return isOver(times.idleMs) ? 'suspend' : null;
  return null;
}
