// One V8 isolate with the guest in it: made blank from the snapshot, given a worker, entered with batches, disposed. It
// knows nothing of requests; what comes out goes to the `IsolateEvents` it was given.
import ivm from 'isolated-vm';
import type { WorkerText } from '#core/worker-text.ts';
import { formStages, type CompiledForms, type FormStage } from './compiled-forms.ts';
import type { Conduct, Enterable, EntryScheduler, EntryState } from './entry.ts';
import type { LossReason, LostThreads } from './lost-threads.ts';
import type { Snapshot } from './snapshot.ts';
import type { GrownBytes, ResidentGrowth } from './resident-growth.ts';
import { shownWords, StuckEntry } from './stuck-entry.ts';

/** What an isolate is made of; shared by all of an engine. */
export interface IsolateParts {
  readonly snapshot: Snapshot;
  readonly native: ivm.NativeModule;
  readonly scheduler: EntryScheduler;
  /** Who gets the threads of isolates that are given up. */
  readonly lostThreads: Pick<LostThreads, 'watch' | 'parked'>;
  readonly counters: IsolateCounters;
  /** Null: each start compiles. */
  readonly compiledForms: CompiledForms | null;
  /** Where the process says, when it dies, whose code was running; below 0: nowhere. */
  readonly crashDescriptor?: number;
  /** Absent: memory that V8 does not count ends no isolate. */
  readonly growth?: ResidentGrowth;
  readonly limits: {
    readonly isolateMemoryMb: number;
    /** Of the worker's top level; 0 = off. */
    readonly startupCpuMs: number;
    readonly streamWindowBytes: number;
    readonly timersMax: number;
    readonly atomicsWaitMs: number;
    readonly logBytesMax: number;
  };
}

/** What is counted of isolates: metrics/counters.ts. */
interface IsolateCounters {
  isolatesStarted: number;
  isolatesEvicted: number;
  /** @param requests that come in with an entry. */
  entered(requests: number): void;
}

/** What goes into the isolate with the next entry: emptied by it. */
interface Batch {
  meta: string;
  text: string;
  bytes: Uint8Array[];
  /** It is on its way into the isolate. */
  taken(): void;
  /** Requests and other events that come with it. */
  requests: number;
  /** Those of `bytes`, in their order, that nobody needs any more: their memory goes over instead of a copy. */
  transferred: Uint8Array[] | null;
}

/**
 * `memory`: over its limit; `aborted`: so, at once, and its thread is lost with it; `stuck`: an entry cannot be ended;
 * `fault`: its answer could not be read.
 */
export type DeathReason = 'memory' | 'aborted' | 'stuck' | 'fault';

/** Deaths with which a thread is lost. */
const lossReasons: Readonly<Record<DeathReason, LossReason | null>> = {
  memory: null,
  aborted: 'heap',
  stuck: 'endless',
  fault: null,
};

/** Who hears of what an isolate does. */
export interface IsolateEvents {
  /**
   * An entry has ended. `shareMs`: CPU of each invocation that ran in it and has no charge of its own; `cpuMs`: of all
   * of it.
   */
  left(meta: string, text: string, shareMs: number, cpuMs: number, bytes: readonly Uint8Array[]): void;
  /** A synchronous host call: JSON arguments and at most one part; returns JSON-able or bytes. */
  sync(name: string, args: string, part: string | Uint8Array | undefined): unknown;
  /** A host call that the isolate's thread waits for; the answer is copied as a whole. Never rejects. */
  waiting(
    invocation: number,
    name: string,
    args: string,
    parts: readonly (string | Uint8Array)[],
  ): Promise<{ readonly parts?: readonly Uint8Array[]; readonly cpuMs: number }>;
  /** It is gone without having been asked to go. */
  died(reason: DeathReason, error?: unknown): void;
  /** It was given up, and its thread has used so much more. */
  burnt(cpuMs: number): void;
}

/** A worker as it is loaded. */
interface WorkerCode {
  readonly text: WorkerText;
  readonly vars: Readonly<Record<string, string>>;
  readonly bindings: Readonly<Record<string, string>>;
  readonly cpuLimitMs: number;
  /** `<project>/<deployment id>`: who is named when the process dies of it. */
  readonly owner: string;
  /** Whose that is; null where no control plane says so. */
  readonly organization: string | null;
  /** Of the code: what its compiled form is kept under. */
  readonly hash: string;
}

