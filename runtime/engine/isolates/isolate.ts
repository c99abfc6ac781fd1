// One V8 isolate with the guest. An isolate is created blank from the snapshot, gets a worker, is entered with batches,
// and is disposed. Independent of requests; its output goes to its `IsolateEvents`.
import ivm from 'isolated-vm';
import type { WorkerText } from '#core/worker-text.ts';
import type { CompiledForms } from './compiled-forms.ts';
import type { Conduct, Enterable, EntryScheduler, EntryState } from './entry.ts';
import type { LossReason, LostThreads } from './lost-threads.ts';
import { apart, handOver } from './entry-bytes.ts';
import { FormOffers } from './form-offers.ts';
import { connectGuest, type GuestConnection } from './guest-connection.ts';
import { isTrimWorth } from './heap-trim.ts';
import { lossReasons, type DeathReason, type IsolateEvents } from './isolate-events.ts';
import type { OpenedIsolate } from './snapshot-contexts.ts';
import type { Snapshot } from './snapshot.ts';
import type { GrownBytes, ResidentGrowth } from './resident-growth.ts';
import { shownWords, StuckEntry } from './stuck-entry.ts';

/** Dependencies shared by all isolates of an engine. */
export interface IsolateDeps {
  readonly snapshot: Snapshot;
  readonly native: ivm.NativeModule;
  readonly scheduler: EntryScheduler;
  /** Watches the threads of abandoned isolates. */
  readonly lostThreads: Pick<LostThreads, 'watch'>;
  readonly counters: IsolateCounters;
  /** The code caches; null means that each start compiles the worker. */
  readonly compiledForms: CompiledForms | null;
  /** Descriptor on which a dying process names the code that was running; below 0 if there is none. */
  readonly crashDescriptor?: number;
  /** Detects growth of memory that V8 does not count; if absent, such memory ends no isolate. */
  readonly growth?: ResidentGrowth;
  readonly limits: {
    readonly isolateMemoryMb: number;
    /** CPU limit of the worker's top level; 0 means no limit. */
    readonly startupCpuMs: number;
    readonly streamWindowBytes: number;
    readonly timersMax: number;
    readonly atomicsWaitMs: number;
    readonly logBytesMax: number;
  };
}

/** Counters of isolates (metrics/counters.ts). */
interface IsolateCounters {
  isolatesStarted: number;
  isolatesEvicted: number;
  /** @param requests the number of requests that enter together. */
  entered(requests: number): void;
}

/** Input of the next entry. The entry empties it. */
interface Batch {
  meta: string;
  text: string;
  bytes: Uint8Array[];
  /** Called when the batch enters the isolate. */
  taken(): void;
  /** Number of requests and other events in the batch. */
  requests: number;
  /** The arrays of `bytes`, in order, that the host no longer needs: their memory is transferred instead of copied. */
  transferred: Uint8Array[] | null;
}

/** A worker to load. */
interface WorkerCode {
  readonly text: WorkerText;
  readonly vars: Readonly<Record<string, string>>;
  /** As in guest/environment.ts. */
  readonly bindings: Readonly<Record<string, string | null>>;
  readonly cpuLimitMs: number;
  /** `<project>/<deployment id>`, which is reported if the process dies because of the worker. */
  readonly owner: string;
  /** Organization of the deployment; null without a control plane. */
  readonly organization: string | null;
  /** Hash of the code, the key of its code cache. */
  readonly hash: string;
}

const COPY = { arguments: { copy: true } } as const;

/**
 * An isolate. It is created outside the main thread, and blank until `load`. Then `enter` accepts batches until the
 * isolate is disposed or dies.
 */
