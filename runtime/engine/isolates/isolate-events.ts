// What an isolate reports to its owner in serving/: the end of each entry, host calls for which its thread waits, and
// its death.
import type { LossReason } from './lost-threads.ts';

/**
 * Why an isolate died: `memory`, it exceeded its limit; `aborted`, it exceeded the limit inside V8, and its thread is
 * lost; `stuck`, an entry cannot be terminated; `fault`, its records could not be read.
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
   * Called when an entry has ended. `shareMs` is the CPU of each invocation that ran in the entry without a separate
   * charge, and `cpuMs` the CPU of the whole entry.
   */
  left(meta: string, text: string, shareMs: number, cpuMs: number, bytes: readonly Uint8Array[]): void;
  /** Makes a synchronous host call with JSON arguments and at most one part; returns a JSON value or bytes. */
  sync(name: string, args: string, part: string | Uint8Array | undefined): unknown;
  /** Makes a host call for which the isolate's thread waits; the reply is copied as a whole. Never rejects. */
  waiting(
    invocation: number,
    name: string,
    args: string,
    parts: readonly (string | Uint8Array)[],
  ): Promise<{ readonly parts?: readonly Uint8Array[]; readonly cpuMs: number }>;
  /** Called when the isolate died unexpectedly. */
  died(reason: DeathReason, error?: unknown): void;
  /** Called when the thread of an abandoned isolate has used this much more CPU. */
  burnt(cpuMs: number): void;
}
