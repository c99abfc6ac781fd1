// One V8 isolate with the guest in it: made blank from the snapshot, given a worker, entered with batches, disposed. It knows
// nothing of requests; what comes out goes to the `IsolateEvents` it was given.
import ivm from 'isolated-vm';
import { PlatformError } from '#core/errors.ts';
import type { Conduct, Enterable, EntryScheduler, EntryState } from './entry.ts';
import type { Snapshot } from './snapshot.ts';

/** What an isolate is made of; shared by all of an engine. */
export interface IsolateParts {
  readonly snapshot: Snapshot;
  readonly native: ivm.NativeModule;
  readonly scheduler: EntryScheduler;
  /** An isolate overflowed its heap inside V8: its thread is parked for good, with all its memory. */
  readonly onParked: (owner: string) => void;
  readonly counters: IsolateCounters;
  /** Where the process says, when it dies, whose code was running; below 0: nowhere. */ readonly crashDescriptor?: number;
  readonly limits: {
    readonly isolateMemoryMb: number;
    readonly startupCpuMs: number;
    readonly streamWindowBytes: number;
    readonly timersMax: number;
    readonly logBytesMax: number;
  };
}

/** What is counted of isolates: metrics/counters.ts. */
export interface IsolateCounters {
  isolatesStarted: number;
  isolatesEvicted: number;
  /** @param requests that come in with an entry. */ entered(requests: number): void;
}

/** What goes into the isolate with the next entry: emptied by it. */
export interface Batch {
  meta: string;
  text: string;
  bytes: Uint8Array[];
  /** Of what is in it. */ size: number;
  /** Requests and other events that come with it. */ requests: number;
}

/** Who hears of what an isolate does. */
export interface IsolateEvents {
  /** An entry has ended. `shareMs`: CPU of each invocation that ran in it and has no charge of its own; `cpuMs`: of all of it. */
  left(meta: string, text: string, shareMs: number, cpuMs: number, bytes: readonly Uint8Array[]): void;
  /** A synchronous host call: JSON arguments and at most one part; returns JSON-able or bytes. */
  sync(name: string, args: string, part: string | Uint8Array | undefined): unknown;
  /** A host call that the isolate's thread waits for; the answer is copied as a whole. Never rejects. */
  waiting(name: string, args: string, parts: readonly (string | Uint8Array)[]): Promise<object>;
  /** It is gone without having been asked to go. `aborted`: its thread is lost with it. `fault`: its answer could not be read. `stuck`: an entry cannot be ended. */
  died(reason: 'memory' | 'aborted' | 'fault' | 'stuck', error?: unknown): void;
}

/** A worker as it is loaded. */
export interface WorkerCode {
  readonly code: string;
  readonly vars: Readonly<Record<string, string>>;
  readonly bindings: Readonly<Record<string, string>>;
  readonly cpuLimitMs: number;
  /** `<project>/<deployment id>`: who is named when the process dies of it. */
  readonly owner: string;
}

interface Connection {
  run: ivm.Reference<(...parameters: unknown[]) => void>;
  begin: ivm.Reference<() => void>;
  end: ivm.Reference<() => number>;
  prepare: ivm.Reference<(config: unknown) => void>;
  accept: ivm.Reference<(module: unknown) => void>;
}

const COPY = { arguments: { copy: true } } as const;
// Appended to the worker's code, so that no line or column of it moves. The import runs before the body all the same and
// starts the watch over its CPU; the last statement says that the top level, with every `await` in it, is through.
const BEGIN_CODE = 'const begin = globalThis["platform:begin"]; delete globalThis["platform:begin"]; begin();';
const EPILOGUE = '\nimport "platform:begin";\nglobalThis["platform:loaded"]();\n';

