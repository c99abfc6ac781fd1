// One V8 isolate with the guest: created blank from the snapshot, given a worker, entered with batches, disposed.
// Independent of requests; its output goes to its `IsolateEvents`.
import ivm from 'isolated-vm';
import type { WorkerText } from '#core/worker-text.ts';
import { formStages, type CompiledForms, type FormStage } from './compiled-forms.ts';
import type { Conduct, Enterable, EntryScheduler, EntryState } from './entry.ts';
import type { LossReason, LostThreads } from './lost-threads.ts';
import type { Snapshot } from './snapshot.ts';
import type { GrownBytes, ResidentGrowth } from './resident-growth.ts';
import { shownWords, StuckEntry } from './stuck-entry.ts';

/** Dependencies shared by all isolates of an engine. */
export interface IsolateDeps {
  readonly snapshot: Snapshot;
  readonly native: ivm.NativeModule;
  readonly scheduler: EntryScheduler;
  /** Takes over the threads of abandoned isolates. */
  readonly lostThreads: Pick<LostThreads, 'watch' | 'parked'>;
  readonly counters: IsolateCounters;
  /** Null: each start compiles. */
  readonly compiledForms: CompiledForms | null;
  /** Descriptor on which a dying process names the code that was running; below 0: none. */
  readonly crashDescriptor?: number;
  /** Absent: memory that V8 does not count ends no isolate. */
  readonly growth?: ResidentGrowth;
  readonly limits: {
    readonly isolateMemoryMb: number;
    /** CPU limit of the worker's top level; 0 = off. */
    readonly startupCpuMs: number;
    readonly streamWindowBytes: number;
    readonly timersMax: number;
    readonly atomicsWaitMs: number;
    readonly logBytesMax: number;
  };
}

/** Counters of isolates: metrics/counters.ts. */
interface IsolateCounters {
  isolatesStarted: number;
  isolatesEvicted: number;
  /** @param requests that enter together. */
  entered(requests: number): void;
}

/** Input of the next entry, which empties it. */
interface Batch {
  meta: string;
  text: string;
  bytes: Uint8Array[];
  /** Called when it enters the isolate. */
  taken(): void;
  /** Number of requests and other events in it. */
  requests: number;
  /** The arrays of `bytes`, in order, that are no longer needed: their memory is transferred instead of copied. */
  transferred: Uint8Array[] | null;
}

/**
 * `memory`: over its limit; `aborted`: the same, but immediate, and its thread is lost with it; `stuck`: an entry
 * cannot be terminated; `fault`: its records could not be read.
 */
export type DeathReason = 'memory' | 'aborted' | 'stuck' | 'fault';

/** Deaths that also lose a thread. */
const lossReasons: Readonly<Record<DeathReason, LossReason | null>> = {
  memory: null,
  aborted: 'heap',
  stuck: 'endless',
  fault: null,
};

/** Receives the events of an isolate. */
export interface IsolateEvents {
  /**
   * An entry has ended. `shareMs`: CPU of each invocation that ran in it without a charge of its own; `cpuMs`: CPU of
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
  /** It was abandoned, and its thread has used this much more CPU. */
  burnt(cpuMs: number): void;
}

/** A worker to load. */
interface WorkerCode {
  readonly text: WorkerText;
  readonly vars: Readonly<Record<string, string>>;
  /** As in guest/environment.ts. */
  readonly bindings: Readonly<Record<string, string | null>>;
  readonly cpuLimitMs: number;
  /** `<project>/<deployment id>`: named if the process dies because of it. */
  readonly owner: string;
  /** Its organization; null without a control plane. */
  readonly organization: string | null;
  /** Hash of the code, the key of its code cache. */
  readonly hash: string;
}

interface Connection {
  run: ivm.Reference<(...parameters: unknown[]) => void>;
  load: ivm.Reference<(...parameters: unknown[]) => void>;
  compiledForm: ivm.Reference<() => ArrayBuffer | undefined>;
  trim: ivm.Reference<() => void>;
}

