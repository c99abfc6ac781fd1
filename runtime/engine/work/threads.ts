// Threads of our own for work of workers that blocks the thread it runs on: what Node has no asynchronous form of, and
// what would fill the pool that files and DNS need too. Started when there is work, ended when there is none for a
// while. What they do: thread.ts.
import { extname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { FairQueue } from './fair-queue.ts';

/** What an operation gave. */
export interface ThreadReply {
  readonly value?: unknown;
  readonly parts?: readonly Uint8Array[];
}

/** A message from a thread. */
export interface ThreadAnswer {
  readonly reply?: ThreadReply;
  readonly error?: { readonly name: string; readonly message: string; readonly code?: string };
  /** That the operation took. */
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

  /** @param options.keeps threads hold state between operations, and so are not ended. */
  constructor(options: { readonly threadsMax: number; readonly laneRunningMax: number; readonly keeps?: boolean }) {
    this.#queue = new FairQueue({ runningMax: options.threadsMax, laneRunningMax: options.laneRunningMax });
    this.#keeps = options.keeps === true;
  }

  /**
   * Runs an operation in its turn; the memory of its parts is given away. Never rejects.
   *
   * @param isWanted asked when it is its turn; null comes back where nobody wants it any more.
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
    // None of the operator's secrets, and nothing on the heap that is large.
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

/** The buffers whose memory goes over; of a part of one, and of a shared one, what is in it is copied. */
export function transferable(parts: readonly Uint8Array[]): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  for (const { buffer, byteLength } of parts)
    if (buffer instanceof ArrayBuffer && byteLength >= COPIED_BYTES_MAX && byteLength === buffer.byteLength)
      buffers.add(buffer);
  return [...buffers];
}

/** Up to here a copy is cheaper, and what others may still see of the memory stays. */
const COPIED_BYTES_MAX = 4096;
