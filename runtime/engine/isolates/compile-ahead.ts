// Compiles the workers of new deployments before their first request, while the engine starts no isolates, so that
// the request finds V8's code cache. No worker code runs: the worker is compiled in a blank isolate that is discarded.
// handler.ts adds deployments when routes change.
import type ivm from 'isolated-vm';
import { setTimeout as delay } from 'node:timers/promises';
import type { WorkerText } from '#core/worker-text.ts';
import type { CompiledForms } from './compiled-forms.ts';
import type { Snapshot } from './snapshot.ts';

/** A worker that may have no code cache. */
export interface AheadWorker {
  /** `<project>/<deployment id>`. */
  readonly owner: string;
  /** Hash of the code. */
  readonly hash: string;
  readonly bytes: number;
  /** Returns the code; null if there is none. @throws when the bundle cannot be read. */
  text(): WorkerText | null;
}

/** Dependencies of this module. */
interface CompileAheadOptions {
  readonly snapshot: Snapshot;
  readonly native: ivm.NativeModule;
  readonly forms: CompiledForms;
  readonly memoryLimitMb: number;
}

/** Maximum number of waiting deployments; the oldest are dropped first. */
const WAITING_MAX = 2000;
/** Larger workers are compiled on first use, and charged for the compilation. */
const CODE_MAX = 4 * 1024 * 1024;
/**
 * Functions of larger workers are only compiled when they run, because a cache of all functions grows with the code.
 */
const EAGER_MAX = 1024 * 1024;
/**
 * After a compilation that takes this long, compiling ahead stops, because V8's parser cannot be interrupted, and its
 * thread sleeps forever if the heap overflows.
 */
const COMPILE_MS_MAX = 10_000;

/** The queue of one engine. */
export class CompileAhead {
  #options: CompileAheadOptions;
  #waiting: (() => AheadWorker | null)[] = [];
  #isWorking = false;
  #closed = false;

  constructor(options: CompileAheadOptions) {
    this.#options = options;
  }

  /** @param find looks up a worker when its turn comes; null if it no longer exists. */
  add(find: () => AheadWorker | null): void {
    if (this.#closed) return;
    this.#waiting.push(find);
    if (this.#waiting.length > WAITING_MAX) this.#waiting.shift();
    if (!this.#isWorking) void this.#work();
  }

  close(): void {
    this.#closed = true;
    this.#waiting = [];
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    // Compiles one worker at a time, and none while isolates start, so that requests do not wait.
    for (;;) {
      await delay(Math.max(1, this.#options.forms.quietInMs), undefined, { ref: false });
      if (this.#options.forms.quietInMs > 0) continue;
      // Engines of one machine share the caches, so they compile in random order.
      const find = this.#waiting.splice(Math.floor(Math.random() * this.#waiting.length), 1)[0];
      if (find === undefined) break;
      // A worker that cannot be read or compiled fails when it is requested.
      await this.#compile(find).catch(() => {});
    }
    this.#isWorking = false;
  }

  async #compile(find: () => AheadWorker | null): Promise<void> {
    const { snapshot, native, forms, memoryLimitMb } = this.#options;
    const worker = find();
    if (worker === null || worker.bytes > CODE_MAX || forms.has(worker.owner, worker.hash, worker.bytes)) return;
    const text = worker.text();
    if (text === null) return;
    const { isolate, functions } = await snapshot.open({ memoryLimit: memoryLimitMb, native });
    const settled = new AbortController();
    try {
      const compile = functions.getSync('compileAhead', { reference: true }) as unknown as ivm.Reference<
        (bytes: SharedArrayBuffer, isWide: boolean, isEager: boolean) => ArrayBuffer | undefined
      >;
      const compiled = compile.apply(undefined, [text.bytes, text.isWide, text.length <= EAGER_MAX], {
        arguments: { copy: true },
        result: { copy: true },
      }) as Promise<ArrayBuffer | undefined>;
      const late = delay(COMPILE_MS_MAX, null, { ref: false, signal: settled.signal }).catch(() => null);
      const form = await Promise.race([compiled, late]);
      if (form === null) this.close();
      else if (form !== undefined) await forms.keep(worker.owner, worker.hash, form);
    } finally {
      settled.abort();
      if (!isolate.isDisposed) isolate.dispose();
    }
  }
}