/** Blank until `load`; then `enter` takes batches until `dispose` or its death. */
export class WorkerIsolate implements Enterable {
  entryState: EntryState = 'idle';
  isOvertime = false;
  enteredRound = 0;
  /** Of the deployment it serves, from when it is taken. */
  conduct: Conduct = { slowUntil: 0 };
  #isolate: ivm.Isolate;
  #context: ivm.Context;
  #connection: Connection;
  #parts: IsolateParts;
  #events: IsolateEvents | null = null;
  #batch: Batch | null = null;
  #gone = false;
  #owner = '';
  #leaves = 0;
  #checkedLeaves = 0;
  #checks = 0;

  constructor(parts: IsolateParts) {
    this.#parts = parts;
    const { isolate, context } = parts.snapshot.open({
      memoryLimit: parts.limits.isolateMemoryMb,
      onCatastrophicError: () => {
        parts.onParked(this.#owner);
        this.#die('aborted');
      },
    });
    this.#isolate = isolate;
    this.#context = context;
    const native = parts.native.createSync(this.#context) as ivm.Reference<object>;
    const connect = this.#context.global.getSync('connect', { reference: true }) as ivm.Reference<(...parameters: unknown[]) => unknown>;
    const { streamWindowBytes, timersMax, logBytesMax } = parts.limits;
    const connection = connect.applySync(
      undefined,
      [
        native.derefInto(),
        new ivm.Callback(this.#onLeave, { ignored: true }),
        new ivm.Callback(this.#onSync),
        new ivm.Reference(this.#onWaiting),
        new ivm.ExternalCopy({
          streamWindowBytes,
          timersMax,
          logBytesMax,
          memoryBytesMax: parts.limits.isolateMemoryMb * 1024 * 1024,
        }).copyInto({ release: true }),
      ],
      { result: { reference: true } },
    ) as unknown as ivm.Reference<Record<string, unknown>>;
    const take = (name: string): never => connection.getSync(name, { reference: true }) as never;
    this.#connection = { run: take('run'), begin: take('begin'), end: take('end'), prepare: take('prepare'), accept: take('accept') };
    connect.release();
    connection.release();
    native.release();
  }

  get isGone(): boolean {
    return this.#gone;
  }

  /**
   * Loads a worker and runs its top level, off the main thread, within the startup limit. Whether it serves is asked by
   * entering it: what it exports is its own code again.
   *
   * There is no code cache: the library makes one for modules (a tenth of the time to compile) and never uses it.
   *
   * @throws {PlatformError} `worker_syntax_error`, `worker_start_failed`, `startup_cpu_limit_exceeded`, `memory_limit_exceeded`.
   */
  async load(worker: WorkerCode, batch: Batch, events: IsolateEvents): Promise<void> {
    this.#owner = worker.owner;
    this.#batch = batch;
    this.#events = events;
    const { startupCpuMs, isolateMemoryMb } = this.#parts.limits;
    const context = this.#context;
    this.#connection.prepare.applySync(
      undefined,
      [
        {
          vars: worker.vars,
          bindings: worker.bindings,
          startupCpuMs,
          cpuLimitMs: worker.cpuLimitMs,
          owner: worker.owner,
          crashDescriptor: this.#parts.crashDescriptor ?? -1,
        },
      ],
      COPY,
    );
    let module: ivm.Module;
    let begin: ivm.Module;
    try {
      begin = await this.#isolate.compileModule(BEGIN_CODE, { filename: 'platform:begin' });
      module = await this.#isolate.compileModule(worker.code + EPILOGUE, { filename: 'worker.js' });
    } catch (error) {
      throw this.#died() ?? new PlatformError('worker_syntax_error', { reason: (error as Error).message }, { cause: error });
    }
    try {
      await module.instantiate(context, (specifier) => {
        if (specifier === 'platform:begin') return begin;
        throw new PlatformError('worker_start_failed', { reason: `import of "${specifier}" was not bundled` });
      });
    } catch (error) {
      throw this.#died() ?? startFailed(error);
    }
    context.global.setSync('platform:begin', this.#connection.begin.derefInto());
    try {
      await module.evaluate(startupCpuMs === 0 ? {} : { timeout: startupCpuMs * 4 + 5000 });
    } catch (error) {
      if (!this.#isolate.isDisposed) this.#endTopLevel();
      throw this.#died() ?? startFailed(error);
    }
    if (this.#isolate.isDisposed) throw new PlatformError('memory_limit_exceeded', { limitMb: isolateMemoryMb });
    this.#endTopLevel();
    this.#connection.accept.applySync(undefined, [module.namespace.derefInto()]);
  }

  /** @throws {PlatformError} when a limit ended the top level. */
  #endTopLevel(): void {
    const { startupCpuMs, isolateMemoryMb } = this.#parts.limits;
    const ended = this.#connection.end.applySync(undefined, []);
    if (ended === 1) throw new PlatformError('startup_cpu_limit_exceeded', { limitMs: startupCpuMs });
    if (ended === 2) throw new PlatformError('memory_limit_exceeded', { limitMb: isolateMemoryMb });
  }

  #died(): PlatformError | null {
    return this.#isolate.isDisposed ? new PlatformError('memory_limit_exceeded', { limitMb: this.#parts.limits.isolateMemoryMb }) : null;
  }

  /** There is something in the batch: enter soon. */
  request(): void {
    if (!this.#gone) this.#parts.scheduler.request(this);
  }

  enter(): void {
    const batch = this.#batch as Batch;
    const { meta, text, bytes } = batch;
    this.#parts.counters.entered(batch.requests);
    batch.requests = 0;
    batch.meta = '';
    batch.text = '';
    batch.size = 0;
    if (bytes.length === 0) {
      this.#connection.run.applyIgnored(undefined, [meta, text]);
    } else {
      batch.bytes = [];
      this.#connection.run.applyIgnored(undefined, [meta, text, ...bytes], COPY);
    }
  }

  #onLeave = (meta: string, text: string, shareMs: number, cpuMs: number, ...bytes: Uint8Array[]): void => {
    if (this.#gone) return;
    this.#leaves++;
    try {
      this.#events?.left(meta, text, shareMs, cpuMs, bytes);
    } catch (error) {
      // What came out makes no sense, or we cannot read it: nothing of this isolate can be trusted any more.
      this.#die('fault', error);
      return;
    }
    this.#parts.scheduler.left(this);
  };

  #onSync = (name: string, args: string, part: string | Uint8Array | undefined): unknown => this.#events?.sync(name, args, part);

  #onWaiting = async (name: string, args: string, ...parts: Uint8Array[]): Promise<unknown> => {
    const reply = await this.#events?.waiting(name, args, parts);
    return new ivm.ExternalCopy(reply).copyInto({ release: true });
  };

  /**
   * Called now and then while an entry runs: an isolate over its memory limit ends without a word, and a loop over slow built-ins
   * comes to no point where V8 would end it, for minutes. After `checksMax` calls within one entry the isolate is given up.
   */
  checkAlive(checksMax: number): void {
    if (this.#gone) return;
    if (this.#isolate.isDisposed) {
      this.#die('memory');
    } else if (this.entryState === 'idle' || this.entryState === 'ready' || this.#checkedLeaves !== this.#leaves) {
      this.#checkedLeaves = this.#leaves;
      this.#checks = 0;
    } else if (++this.#checks > checksMax) {
      // Its thread is lost until the loop ends, if it does.
      this.#parts.onParked(this.#owner);
      this.#die('stuck');
    }
  }

  #die(reason: 'memory' | 'aborted' | 'fault' | 'stuck', error?: unknown): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#parts.scheduler.forget(this);
    this.#events?.died(reason, error);
  }

  /** Heap in use, in bytes. */
  async heapBytes(): Promise<number> {
    const statistics = await this.#isolate.getHeapStatistics();
    return statistics.used_heap_size + statistics.externally_allocated_size;
  }

  dispose(): void {
    if (!this.#gone) {
      this.#gone = true;
      this.#parts.scheduler.forget(this);
    }
    if (!this.#isolate.isDisposed) this.#isolate.dispose();
  }
}

function startFailed(error: unknown): PlatformError {
  if (error instanceof PlatformError) return error;
  const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new PlatformError('worker_start_failed', { reason }, { cause: error });
}