/** A hello worker holds 1.2 MB, of which trimming would free nothing. */
const TRIM_BYTES_MIN = 1.5 * 1024 * 1024;
/** One that holds little more than after its last trim is left alone: a few requests leave less than a trim costs. */
const GROWN_BYTES_MIN = 512 * 1024;
const COPY = { arguments: { copy: true } } as const;
/** Blank until `load`; then `enter` takes batches until it is disposed or dies. */
export class WorkerIsolate implements Enterable {
  entryState: EntryState = 'idle';
  isOvertime = false;
  /** Heap after the last trim. */
  #trimmedBytes = 0;
  overtimeSince = 0;
  isBurning = false;
  enteredRound = 0;
  /** The deployment's, once it serves one. */
  conduct: Conduct = { slowUntil: 0, isBurning: false };
  #isolate: ivm.Isolate;
  #context: ivm.Context;
  #connection: Connection;
  #deps: IsolateDeps;
  #events: IsolateEvents | null = null;
  #batch: Batch | null = null;
  #gone = false;
  /** Reason for which its thread is lost. */
  #lost: LossReason | null = null;
  /** CPU of the entry in which it ended. */
  #endedMs = 0;
  /** Whether the host is reading an entry's records. */
  #isReporting = false;
  #worker: WorkerCode | null = null;
  /** Whether the first entry has loaded the worker. */
  #isLoaded = false;
  /** Number of requests and other events received. */
  #served = 0;
  /** Stage of the worker's known code cache; null: none is ever taken. */
  #formStage: FormStage | null = null;
  #leaves = 0;
  #checkedLeaves = 0;
  #stuck: StuckEntry;
  readonly #grown: GrownBytes = { bytes: 0, at: 0 };
  /** Host calls that its thread waits for. */
  #awaited = 0;

