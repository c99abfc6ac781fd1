// What an isolate reports to its owner in serving/: the end of each entry, host calls that its thread waits for, its
// death.
import type { LossReason } from './lost-threads.ts';

/**
 * `memory`: over its limit; `aborted`: the same, but inside V8, and its thread is lost with it; `stuck`: an entry
 * cannot be terminated; `fault`: its records could not be read.
 */
export type DeathReason = 'memory' | 'aborted' | 'stuck' | 'fault';

/** Deaths that also lose a thread. */
export const lossReasons: Readonly<Record<DeathReason, LossReason | null>> = {
  memory: null,
  aborted: 'heap',
  stuck: 'endless',
  fault: null,
};

/** Receives the events of an isolate. */
export interface IsolateEvents {
  /**
   * An entry has ended. `shareMs`: CPU of each invocation that ran in the entry without its own charge; `cpuMs`: CPU of
   * the whole entry.
   */
  left(meta: string, text: string, shareMs: number, cpuMs: number, bytes: readonly Uint8Array[]): void;
  /** A synchronous host call: JSON arguments and at most one part; returns a JSON value or bytes. */
  sync(name: string, args: string, part: string | Uint8Array | undefined): unknown;
  /** A host call that the isolate's thread waits for; the reply is copied as a whole. Never rejects. */
  waiting(
    invocation: number,
    name: string,
    args: string,
    parts: readonly (string | Uint8Array)[],
  ): Promise<{ readonly parts?: readonly Uint8Array[]; readonly cpuMs: number }>;
  /** The isolate died unexpectedly. */
  died(reason: DeathReason, error?: unknown): void;
  /** Called for an abandoned isolate when its thread has used this much more CPU. */
  burnt(cpuMs: number): void;
}