interface Connection {
  run: ivm.Reference<(...parameters: unknown[]) => void>;
  load: ivm.Reference<(...parameters: unknown[]) => void>;
  compiledForm: ivm.Reference<() => ArrayBuffer | undefined>;
  trim: ivm.Reference<() => void>;
}

/** A hello worker holds 1.2 MB, of which trimming would give nothing back. */
const TRIM_BYTES_MIN = 1.5 * 1024 * 1024;
const COPY = { arguments: { copy: true } } as const;
/** Blank until `load`; then `enter` takes batches until `dispose` or its death. */
export class WorkerIsolate implements Enterable {
  entryState: EntryState = 'idle';
  isOvertime = false;
  overtimeSince = 0;
  isBurning = false;
  enteredRound = 0;
  /** Of the deployment it serves, from when it is taken. */
  conduct: Conduct = { slowUntil: 0, isBurning: false };
  #isolate: ivm.Isolate;
  #context: ivm.Context;
  #connection: Connection;
  #parts: IsolateParts;
  #events: IsolateEvents | null = null;
  #batch: Batch | null = null;
  #gone = false;
  /** With which reason its thread is lost. */
  #lost: LossReason | null = null;
  /** CPU of the entry that it ended in. */
  #endedMs = 0;
  /** The host reads what an entry answered. */
  #isReporting = false;
  #worker: WorkerCode | null = null;
  /** The first entry has loaded it. */
  #isLoaded = false;
  /** Requests and other events that came. */
  #served = 0;
  /** Of the form that is known of its worker; null: none is ever taken. */
  #formStage: FormStage | null = null;
  #leaves = 0;
  #checkedLeaves = 0;
  #stuck: StuckEntry;
  readonly #grown: GrownBytes = { bytes: 0, at: 0 };
  /** Host calls that its thread waits for. */
  #awaited = 0;