  constructor(deps: IsolateDeps) {
    this.#deps = deps;
    const { isolate, context } = deps.snapshot.open({
      memoryLimit: deps.limits.isolateMemoryMb,
      onCatastrophicError: () => {
        deps.lostThreads.parked(this.#stuck.shown);
        this.#die('aborted');
      },
    });
    this.#isolate = isolate;
    this.#context = context;
    const native = deps.native.createSync(this.#context) as ivm.Reference<object>;
    deps.snapshot.share(native);
    const connect = this.#context.global.getSync('connect', { reference: true }) as ivm.Reference<
      (...parameters: unknown[]) => unknown
    >;
    const { streamWindowBytes, timersMax, atomicsWaitMs, logBytesMax } = deps.limits;
    this.#stuck = new StuckEntry(atomicsWaitMs);
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
          atomicsWaitMs,
          logBytesMax,
          memoryBytesMax: deps.limits.isolateMemoryMb * 1024 * 1024,
          snapshotKey: deps.snapshot.key,
        }).copyInto({ release: true }),
        new ivm.ExternalCopy(this.#stuck.shown.buffer).copyInto({ release: true }),
      ],
      { result: { reference: true } },
    ) as unknown as ivm.Reference<Record<string, unknown>>;
    const take = (name: string): never => connection.getSync(name, { reference: true }) as never;
    this.#connection = { run: take('run'), load: take('load'), compiledForm: take('compiledForm'), trim: take('trim') };
    connect.release();
    connection.release();
    native.release();
  }

  /**
   * Sets its worker, which the first entry compiles and runs the top level of, before the first requests: the
   * isolate's thread is woken once for everything. The guest reports the result when it is asked (`Link.start`).
   */
  load(worker: WorkerCode, batch: Batch, events: IsolateEvents): void {
    this.#batch = batch;
    this.#events = events;
    this.#worker = worker;
  }

  #enterWorker({ text, hash, owner, vars, bindings, cpuLimitMs }: WorkerCode): void {
    const { limits, compiledForms, crashDescriptor } = this.#deps;
    const config = {
      vars,
      bindings,
      startupCpuMs: limits.startupCpuMs,
      cpuLimitMs,
      owner,
      crashDescriptor: crashDescriptor ?? -1,
    };
    // V8 checks a cache only against the length of the source: without a hash of the code its content is unknown.
    const forms = hash === '' ? null : compiledForms;
    const form = forms?.find(owner, hash, text.length) ?? null;
    this.#connection.load.applyIgnored(undefined, [config, text.bytes, text.isWide, form?.bytes ?? null], COPY);
    if (forms !== null) this.#formStage = form?.stage ?? 'ahead';
  }

  /** Offers its code cache once it has served: V8 has then compiled the functions that serving needs. */
  #offerForm(requests: number): void {
    this.#served += requests;
    const next = this.#formStage === null ? undefined : formStages[this.#formStage].next;
    if (next === undefined || this.#served < formStages[next].requestsMin) return;
    const { owner, hash, text } = this.#worker as WorkerCode;
    this.#formStage = next;
    this.#deps.compiledForms?.offer(owner, hash, text.length, next, this);
  }

  /** V8's code cache of the worker with all functions compiled so far; null if it is not available. */
  async compiledForm(): Promise<ArrayBuffer | null> {
    if (this.#gone) return null;
    return (
      ((await this.#connection.compiledForm.apply(undefined, [], { result: { copy: true } })) as
        | ArrayBuffer
        | undefined) ?? null
    );
  }

  /** Frees memory while nothing runs, if the isolate holds enough for that to be worth the time. */
  async trim(): Promise<void> {
    if (this.#gone || this.entryState !== 'idle') return;
    const bytes = await this.heapBytes();
    if (bytes < TRIM_BYTES_MIN || bytes - this.#trimmedBytes < GROWN_BYTES_MIN) return;
    if (this.#gone || this.entryState !== 'idle') return;
    await this.#connection.trim.apply(undefined, []);
    this.#trimmedBytes = await this.heapBytes();
  }

  /** The batch has content: the isolate must be entered soon. */
  request(): void {
    if (!this.#gone) this.#deps.scheduler.request(this);
  }

  enter(): void {
    const batch = this.#batch as Batch;
    const { meta, text, bytes } = batch;
    this.#stuck.begin();
    if (!this.#isLoaded && this.#worker !== null) {
      this.#isLoaded = true;
      this.#enterWorker(this.#worker);
    }
    this.#deps.counters.entered(batch.requests);
    if (batch.requests > 0 && this.#formStage !== null) this.#offerForm(batch.requests);
    batch.requests = 0;
    batch.meta = '';
    batch.text = '';
    batch.taken();
    if (bytes.length === 0) {
      this.#connection.run.applyIgnored(undefined, [meta, text]);
    } else {
      const { transferred } = batch;
      batch.bytes = [];
      batch.transferred = null;
      if (transferred === null) this.#connection.run.applyIgnored(undefined, [meta, text, ...bytes], COPY);
      else this.#connection.run.applyIgnored(undefined, [meta, text, ...handOver(bytes, transferred)]);
    }
  }

  #onLeave = (meta: string, text: string, shareMs: number, cpuMs: number, ...bytes: Uint8Array[]): void => {
    if (this.#gone) return;
    this.#leaves++;
    this.#isReporting = true;
    try {
      if (!(shareMs >= 0 && cpuMs >= 0 && cpuMs < Infinity))
        throw new Error(`guest reported ${cpuMs} ms of CPU, ${shareMs} ms a share`);
      this.#events?.left(meta, text, shareMs, cpuMs, bytes.length > 1 ? apart(bytes) : bytes);
    } catch (error) {
      // Malformed records, or a bug of ours in reading them: the isolate cannot be trusted any more.
      this.#die('fault', error);
      return;
    } finally {
      this.#isReporting = false;
    }
    this.#deps.scheduler.left(this, cpuMs);
  };

  #onSync = (name: string, args: string, part: string | Uint8Array | undefined): unknown =>
    this.#events?.sync(name, args, part);

  #onWaiting = async (invocation: number, name: string, args: string, ...parts: Uint8Array[]): Promise<unknown> => {
    this.#awaited++;
    const reply = await this.#events?.waiting(invocation, name, args, parts);
    this.#awaited--;
    // Parts are transferred with their memory: nothing else uses them.
    const transferList = (reply?.parts ?? []).map(({ buffer }) => buffer);
    return new ivm.ExternalCopy(reply, { transferList }).copyInto({ release: true, transferIn: true });
  };

  /**
   * Called from time to time while an entry runs: an isolate over its memory limit ends without an event, and a loop
   * over slow built-ins may not reach a point where V8 can end it for minutes.
   */
  checkAlive(): void {
    if (this.#gone) return;
    if (this.#isolate.isDisposed || this.#isOverGrown()) {
      this.#die('memory');
    } else if (this.entryState === 'idle' || this.entryState === 'ready' || this.#checkedLeaves !== this.#leaves) {
      this.#checkedLeaves = this.#leaves;
      this.#stuck.reset();
    } else if (this.#stuck.check(this.#awaited > 0)) {
      this.#die('stuck');
    }
  }

  #isOverGrown(): boolean {
    const thread = Atomics.load(this.#stuck.shown, shownWords.thread);
    return thread > 0 && this.#deps.growth?.isOver(this.#grown, thread) === true;
  }

  #die(reason: DeathReason, error?: unknown): void {
    if (this.#gone) return;
    this.#lost = lossReasons[reason];
    this.#end();
    this.#events?.died(reason, error);
  }

  #end(): void {
    if (this.#gone) return;
    this.#gone = true;
    const isEntered = this.entryState !== 'idle' && this.entryState !== 'ready';
    // If the entry sent its records, the host knows its CPU from them.
    this.#endedMs = isEntered && !this.#isReporting ? this.#stuck.usedMs : 0;
    this.#deps.scheduler.forget(this);
  }

  /** Heap in use, in bytes. */
  async heapBytes(): Promise<number> {
    const statistics = await this.#isolate.getHeapStatistics();
    return statistics.used_heap_size + statistics.externally_allocated_size;
  }

  /**
   * Called once. If its thread continues, `IsolateEvents.burnt` reports its further CPU.
   *
   * @returns CPU of the entry that ends with it; 0 if none ran.
   */
  dispose(): number {
    this.#end();
    if (!this.#isolate.isDisposed) this.#isolate.dispose();
    const worker = this.#worker;
    if (worker !== null && (this.#lost !== null || this.#stuck.isEntered)) {
      const { owner, organization } = worker;
      const { shown } = this.#stuck;
      const onBurnt = (cpuMs: number): void => {
        this.#deps.scheduler.burns(this.conduct);
        this.#events?.burnt(cpuMs);
      };
      const thread = { owner, organization, shown, chargedMs: this.#stuck.usedMs, onBurnt };
      this.#deps.lostThreads.watch(thread, this.#lost);
    }
    return this.#endedMs;
  }
}

/**
 * Arrays that a guest sends twice in an entry arrive as one: each gets memory of its own, since the receiver of a
 * part may free it. Modifies the list.
 */
function apart(bytes: Uint8Array[]): Uint8Array[] {
  const seen = new Set<ArrayBufferLike>();
  for (let at = 0; at < bytes.length; at++) {
    const { buffer } = bytes[at] as Uint8Array;
    if (seen.has(buffer)) bytes[at] = (bytes[at] as Uint8Array).slice();
    else seen.add(buffer);
  }
  return bytes;
}

/**
 * The transferable form of chunks: those marked as transferred cross with their memory, so that 1 MB costs 30 us
 * instead of 280 and leaves no garbage.
 */
function handOver(bytes: readonly Uint8Array[], transferred: readonly Uint8Array[]): ivm.Copy<Uint8Array>[] {
  let at = 0;
  return bytes.map((chunk) => {
    const isHanded = chunk === transferred[at];
    if (isHanded) at++;
    return new ivm.ExternalCopy(chunk, { transferOut: isHanded }).copyInto({ release: true, transferIn: isHanded });
  });
}
