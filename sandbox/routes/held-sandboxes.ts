// The sandboxes of a platform as its HTTP routes (routes.ts) use them: found, made, woken and held by place. service/
// implements it over rows that say states and leases, and over a backend.
import type { Duplex } from 'node:stream';
import { PlatformError } from '#core/errors.ts';
import type { SandboxInfo, SandboxPlace, SandboxSnapshot } from '#core/sandbox/operations.ts';
import type { SandboxOptionsChange } from '#core/sandbox/options.ts';

/** A sandbox that runs, and is not suspended before `release`. */
export interface HeldSandbox {
  /** New with every sandbox: one that was destroyed and made anew has another. */
  readonly key: string;
  /** A connection to its agent. @throws {PlatformError} `sandbox_lost`. */
  connect(): Promise<Duplex>;
  /** Counts from here on as idle; a second call does nothing. */
  release(): void;
}

/** Of a request that comes from another replica. */
export const PASSED_ON_HEADER = 'sandbox-passed-on';

/** Another replica of the service has the sandbox: nothing was done. */
export class HeldElsewhere extends PlatformError {
  /** As the rows name it. */
  readonly owner: string;
  /** When it can be had here, unless that replica renews its lease. */
  readonly leaseMs: number;

  constructor(owner: string, leaseMs: number) {
    super('sandbox_unavailable', { reason: `another replica of the service has it (${owner})` });
    this.owner = owner;
    this.leaseMs = leaseMs;
  }
}

/**
 * Every method throws PlatformErrors with codes that start with `sandbox_`; those that need the machine,
 * {@link HeldElsewhere}.
 */
export interface Sandboxes {
  /**
   * Makes the sandbox where there is none, wakes it where it sleeps; those who ask meanwhile wait for the same.
   *
   * @param change where it says other options than the sandbox has, its machine is made anew with its files; calls that
   *   run in it end with `sandbox_lost`.
   */
  hold(place: SandboxPlace, change?: SandboxOptionsChange | null): Promise<HeldSandbox>;
  /** The one with a key alone. @throws {PlatformError} `sandbox_destroyed` where the place has another one, or none. */
  holdKey(place: SandboxPlace, key: string): Promise<HeldSandbox>;
  /** Null: there is none. */
  info(place: SandboxPlace): Promise<SandboxInfo | null>;
  /** By id, from after `cursor`; `cursor` of the answer: there are more. */
  list(
    within: Omit<SandboxPlace, 'id'>,
    page: { readonly prefix: string; readonly cursor: string; readonly limit: number },
  ): Promise<{ readonly items: readonly SandboxInfo[]; readonly cursor: string | null }>;
  suspend(place: SandboxPlace): Promise<void>;
  resume(place: SandboxPlace, change?: SandboxOptionsChange | null): Promise<void>;
  /** Its processes end, with the calls that run in it; its files stay. No error where there is none. */
  stop(place: SandboxPlace): Promise<void>;
  /**
   * Keeps its files as they are now, in a snapshot of this id, or of one that is made up. Processes stand still
   * meanwhile.
   */
  snapshot(place: SandboxPlace, id: string | null): Promise<SandboxSnapshot>;
  /** Another sandbox of the same resource with its files and options. */
  fork(place: SandboxPlace, id: string): Promise<void>;
  /** By id, as `list` does. */
  listSnapshots(
    within: Omit<SandboxPlace, 'id'>,
    page: { readonly prefix: string; readonly cursor: string; readonly limit: number },
  ): Promise<{ readonly items: readonly SandboxSnapshot[]; readonly cursor: string | null }>;
  /** @param snapshot its resource, and its own id. No error where there is none. */
  deleteSnapshot(snapshot: SandboxPlace): Promise<void>;
  /** Calls that run in it end with `sandbox_destroyed`. No error where there is none. */
  destroy(place: SandboxPlace): Promise<void>;
  /** All of a project; those that can be had here are gone also where others are held elsewhere. */
  destroyProject(project: string): Promise<void>;
}