export class WorkerIsolate implements Enterable {
  entryState: EntryState = 'idle';
  isOvertime = false;
  /** Heap size after the last trim. */
  #trimmedBytes = 0;
  overtimeSince = 0;
  isBurning = false;
  enteredRound = 0;
  /** Memory account of the deployment, when the isolate serves one. */
  conduct: Conduct = { slowUntil: 0, isBurning: false };
  /** Settles when the isolate is created or refused; loads and requests are accepted earlier. */
  readonly ready: Promise<void>;
  /** Both fields are null until the isolate is created. */
  #opened: OpenedIsolate | null = null;
  #connection: GuestConnection | null = null;
  #isRequested = false;
  #deps: IsolateDeps;
  #events: IsolateEvents | null = null;
  #batch: Batch | null = null;
  #gone = false;
  /** The reason why its thread is lost. */
  #lost: LossReason | null = null;
  /** CPU of the entry in which the isolate ended. */
  #endedMs = 0;
  /** Why the isolate died before it had a worker. */
  #fault: unknown = undefined;
  /** Whether the host is reading an entry's records. */
  #isReporting = false;
  #worker: WorkerCode | null = null;
  /** Whether the first entry has loaded the worker. */
  #isLoaded = false;
  /** Offers the code cache of the worker; null if it is never taken. */
  #forms: FormOffers | null = null;
  #leaves = 0;
  #checkedLeaves = 0;
  #stuck: StuckEntry;
  readonly #grown: GrownBytes = { bytes: 0, at: 0 };
  /** Number of host calls for which its thread waits. */
  #awaited = 0;

