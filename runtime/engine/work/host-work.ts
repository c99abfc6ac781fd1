// Work of the host for workers that takes time, each with its place, its turn and its account: the CPU is set aside
// before it begins and corrected when it has ended (CallOwner). Made by engine.ts; the host halves of bindings do their
// work with it.
import { availableParallelism } from 'node:os';
import type { HostReply } from '../bridge/host-calls.ts';
import type { CallOwner } from '../bridge/call-owner.ts';
import { FairQueue } from './fair-queue.ts';
import { MainTurns } from './main-turns.ts';
import { Threads, type ThreadAnswer } from './threads.ts';

/** For whom work is done: a host call is one. */
export interface WorkFor {
  readonly owner: Pick<CallOwner, 'reserveCpu' | 'settleCpu' | 'isOver'>;
  /** Whose turn it is: a deployment has one account. */
  readonly isolate: { readonly memory: { readonly whole: object } };
  /** Nobody waits any more. */
  readonly isDropped?: boolean;
}

/**
 * What a piece of work on the main thread is charged at most: a busy machine must not charge a worker for its
 * neighbours.
 */
const PIECE_MS_MAX = 0.2;
/** Of the four threads of Node's pool: one is left to files and DNS. */
const POOL_RUNNING_MAX = 3;

export class HostWork {
  /** Of the engine's main thread. */
  readonly turns = new MainTurns();
  #pool = new FairQueue({ runningMax: POOL_RUNNING_MAX, laneRunningMax: POOL_RUNNING_MAX - 1 });
  // One more than cores, and a place that no deployment alone can fill.
  #threads = new Threads({ threadsMax: availableParallelism() + 1, laneRunningMax: availableParallelism() });
  #keeping = new Threads({ threadsMax: 1, laneRunningMax: 1, keeps: true });

  /**
   * An operation of thread.ts, on a thread of its own; the memory of its parts is given away.
   *
   * @param estimateMs what it takes, rather too little than too much: nothing is refused that would fit.
   * @param mostMs more than this it is not charged.
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

  /** As `onThread`, always on the same thread, which keeps what the operation wants to find again. */
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
   * Work on Node's own thread pool. It is charged by the time that passes, as it has a thread of its own, but no more
   * than a bound: a busy machine must not charge a worker for its neighbours.
   *
   * @param mostMs more than this it is not charged.
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

  /** A piece of work on the main thread, in its turn: at most 100 us. It is charged by the time that passes. */
  piece<Result>(work: WorkFor, run: () => Result): Promise<Result> {
    return this.turns.piece(work.isolate.memory.whole, () => {
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
