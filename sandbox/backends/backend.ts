// What a kind of machine for sandboxes has to do: the line between the service, which knows who may use which sandbox
// and in which state it is, and Docker, a hosted provider or plain processes. Types only: backends/ implements it, and
// one contract suite holds every implementation to it.
import type { Duplex } from 'node:stream';
import type { SandboxPlace } from '#core/sandbox/operations.ts';
import type { SandboxOptions } from '#core/sandbox/options.ts';
import type { SandboxCheck } from '#core/sandbox/service-status.ts';

/** What a machine is made of. */
export interface MachineSpec {
  /** Its name: of this sandbox and no other, `[a-z0-9]{1,40}`. */
  readonly key: string;
  /** For labels and networks; never for who may reach it. */
  readonly place: SandboxPlace;
  readonly options: SandboxOptions;
}

/** `absent`: there is none, or it was lost with its files. */
export type MachineState = 'running' | 'suspended' | 'stopped' | 'absent';

/**
 * Machines by key. Whoever calls makes one call at a time for a key, except `connect`. Every method may be repeated
 * after a failure: what was half done is found and finished, or cleaned up first. Failures are PlatformErrors with
 * `sandbox_unavailable` (try again) or `sandbox_limit`.
 */
export interface SandboxBackend {
  readonly provider: 'container' | 'hosted' | 'local';
  /**
   * Whether there can be machines of these options here: asked before anything is done for them.
   *
   * @throws {PlatformError} `sandbox_option_refused` with the reason.
   */
  check(options: SandboxOptions): void;
  /** Where commands in its machines reach the AI gateway; null: nowhere. */
  readonly aiUrl: string | null;
  /** A new machine with an empty workspace, running, its agent answering. */
  create(spec: MachineSpec): Promise<void>;
  /** Whether machines can be copied here. @throws {PlatformError} `sandbox_copy_refused` with the reason. */
  checkCopy(): void;
  /**
   * A stopped machine with a copy of another one's files, which stands still or is stopped. What was half done for
   * either is left to `destroy`.
   *
   * @returns the bytes it takes.
   * @throws {PlatformError} `sandbox_copy_refused`, `sandbox_lost` where the other one has no files.
   */
  copy(from: string, to: string): Promise<number>;
  /** From `suspended` as it was; from `stopped` with its files, no processes, and the options of the spec. */
  resume(spec: MachineSpec): Promise<void>;
  /** Its processes stand still and cost no CPU. */
  suspend(key: string): Promise<void>;
  /** Its processes end, its files stay. */
  stop(key: string): Promise<void>;
  /** Gone with its files; nothing is left behind. No error where there is none. */
  destroy(key: string): Promise<void>;
  state(key: string): Promise<MachineState>;
  /** All machines there are, to find those that nobody knows. */
  keys(): Promise<readonly string[]>;
  /** Bytes that machines take on a disk of the platform, by key, as far as a look at each says it. */
  sizes?(): Promise<ReadonlyMap<string, number>>;
  /**
   * A new connection to the agent of a running machine, which speaks HTTP/1.1 on it; one for each request.
   *
   * @throws {PlatformError} `sandbox_lost` where no agent answers.
   */
  connect(key: string): Promise<Duplex>;
  /** What operators should know of what is behind it, and that it works; findings, never a failure. */
  checks?(): Promise<readonly SandboxCheck[]>;
  /** Lets go of what this process holds. Machines of a `local` backend end; others go on. */
  close(): Promise<void>;
}
