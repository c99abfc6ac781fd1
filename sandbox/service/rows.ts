// What is known of the sandboxes of a platform, one row each, and which replica of the service has which: the interface
// between sandboxes.ts and where the rows lie. rows-postgres.ts and rows-memory.ts implement it. Types only.
import type { StoredOptions } from '#core/sandbox/options.ts';
import type { SandboxInfo, SandboxPlace, SandboxState } from '#core/sandbox/operations.ts';

/** A sandbox. */
export interface SandboxRow {
  /** Of its machine: new with every sandbox, so that one that was destroyed is not found again. */
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
 * What claiming a place came to. `held`: another replica has it, for `leaseMs` unless it renews its lease. `full`: the
 * project has as many as it may; `storage_full`: its organization may keep no more.
 */
export type Claim =
  | { readonly is: 'ours'; readonly row: SandboxRow }
  | { readonly is: 'held'; readonly owner: string; readonly leaseMs: number }
  | { readonly is: 'full' }
  | { readonly is: 'storage_full' };

/** Why a sandbox is due for the sweeper. */
export type DueFor = 'suspend' | 'stop' | 'destroy';

/** Rows, as one replica sees them: it writes those it has claimed only. */
export interface SandboxRows {
  /**
   * The row of a place, ours from now on for the time of a lease. Where there is none it is made, `creating`, unless
   * the project has as many as it may.
   */
  claim(place: SandboxPlace): Promise<Claim>;
  /** A row that there is, likewise. */
  claimKey(key: string): Promise<SandboxRow | null>;
  /** @returns whether it is still ours. */
  save(key: string, state: SandboxState, lastActiveAt: number): Promise<boolean>;
  /** Notes what machines take on the disk, by key, whoever has them: for the storage of their organizations. */
  saveSizes(sizes: ReadonlyMap<string, number>): Promise<void>;
  /** What it is made of from its next start on. @returns whether it is still ours. */
  saveOptions(key: string, options: StoredOptions): Promise<boolean>;
  /** @returns those that are still ours, for another lease. */
  renew(keys: readonly string[]): Promise<readonly string[]>;
  /** Others may have it. */
  release(key: string): Promise<void>;
  remove(key: string): Promise<void>;
  find(place: SandboxPlace): Promise<SandboxRow | null>;
  list(
    within: Omit<SandboxPlace, 'id'>,
    page: { readonly prefix: string; readonly cursor: string; readonly limit: number },
  ): Promise<readonly SandboxRow[]>;
  placesOf(project: string): Promise<readonly SandboxPlace[]>;
  /**
   * What nobody else has and is due: without a call for long enough, of a project that was deleted, or left behind by a
   * replica that died.
   */
  due(): Promise<readonly { readonly key: string; readonly what: DueFor }[]>;
  /** Those of these keys that have a row. */
  known(keys: readonly string[]): Promise<ReadonlySet<string>>;
  close(): Promise<void>;
}

/** After which a sandbox without a call is due for what; 0: never. */
export interface IdleTimes {
  readonly idleMs: number;
  readonly stopMs: number;
  readonly destroyMs: number;
}

export function infoOf({ place, state, provider, options, createdAt, lastActiveAt }: SandboxRow): SandboxInfo {
  const { machine, image, egress, ai } = options;
  return { id: place.id, state, provider, machine, image, egress, ai, createdAt, lastActiveAt };
}

/** What a row that nobody has is due for at a time. */
export function dueFor(row: SandboxRow, times: IdleTimes, now: number): DueFor | null {
  const idleMs = now - row.lastActiveAt;
  const isOver = (ms: number): boolean => ms > 0 && idleMs >= ms;
  const sleeps = row.state === 'suspended' || row.state === 'stopped' || row.state === 'error';
  if (sleeps && isOver(times.destroyMs)) return 'destroy';
  if (row.state === 'suspended' && isOver(times.stopMs)) return 'stop';
  // One that was being made when its replica died holds no work of anybody.
  if (row.state === 'running' || row.state === 'creating') return isOver(times.idleMs) ? 'suspend' : null;
  return null;
}