  constructor(deps: IsolateDeps) {
    this.#deps = deps;
    this.#stuck = new StuckEntry(deps.limits.atomicsWaitMs);
    const { snapshot, native, limits } = deps;
    this.ready = snapshot
      .open({ memoryLimit: limits.isolateMemoryMb, native })
      .then((opened) => this.#connect(opened))
      .catch((error: unknown) => this.#die('fault', error));
  }

  async #connect(opened: OpenedIsolate): Promise<void> {
    if (this.#gone) {
      opened.isolate.dispose();
      return;
    }
    this.#opened = opened;
    const { snapshot, limits } = this.#deps;
    snapshot.share(opened.functions);
    this.#connection = await connectGuest(opened, snapshot.key, limits, this.#stuck.shown, {
      leave: this.#onLeave,
      sync: this.#onSync,
      waiting: this.#onWaiting,
    });
    this.#requestLater();
  }

  /** Whether the isolate could not be created, has died, or is disposed. */
  get isGone(): boolean {
    return this.#gone;
  }

  /** Number of requests that came before the isolate was created and had a worker. */
  #requestLater(): void {
    if (this.#isRequested) this.request();
  }

  /**
   * Sets the isolate's worker. The first entry compiles it and runs its top level before the first requests, so that
   * the isolate's thread is woken only once. The guest reports the result on request (`Link.start`).
   */
  load(worker: WorkerCode, batch: Batch, events: IsolateEvents): void {
    this.#batch = batch;
    this.#events = events;
    this.#worker = worker;
    if (this.#gone) queueMicrotask(() => events.died('fault', this.#fault));
    else this.#requestLater();
  }

  #enterWorker(connection: GuestConnection, worker: WorkerCode): void {
    const { text, hash, owner, vars, bindings, cpuLimitMs } = worker;
    const { limits, compiledForms, crashDescriptor } = this.#deps;
    const config = {
      vars,
      bindings,
      startupCpuMs: limits.startupCpuMs,
      cpuLimitMs,
      owner,
      crashDescriptor: crashDescriptor ?? -1,
    };
    // V8 only checks whether a cache belongs to a source of this length, so the content of a cache without a hash of
    // the code is unknown.
    const forms = hash === '' ? null : compiledForms;
    const form = forms?.find(owner, hash, text.length) ?? null;
    connection.load.applyIgnored(undefined, [config, text.bytes, text.isWide, form?.bytes ?? null], COPY);
    if (forms !== null) this.#forms = new FormOffers(forms, worker, form?.stage ?? 'ahead', this);
  }

  /** V8's code cache of the worker with all functions compiled so far; null if it is not available. */
  async compiledForm(): Promise<ArrayBuffer | null> {
    if (this.#gone || this.#connection === null) return null;
    return (
      ((await this.#connection.compiledForm.apply(undefined, [], { result: { copy: true } })) as
        | ArrayBuffer
        | undefined) ?? null
    );
  }

  /**
   * Frees memory while no entry runs, if the isolate holds enough memory for this. @param isResting whether the isolate
   * has been idle for long, so that a smaller gain is sufficient.
   */
  async trim(isResting: boolean): Promise<void> {
    if (this.#gone || this.#connection === null || this.entryState !== 'idle') return;
    const bytes = await this.heapBytes();
    if (!isTrimWorth(bytes, this.#trimmedBytes, isResting) || this.#gone || this.entryState !== 'idle') return;
    await this.#connection.trim.apply(undefined, []);
    this.#trimmedBytes = await this.heapBytes();
  }

  /** Called when the batch has content: the isolate must be entered soon. */
  request(): void {
    if (this.#connection === null || this.#batch === null) this.#isRequested = true;
    else if (!this.#gone) this.#deps.scheduler.request(this);
  }

  enter(): void {
    const batch = this.#batch as Batch;
    const connection = this.#connection as GuestConnection;
    const { meta, text, bytes } = batch;
    this.#stuck.begin();
    if (!this.#isLoaded && this.#worker !== null) {
      this.#isLoaded = true;
      this.#enterWorker(connection, this.#worker);
    }
    this.#deps.counters.entered(batch.requests);
    if (batch.requests > 0) this.#forms?.served(batch.requests);
    batch.requests = 0;
    batch.meta = '';
    batch.text = '';
    batch.taken();
    if (bytes.length === 0) {
      connection.run.applyIgnored(undefined, [meta, text]);
    } else {
      const { transferred } = batch;
      batch.bytes = [];
      batch.transferred = null;
      if (transferred === null) connection.run.applyIgnored(undefined, [meta, text, ...bytes], COPY);
      else connection.run.applyIgnored(undefined, [meta, text, ...handOver(bytes, transferred)]);
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
      // The records are malformed, or the platform has a bug in reading them, so the isolate cannot be trusted any
      // more.
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
    // Parts are transferred with their memory, because no other code uses them.
    const transferList = (reply?.parts ?? []).map(({ buffer }) => buffer);
    return new ivm.ExternalCopy(reply, { transferList }).copyInto({ release: true, transferIn: true });
  };

  /**
   * Called from time to time while an entry runs, because an isolate that exceeds its memory limit ends without an
   * event, and a loop over slow built-ins may not reach a point where V8 can end it for minutes.
   */
  checkAlive(): void {
    if (this.#gone || this.#opened === null) return;
    this.checkOverflow();
    if (this.#gone) return;
    if (this.#opened.isolate.isDisposed || this.#isOverGrown()) {
      this.#die('memory');
    } else if (this.entryState === 'idle' || this.entryState === 'ready' || this.#checkedLeaves !== this.#leaves) {
      this.#checkedLeaves = this.#leaves;
      this.#stuck.reset();
    } else if (this.#stuck.check(this.#awaited > 0)) {
      this.#die('stuck');
    }
  }

  /** Called about once a second, because the heap may also overflow while no entry runs. */
  checkOverflow(): void {
    if (this.#stuck.isOverflowed) this.#die('aborted');
  }

  #isOverGrown(): boolean {
    const thread = Atomics.load(this.#stuck.shown, shownWords.thread);
    return thread > 0 && this.#deps.growth?.isOver(this.#grown, thread) === true;
  }

  #die(reason: DeathReason, error?: unknown): void {
    if (this.#gone) return;
    this.#lost = lossReasons[reason];
    this.#fault = error;
    this.#end();
    this.#events?.died(reason, error);
  }

  #end(): void {
    if (this.#gone) return;
    this.#gone = true;
    const isEntered = this.entryState !== 'idle' && this.entryState !== 'ready';
    // If the entry has sent its records, they contain its CPU.
    this.#endedMs = isEntered && !this.#isReporting ? this.#stuck.usedMs : 0;
    this.#deps.scheduler.forget(this);
  }

  /** Used heap, in bytes. */
  async heapBytes(): Promise<number> {
    if (this.#opened === null) return 0;
    const statistics = await this.#opened.isolate.getHeapStatistics();
    return statistics.used_heap_size + statistics.externally_allocated_size;
  }

  /**
   * Called once. If the isolate's thread continues, `IsolateEvents.burnt` reports its further CPU.
   *
   * @returns the CPU of the entry that ends with the isolate; 0 if no entry ran.
   */
  dispose(): number {
    this.#end();
    if (this.#opened?.isolate.isDisposed === false) this.#opened.isolate.dispose();
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
