// Host work for workers that takes time. Each piece gets a slot in its turn, and its CPU is reserved before it begins
// and corrected when it has ended (CallOwner). Created by engine.ts; used by the host halves of bindings.
import { availableParallelism } from 'node:os';
import type { HostReply } from '../bridge/host-calls.ts';
import type { CallOwner } from '../bridge/call-owner.ts';
import { FairQueue } from './fair-queue.ts';
import { MainThreadBudget } from '../bridge/main-thread-budget.ts';
import { Threads, type ThreadAnswer } from './threads.ts';

/** The owner charged for the work, for example a host call. */
export interface WorkFor {
  readonly owner: Pick<CallOwner, 'reserveCpu' | 'settleCpu' | 'isOver'>;
  /** The account of a deployment, which is also the key for fairness. */
  readonly isolate: { readonly memory: { readonly whole: object } };
  /** Whether the result is no longer needed. */
  readonly isDropped?: boolean;
}

/**
 * Maximum charge for a piece of work on the main thread, so that a worker is not charged for its neighbors on a busy
 * machine.
 */
const PIECE_MS_MAX = 0.2;
/** Node's pool has four threads, of which one is left for files and DNS. */
const POOL_RUNNING_MAX = 3;

export class HostWork {
  /** The turns on the engine's main thread. */
  readonly mainThread = new MainThreadBudget();
  #pool = new FairQueue({ runningMax: POOL_RUNNING_MAX, laneRunningMax: POOL_RUNNING_MAX - 1 });
  // The number of threads is one more than that of cores, and no single deployment can occupy the last one.
  #threads = new Threads({ threadsMax: availableParallelism() + 1, laneRunningMax: availableParallelism() });
  #keeping = new Threads({ threadsMax: 1, laneRunningMax: 1, keeps: true });

  /**
   * Runs an operation of thread.ts on a separate thread; the memory of its parts is transferred.
   *
   * @param estimateMs the expected cost, which is rather too low than too high, so that no work that fits is refused.
   * @param mostMs maximum charge.
   * @throws {Error} the error of the operation; {PlatformError} `cpu_limit_exceeded`.
   */
  onThread(
    work: WorkFor,
    op: string,
    args: unknown,
    parts: readonly Uint8Array[],
    estimateMs: number,
    mostMs = Number.POSITIVE_INFINITY,
  ): Promise<HostReply> {
    return this.#on(this.#threads, work, op, args, parts, estimateMs, mostMs);
  }

  /** Like `onThread`, but always on the same thread, which keeps state between operations. */
  onKeepingThread(
    work: WorkFor,
    op: string,
    args: unknown,
    parts: readonly Uint8Array[],
    estimateMs: number,
  ): Promise<HostReply> {
    return this.#on(this.#keeping, work, op, args, parts, estimateMs, Number.POSITIVE_INFINITY);
  }

  async #on(
    threads: Threads,
    work: WorkFor,
    op: string,
    args: unknown,
    parts: readonly Uint8Array[],
    estimateMs: number,
    mostMs: number,
  ): Promise<HostReply> {
    work.owner.reserveCpu(estimateMs);
    let answer: ThreadAnswer | null = null;
    try {
      answer = await threads.run(work.isolate.memory.whole, { op, args, parts }, () => isWanted(work));
    } finally {
      work.owner.settleCpu(estimateMs, Math.min(answer?.cpuMs ?? 0, mostMs));
    }
    if (answer === null) throw new DOMException('The call was aborted', 'AbortError');
    if (answer.error !== undefined) throw rebuilt(answer.error);
    return { ...answer.reply, transfer: true };
  }

  /**
   * Runs work on Node's thread pool. Such work is charged by elapsed time, up to a maximum, so that a worker is not
   * charged for its neighbors on a busy machine.
   *
   * @param mostMs maximum charge.
   */
  async onPool<Result>(work: WorkFor, estimateMs: number, mostMs: number, run: () => Promise<Result>): Promise<Result> {
    work.owner.reserveCpu(estimateMs);
    let usedMs = 0;
    try {
      return await this.#pool.run(work.isolate.memory.whole, async () => {
        if (!isWanted(work)) throw new DOMException('The call was aborted', 'AbortError');
        const began = performance.now();
        try {
          return await run();
        } finally {
          usedMs = Math.min(performance.now() - began, mostMs);
        }
      });
    } finally {
      work.owner.settleCpu(estimateMs, usedMs);
    }
  }

  /** Runs a piece of work of at most 100 us on the main thread, in its turn. The work is charged by elapsed time. */
  piece<Result>(work: WorkFor, run: () => Result): Promise<Result> {
    return this.mainThread.piece(work.isolate.memory.whole, () => {
      if (!isWanted(work)) throw new DOMException('The call was aborted', 'AbortError');
      const began = performance.now();
      try {
        return run();
      } finally {
        work.owner.settleCpu(0, Math.min(performance.now() - began, PIECE_MS_MAX));
      }
    });
  }

  async close(): Promise<void> {
    await Promise.all([this.#threads.close(), this.#keeping.close()]);
  }
}

function isWanted({ owner, isDropped }: WorkFor): boolean {
  return !owner.isOver && isDropped !== true;
}

function rebuilt({ name, message, code }: NonNullable<ThreadAnswer['error']>): Error {
  const error = Object.assign(new Error(message), code === undefined ? {} : { code });
  error.name = name;
  return error;
}
