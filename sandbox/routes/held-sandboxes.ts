// The sandboxes as used by the HTTP routes (routes.ts): found, created, resumed and held by their location. service/
// implements this with rows for states and leases, and a backend.
import type { Duplex } from 'node:stream';
import { PlatformError } from '#core/errors.ts';
import type { SandboxInfo, SandboxPlace, SandboxSnapshot } from '#core/sandbox/operations.ts';
import type { SandboxOptionsChange } from '#core/sandbox/options.ts';

/** A running sandbox that is not suspended before `release`. */
export interface HeldSandbox {
  /** Unique per sandbox: a recreated sandbox has another key. */
  readonly key: string;
  /** Opens a connection to the sandbox's agent. @throws {PlatformError} `sandbox_lost`. */
  connect(): Promise<Duplex>;
  /** The sandbox is idle from now on; a second call has no effect. */
  release(): void;
}

/** Marks requests from another replica. */
export const FORWARDED_HEADER = 'sandbox-passed-on';

/** A replica of the service that holds a sandbox. */
interface Holder {
  /** Name of the sandbox in the rows. */
  readonly owner: string;
  /** When the lease of the replica ends, unless the replica renews it. */
  readonly leaseMs: number;
}

/** The error of a call whose sandbox another replica holds: the call had no effect. */
export function heldElsewhere({ owner, leaseMs }: Holder): PlatformError {
  const reason = `another replica of the service has it (${owner})`;
  return new PlatformError('sandbox_unavailable', { reason, owner, leaseMs });
}

/** The replica named by {@link heldElsewhere}; null if this is another error. */
export function holderIn(error: unknown): Holder | null {
  if (!(error instanceof PlatformError) || error.code !== 'sandbox_unavailable') return null;
  const { owner, leaseMs } = error.details;
  return typeof owner === 'string' && typeof leaseMs === 'number' ? { owner, leaseMs } : null;
}

/**
 * Every method throws PlatformErrors with codes that start with `sandbox_`; methods that need the machine also throw
 * {@link heldElsewhere}.
 */
export interface Sandboxes {
  /**
   * Creates the sandbox if it does not exist, and resumes it if it is suspended. Concurrent callers share the work.
   *
   * @param change the changed options, if any: the machine is then recreated with its files; running calls fail with
   * `sandbox_lost`.
   */
  hold(place: SandboxPlace, change?: SandboxOptionsChange | null): Promise<HeldSandbox>;
  /**
   * Like {@link hold}, but only if the sandbox has this key. @throws {PlatformError} `sandbox_destroyed` if there is
   * another sandbox at the location, or none.
   */
  holdKey(place: SandboxPlace, key: string): Promise<HeldSandbox>;
  /** Null if the sandbox does not exist. */
  info(place: SandboxPlace): Promise<SandboxInfo | null>;
  /** Sorted by id, after `cursor`; a `cursor` in the result means that there are more. */
  list(
    within: Omit<SandboxPlace, 'id'>,
    page: { readonly prefix: string; readonly cursor: string; readonly limit: number },
  ): Promise<{ readonly items: readonly SandboxInfo[]; readonly cursor: string | null }>;
  suspend(place: SandboxPlace): Promise<void>;
  resume(place: SandboxPlace, change?: SandboxOptionsChange | null): Promise<void>;
  /** Ends the sandbox's processes and running calls, and keeps its files. No error if the sandbox does not exist. */
  stop(place: SandboxPlace): Promise<void>;
  /**
   * Creates a snapshot of the sandbox's files, with this id or a generated id. Processes are frozen in the meantime.
   */
  snapshot(place: SandboxPlace, id: string | null): Promise<SandboxSnapshot>;
  /** Creates another sandbox of the same resource with the files and options of this one. */
  fork(place: SandboxPlace, id: string): Promise<void>;
  /** Lists snapshots, ordered by id, in pages like `list`. */
  listSnapshots(
    within: Omit<SandboxPlace, 'id'>,
    page: { readonly prefix: string; readonly cursor: string; readonly limit: number },
  ): Promise<{ readonly items: readonly SandboxSnapshot[]; readonly cursor: string | null }>;
  /** Deletes a snapshot; no error if it does not exist. @param snapshot resource and id of the snapshot. */
  deleteSnapshot(snapshot: SandboxPlace): Promise<void>;
  /** Running calls fail with `sandbox_destroyed`. No error if the sandbox does not exist. */
  destroy(place: SandboxPlace): Promise<void>;
  /**
   * Destroys all sandboxes of a project. Sandboxes that are available here are destroyed even if others are in use
   * elsewhere.
   */
  destroyProject(project: string): Promise<void>;
}
