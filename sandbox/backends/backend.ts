// Interface of a sandbox backend. The service knows who may use which sandbox and its state; backends run the machines
// with Docker, a hosted provider or plain processes. This file contains only types: backends/ implements them, and one
// contract test suite covers every implementation.
import type { Duplex } from 'node:stream';
import type { SandboxPlace } from '#core/sandbox/operations.ts';
import type { SandboxOptions } from '#core/sandbox/options.ts';
import type { SandboxCheck } from '#core/sandbox/service-status.ts';

/** Specification of a machine. */
export interface MachineSpec {
  /** Unique name of a sandbox: `[a-z0-9]{1,40}`. */
  readonly key: string;
  /** Used for labels and networks; never for access control. */
  readonly place: SandboxPlace;
  readonly options: SandboxOptions;
}

/** `absent`: the machine does not exist, or was lost with its files. */
export type MachineState = 'running' | 'suspended' | 'stopped' | 'absent';

/**
 * Machines by key. Callers make one call at a time per key, except `connect`. Every method may be repeated after a
 * failure: incomplete work is completed or cleaned up first. Failures are PlatformErrors with `sandbox_unavailable`
 * (retry) or `sandbox_limit`.
 */
export interface SandboxBackend {
  readonly provider: 'container' | 'hosted' | 'local';
  /**
   * Whether machines with these options are possible, checked before a machine is created.
   *
   * @throws {PlatformError} `sandbox_option_refused` with the reason.
   */
  check(options: SandboxOptions): void;
  /** URL of the AI gateway for commands in the machines, or null. */
  readonly aiUrl: string | null;
  /** Creates and starts a machine with an empty workspace and a responding agent. */
  create(spec: MachineSpec): Promise<void>;
  /** Whether machines can be copied here. @throws {PlatformError} `sandbox_copy_refused` with the reason. */
  checkCopy(): void;
  /**
   * Creates a stopped machine with a copy of the files of another machine, which must be suspended or stopped. After a
   * failure, `destroy` cleans up.
   *
   * @returns the size of the copy in bytes.
   * @throws {PlatformError} `sandbox_copy_refused`, or `sandbox_lost` if the source has no files.
   */
  copy(from: string, to: string): Promise<number>;
  /**
   * Starts a machine: a suspended machine continues; a stopped machine has its files, no processes, and the options of
   * the spec.
   */
  resume(spec: MachineSpec): Promise<void>;
  /** Freezes the machine's processes; they use no CPU. */
  suspend(key: string): Promise<void>;
  /** Ends the machine's processes and keeps its files. */
  stop(key: string): Promise<void>;
  /** Deletes the machine and its files. No error if the machine does not exist. */
  destroy(key: string): Promise<void>;
  state(key: string): Promise<MachineState>;
  /** All existing machines, to find orphans. */
  keys(): Promise<readonly string[]>;
  /** Bytes that machines use on the platform's disk, by key, if known. */
  sizes?(): Promise<ReadonlyMap<string, number>>;
  /**
   * Opens a connection for one HTTP/1.1 request to the agent of a running machine.
   *
   * @throws {PlatformError} `sandbox_lost` when no agent responds.
   */
  connect(key: string): Promise<Duplex>;
  /** Health findings for operators; never throws. */
  checks?(): Promise<readonly SandboxCheck[]>;
  /** Releases resources of this process. Machines of the `local` backend end; machines of other backends continue. */
  close(): Promise<void>;
}
