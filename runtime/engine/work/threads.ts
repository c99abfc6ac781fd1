// Threads for work that blocks its thread: operations without an asynchronous version in Node, and operations that
// would occupy the pool that files and DNS need. Threads are started on demand, and ended after some idle time. Their
// code is in thread.ts.
import { extname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { FairQueue } from './fair-queue.ts';

/** The result of an operation. */
export interface ThreadReply {
  readonly value?: unknown;
  readonly parts?: readonly Uint8Array[];
}

/** A message from a thread. */
export interface ThreadAnswer {
  readonly reply?: ThreadReply;
  readonly error?: { readonly name: string; readonly message: string; readonly code?: string };
  /** The CPU of the operation. */
  readonly cpuMs: number;
}

/** A message to a thread. */
export interface ThreadRequest {
  readonly op: string;
  readonly args: unknown;
  readonly parts: readonly Uint8Array[];
}

/** An idle thread costs 10 to 20 MB. */
const IDLE_MS = 30_000;

interface Thread {
  readonly worker: Worker;
  answered: ((answer: ThreadAnswer) => void) | null;
  idle: NodeJS.Timeout | null;
}

export class Threads {
  #queue: FairQueue;
  #free: Thread[] = [];
  #all = new Set<Thread>();
  #keeps: boolean;

  /** @param options.keeps whether threads keep state between operations, so that they are not ended. */
  constructor(options: { readonly threadsMax: number; readonly laneRunningMax: number; readonly keeps?: boolean }) {
    this.#queue = new FairQueue({ runningMax: options.threadsMax, laneRunningMax: options.laneRunningMax });
    this.#keeps = options.keeps === true;
  }

  /**
   * Runs an operation in its turn; the memory of its parts is transferred. Never rejects.
   *
   * @param isWanted called when it is the operation's turn; if the result is no longer needed, it returns null.
   */
  run(of: object, request: ThreadRequest, isWanted: () => boolean): Promise<ThreadAnswer | null> {
    return this.#queue.run(of, async () => {
      if (!isWanted()) return null;
      const thread = this.#free.pop() ?? this.#start();
      if (thread.idle !== null) clearTimeout(thread.idle);
      const answer = await new Promise<ThreadAnswer>((resolve) => {
        thread.answered = resolve;
        try {
          thread.worker.postMessage(request, transferable(request.parts));
        } catch (error) {
          const { name, message } = error as Error;
          resolve({ error: { name, message }, cpuMs: 0 });
        }
      });
      thread.answered = null;
      if (this.#all.has(thread)) {
        this.#free.push(thread);
        if (!this.#keeps) thread.idle = setTimeout(() => this.#end(thread), IDLE_MS).unref();
      }
      return answer;
    });
  }

  #start(): Thread {
    const script = join(import.meta.dirname, `thread${extname(import.meta.filename)}`);
    // The thread gets no secrets of the operator, and no large objects of the heap.
    const worker = new Worker(script, {
      env: {},
      name: 'work',
      resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 4 },
    });
    const thread: Thread = { worker, answered: null, idle: null };
    this.#all.add(thread);
    worker.unref();
    worker.on('message', (answer: ThreadAnswer) => thread.answered?.(answer));
    const lost = (): void => {
      this.#all.delete(thread);
      this.#free = this.#free.filter((other) => other !== thread);
      thread.answered?.({ error: { name: 'Error', message: 'thread exited', code: 'internal' }, cpuMs: 0 });
    };
    worker.on('error', lost);
    worker.on('exit', lost);
    return thread;
  }

  #end(thread: Thread): void {
    this.#all.delete(thread);
    this.#free = this.#free.filter((other) => other !== thread);
    void thread.worker.terminate();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#all].map(({ worker }) => worker.terminate()));
  }
}

/** The buffers that are transferred; parts of a buffer, and shared buffers, are copied. */
export function transferable(parts: readonly Uint8Array[]): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  for (const { buffer, byteLength } of parts)
    if (buffer instanceof ArrayBuffer && byteLength >= COPIED_BYTES_MAX && byteLength === buffer.byteLength)
      buffers.add(buffer);
  return [...buffers];
}

/** Up to this size, a copy is cheaper, and the original memory stays available to other code. */
const COPIED_BYTES_MAX = 4096;
