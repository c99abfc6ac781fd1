// Host work for workers that takes time, each with a slot, a turn and an account: CPU is reserved before it begins
// and corrected when it has ended (CallOwner). Made by engine.ts; used by the host halves of bindings.
import { availableParallelism } from 'node:os';
import type { HostReply } from '../bridge/host-calls.ts';
import type { CallOwner } from '../bridge/call-owner.ts';
import { FairQueue } from './fair-queue.ts';
import { MainThreadBudget } from '../bridge/main-thread-budget.ts';
import { Threads, type ThreadAnswer } from './threads.ts';

/** The owner charged for the work, for example a host call. */
export interface WorkFor {
  readonly owner: Pick<CallOwner, 'reserveCpu' | 'settleCpu' | 'isOver'>;
  /** Key of the turn: a deployment has one account. */
  readonly isolate: { readonly memory: { readonly whole: object } };
  /** Whether the result is no longer needed. */
  readonly isDropped?: boolean;
}

/** Maximum charge for a piece of work on the main thread: a busy machine must not charge a worker for its neighbors. */
const PIECE_MS_MAX = 0.2;
/** Node's pool has four threads: one is left for files and DNS. */
const POOL_RUNNING_MAX = 3;

export class HostWork {
  /** Turns on the engine's main thread. */
  readonly mainThread = new MainThreadBudget();
  #pool = new FairQueue({ runningMax: POOL_RUNNING_MAX, laneRunningMax: POOL_RUNNING_MAX - 1 });
  // One more than there are cores, with a slot that no single deployment can occupy.
  #threads = new Threads({ threadsMax: availableParallelism() + 1, laneRunningMax: availableParallelism() });
  #keeping = new Threads({ threadsMax: 1, laneRunningMax: 1, keeps: true });

  /**
   * Runs an operation of thread.ts on a separate thread; the memory of its parts is transferred.
   *
   * @param estimateMs expected cost, rather too low than too high, so that nothing that fits is refused.
   * @param mostMs maximum charge.
   * @throws {Error} what the operation threw; {PlatformError} `cpu_limit_exceeded`.
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

  /** As `onThread`, always on the same thread, which keeps state between operations. */
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
   * Runs work on Node's thread pool. Such work is charged by elapsed time, up to a maximum: a busy machine must not
   * charge a worker for its neighbors.
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

  /** Runs a piece of work on the main thread, in its turn: at most 100 us. The work is charged by elapsed time. */
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