  constructor(parts: IsolateParts) {
    this.#parts = parts;
    const { isolate, context } = parts.snapshot.open({
      memoryLimit: parts.limits.isolateMemoryMb,
      onCatastrophicError: () => {
        parts.lostThreads.parked(this.#stuck.shown);
        this.#die('aborted');
      },
    });
    this.#isolate = isolate;
    this.#context = context;
    const native = parts.native.createSync(this.#context) as ivm.Reference<object>;
    parts.snapshot.share(native);
    const connect = this.#context.global.getSync('connect', { reference: true }) as ivm.Reference<
      (...parameters: unknown[]) => unknown
    >;
    const { streamWindowBytes, timersMax, atomicsWaitMs, logBytesMax } = parts.limits;
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
          memoryBytesMax: parts.limits.isolateMemoryMb * 1024 * 1024,
          snapshotKey: parts.snapshot.key,
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
   * Gives it its worker. It is compiled, and its top level run, by the first entry, on the way to the first requests:
   * one wake-up of the isolate's thread for all of it. What became of it says the guest when it is asked
   * (`Link.start`).
   */
  load(worker: WorkerCode, batch: Batch, events: IsolateEvents): void {
    this.#batch = batch;
    this.#events = events;
    this.#worker = worker;
  }

  #enterWorker({ text, hash, owner, vars, bindings, cpuLimitMs }: WorkerCode): void {
    const { limits, compiledForms, crashDescriptor } = this.#parts;
    const config = {
      vars,
      bindings,
      startupCpuMs: limits.startupCpuMs,
      cpuLimitMs,
      owner,
      crashDescriptor: crashDescriptor ?? -1,
    };
    // V8 checks a form against the length of the source only: without a hash of the code there is no telling what is in
    // it.
    const forms = hash === '' ? null : compiledForms;
    const form = forms?.find(owner, hash, text.length) ?? null;
    this.#connection.load.applyIgnored(undefined, [config, text.bytes, text.isWide, form?.bytes ?? null], COPY);
    if (forms !== null) this.#formStage = form?.stage ?? 'ahead';
  }

  /** Its form is worth to be taken once it has served: V8 has compiled then what serving takes. */
  #offerForm(requests: number): void {
    this.#served += requests;
    const next = this.#formStage === null ? undefined : formStages[this.#formStage].next;
    if (next === undefined || this.#served < formStages[next].requestsMin) return;
    const { owner, hash, text } = this.#worker as WorkerCode;
    this.#formStage = next;
    this.#parts.compiledForms?.offer(owner, hash, text.length, next, this);
  }

  /** V8's compiled form of the worker with all functions that it has compiled; null where it cannot be had. */
  async compiledForm(): Promise<ArrayBuffer | null> {
    if (this.#gone) return null;
    return (
      ((await this.#connection.compiledForm.apply(undefined, [], { result: { copy: true } })) as
        | ArrayBuffer
        | undefined) ?? null
    );
  }

  /** Gives back what it does not need while nothing runs, where it holds enough for that to be worth the time. */
  async trim(): Promise<void> {
    if (this.#gone || this.entryState !== 'idle' || (await this.heapBytes()) < TRIM_BYTES_MIN) return;
    if (!this.#gone && this.entryState === 'idle') await this.#connection.trim.apply(undefined, []);
  }

  /** There is something in the batch: enter soon. */
  request(): void {
    if (!this.#gone) this.#parts.scheduler.request(this);
  }

  enter(): void {
    const batch = this.#batch as Batch;
    const { meta, text, bytes } = batch;
    this.#stuck.begin();
    if (!this.#isLoaded && this.#worker !== null) {
      this.#isLoaded = true;
      this.#enterWorker(this.#worker);
    }
    this.#parts.counters.entered(batch.requests);
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
      // What came out makes no sense, or we cannot read it: nothing of this isolate can be trusted any more.
      this.#die('fault', error);
      return;
    } finally {
      this.#isReporting = false;
    }
    this.#parts.scheduler.left(this, cpuMs);
  };

  #onSync = (name: string, args: string, part: string | Uint8Array | undefined): unknown =>
    this.#events?.sync(name, args, part);

  #onWaiting = async (invocation: number, name: string, args: string, ...parts: Uint8Array[]): Promise<unknown> => {
    this.#awaited++;
    const reply = await this.#events?.waiting(invocation, name, args, parts);
    this.#awaited--;
    // Parts go over with their memory: nobody else has them.
    const transferList = (reply?.parts ?? []).map(({ buffer }) => buffer);
    return new ivm.ExternalCopy(reply, { transferList }).copyInto({ release: true, transferIn: true });
  };

  /**
   * Called now and then while an entry runs: an isolate over its memory limit ends without a word, and a loop over slow
   * built-ins comes to no point where V8 would end it, for minutes.
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
    return thread > 0 && this.#parts.growth?.isOver(this.#grown, thread) === true;
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
    // Of an entry that answered, the host knows it from the answer.
    this.#endedMs = isEntered && !this.#isReporting ? this.#stuck.usedMs : 0;
    this.#parts.scheduler.forget(this);
  }

  /** Heap in use, in bytes. */
  async heapBytes(): Promise<number> {
    const statistics = await this.#isolate.getHeapStatistics();
    return statistics.used_heap_size + statistics.externally_allocated_size;
  }

  /**
   * Called once. Where its thread goes on, `IsolateEvents.burnt` tells what it uses from here on.
   *
   * @returns CPU of the entry that ends with it; 0 where none ran.
   */
  dispose(): number {
    this.#end();
    if (!this.#isolate.isDisposed) this.#isolate.dispose();
    const worker = this.#worker;
    if (worker !== null && (this.#lost !== null || this.#stuck.isEntered)) {
      const { owner, organization } = worker;
      const { shown } = this.#stuck;
      const onBurnt = (cpuMs: number): void => {
        this.#parts.scheduler.burns(this.conduct);
        this.#events?.burnt(cpuMs);
      };
      const thread = { owner, organization, shown, chargedMs: this.#stuck.usedMs, onBurnt };
      this.#parts.lostThreads.watch(thread, this.#lost);
    }
    return this.#endedMs;
  }
}

/**
 * What a guest sends twice in an entry arrives as one: each of its places gets memory of its own, since whoever takes a
 * part may free it. Changes the list.
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
 * What crosses for chunks: of the transferred ones their memory itself, so that 1 MB costs 30 us instead of 280, and
 * nothing to collect.
 */
function handOver(bytes: readonly Uint8Array[], transferred: readonly Uint8Array[]): ivm.Copy<Uint8Array>[] {
  let at = 0;
  return bytes.map((chunk) => {
    const isHanded = chunk === transferred[at];
    if (isHanded) at++;
    return new ivm.ExternalCopy(chunk, { transferOut: isHanded }).copyInto({ release: true, transferIn: isHanded });
  });
}
