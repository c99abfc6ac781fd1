// One isolate that serves a deployment, from start to end: its state, when it stops taking work, and the consequences
// of its death. Its parts are worker-start.ts (start), dispatch.ts (requests and responses), running-invocations.ts
// (ends) and cpu-accounts.ts. lane.ts creates the object when it has none.
import type { InvocationKind } from '#core/plans.ts';
import type { CallOwner } from '../bridge/call-owner.ts';
import type { HostMemory } from '../bridge/host-memory.ts';
import { Link, type LinkOwner } from '../bridge/link.ts';
import { FIELD, RECORD, RecordReader, toHost, type Part } from '../bridge/protocol.ts';
import { isHttp, type AnyInvocation } from '../invocation/invocation.ts';
import { failed, ok, type Outcome } from '../invocation/outcome.ts';
import type { DeathReason, IsolateEvents } from '../isolates/isolate-events.ts';
import type { WorkerIsolate } from '../isolates/isolate.ts';
import type { ServingDeps } from './config.ts';
import { CpuAccounts } from './cpu-accounts.ts';
import { Dispatch, type DispatchedIsolate } from './dispatch.ts';
import { deathOf, endOfEvent } from './isolate-death.ts';
import { IsolateObjects } from './objects/isolate-objects.ts';
import type { LiveObjects } from './objects/live-objects.ts';
import { RunningInvocations } from './running-invocations.ts';
import type { ServedDeployment } from './served-deployment.ts';
import { UnattributedBudget, UnattributedOwner } from './unattributed-work.ts';
import { WorkerStart } from './worker-start.ts';

const HANDLES_MAX = 1000;
const CALLS_MAX = 10_000;

/** The beginning of a record of objects' storage. */
const STORAGE = toHost.storage + FIELD;

/** An entry that was read up to its record of storage. */
interface HeldEntry {
  readonly reader: RecordReader;
  readonly shareMs: number;
  readonly cpuMs: number;
  isOpen: boolean;
}

/** The lane that owns the isolate (lane.ts). */
export interface ServingLane {
  /** Called when the worker is loaded. */
  started(): void;
  startFailed(outcome: Outcome & { kind: 'failed' }): void;
  /** Called when the isolate takes no new work and finishes its current work. */
  retire(serving: Serving): void;
  /** It is gone. */
  forget(serving: Serving): void;
}

export class Serving implements IsolateEvents, LinkOwner, DispatchedIsolate {
  #deployment: ServedDeployment;
  #lane: ServingLane;
  #deps: ServingDeps;
  #isolate: WorkerIsolate;
  #state: 'starting' | 'ready' | 'condemned' | 'gone' = 'starting';
  #link: Link;
  #start: WorkerStart;
  #running: RunningInvocations;
  #accounts: CpuAccounts;
  #dispatch: Dispatch;
  /** The owner of host work that belongs to no invocation. */
  #topLevel: UnattributedOwner;
  #unattributed: UnattributedOwner;
  /** Number of entries since the last heap trim, and of invocations that ended in them. */
  uses = 0;
  /** Whether the isolate's heap was trimmed after a long time without work, and no entry has run since. */
  isResting = false;
  /** Whether the isolate died in an entry that also had requests, so that its top level may not be the cause. */
  #diedServing = false;
  /** The CPU of the entry whose records are being read. */
  #unreadMs = 0;
  /** The invocation during which the isolate died, with the URL of its request; null if there is none. */
  #burning: { readonly kind: InvocationKind; readonly target: string } | null = null;
  /** The objects of the isolate; null in all lanes except that of durable objects. */
  #objects: IsolateObjects | null = null;
  /**
   * Entries of objects whose remaining records wait until their own writes and those of earlier entries are on disk.
   */
  #held: HeldEntry[] = [];

  constructor(
    deployment: ServedDeployment,
    lane: ServingLane,
    deps: ServingDeps,
    isolate: WorkerIsolate,
    memory: HostMemory,
    objects: LiveObjects | null = null,
  ) {
    this.#deployment = deployment;
    this.#lane = lane;
    this.#deps = deps;
    this.#isolate = isolate;
    this.#link = new Link({
      memory,
      hostFunctions: deps.hostFunctions,
      limits: { ...deps.limits, handlesMax: HANDLES_MAX, callsMax: CALLS_MAX },
      owner: this,
      openSockets: deployment.openSockets,
      request: () => isolate.request(),
      mapStack: (text) => (deployment.mapper.hasMap ? deployment.mapper.map(text) : null),
    });
    const budget = new UnattributedBudget({
      limitMs: () => (this.isStarting ? deps.limits.startupCpuMs : deps.limits.cpu.http[deployment.config.plan]),
      settled: (cpuMs) => deps.counters.chargeHost(null, cpuMs),
    });
    this.#topLevel = new UnattributedOwner(budget, 'no_invocation');
    this.#unattributed = new UnattributedOwner(budget, 'invocation_ended');
    this.#running = new RunningInvocations(deployment, deps.engineCounters, this.#link, deps.limits.workLeftMax, () =>
      this.#settle(),
    );
    this.#accounts = new CpuAccounts(deployment, deps, this.#running, this.#link);
    if (objects !== null)
      this.#objects = new IsolateObjects({
        objects,
        link: this.#link,
        leaveWork: (id) => this.#running.leaveWork(id),
        onBroken: ({ details }) => this.dispose(failed('object_reset', details)),
      });
    this.#dispatch = new Dispatch({
      deployment,
      serving: deps,
      isolate: this,
      link: this.#link,
      running: this.#running,
      accounts: this.#accounts,
      owners: this,
      objects: this.#objects,
    });
    this.#start = new WorkerStart({
      deployment,
      limits: deps.limits,
      isolate,
      link: this.#link,
      onReady: () => {
        this.#state = 'ready';
        lane.started();
      },
      onFailed: (outcome) => this.dispose(outcome),
    });
    this.#link.start();
  }

  /** Invocations that run. */
  get load(): number {
    return this.#running.size;
  }

  /** Number of invocations whose response is an open WebSocket, and of answered events of objects. */
  get upgraded(): number {
    return this.#running.upgraded;
  }

  /** Whether an entry runs on a thread. */
  get isEntered(): boolean {
    const { entryState } = this.#isolate;
    return entryState !== 'idle' && entryState !== 'ready';
  }

  get isStarting(): boolean {
    return this.#state === 'starting';
  }

  get isCondemned(): boolean {
    return this.#state === 'condemned';
  }

  /** Sets the worker's code, which the first entry loads. */
  loadWorker(): void {
    if (this.#state !== 'gone') this.#start.load(this);
  }

  /** @param body the body of a request: null without a body, undefined when it is streamed. */
  serve(invocation: AnyInvocation, body: Part | null | undefined): void {
    this.#dispatch.send(invocation, body);
  }

  left(meta: string, text: string, shareMs: number, cpuMs: number, bytes: readonly Uint8Array[]): void {
    const reader = new RecordReader(meta, text, bytes);
    if (this.#objects === null) {
      this.#read(reader, shareMs, cpuMs);
      return;
    }
    if (!this.#objects.isValid) {
      queueMicrotask(() => this.#objects?.lapse());
      return;
    }
    let count = 0;
    for (let at = 0; meta.startsWith(STORAGE, at); at = meta.indexOf(RECORD, at) + 1) count++;
    const gate = count === 0 ? null : this.#dispatch.readStorage(reader, count);
    if (gate === null && this.#held.length === 0) {
      this.#read(reader, shareMs, cpuMs);
      return;
    }
    const held: HeldEntry = { reader, shareMs, cpuMs, isOpen: gate === null };
    this.#held.push(held);
    gate?.then(
      () => {
        held.isOpen = true;
        this.#readHeld();
      },
      // The record is dropped together with the isolate.
      () => {},
    );
  }

  #readHeld(): void {
    while (this.#held[0]?.isOpen === true && this.#state !== 'gone') {
      if (this.#objects?.isValid === false) {
        this.#objects.lapse();
        return;
      }
      const { reader, shareMs, cpuMs } = this.#held.shift()!;
      try {
        this.#read(reader, shareMs, cpuMs);
      } catch (error) {
        this.died('fault', error);
      }
    }
  }

  #read(reader: RecordReader, shareMs: number, cpuMs: number): void {
    this.#unreadMs = cpuMs;
    this.isResting = false;
    this.#start.beginReading();
    this.#running.beginReading();
    this.#dispatch.readRest(reader);
    // If the isolate died because of its records, the entry is already charged.
    if (this.#unreadMs > 0) this.#deps.counters.entered(cpuMs, shareMs);
    this.#unreadMs = 0;
    if (this.#state === 'starting') this.#start.endReading();
    this.uses += 1 + this.#running.endReading(this.#accounts, shareMs);
  }

  sync(name: string, args: string, part: Part | undefined): unknown {
    return this.#link.calls.sync(name, args, part);
  }

  waiting(id: number, name: string, args: string, parts: readonly Part[]): ReturnType<IsolateEvents['waiting']> {
    return this.#link.calls.waiting(this.owner(id), name, args, parts);
  }

  /** Called when the engine holds too much memory, and this isolate holds most of it. */
  disposeForMemory(): void {
    this.died('memory');
  }

  died(reason: DeathReason, error?: unknown): void {
    this.#diedServing = this.#running.size > 0;
    const { outcome, message, countsAs } = deathOf(reason, error, this.#deps.limits.isolateMemoryMb);
    if (countsAs !== null) this.#deps.engineCounters[countsAs]++;
    this.#deployment.log('error', message, null);
    this.dispose(outcome, endOfEvent(outcome));
  }

  burnt(cpuMs: number): void {
    const { counters, usage } = this.#deps;
    counters.entered(cpuMs, this.#burning === null ? 0 : cpuMs);
    if (this.#burning !== null) counters.charge(this.#burning.kind, cpuMs);
    usage.burnt(this.#burning?.kind ?? 'http', this.#burning?.target ?? '', cpuMs);
  }

  started(state: string, reason: string): void {
    if (this.#state === 'starting') this.#start.answered(state, reason);
  }

  owner(id: number): CallOwner {
    const invocation = this.#running.get(id);
    if (invocation === undefined) return id === 0 ? this.#topLevel : this.#unattributed;
    invocation.calls++;
    if (invocation.isSocketOpen) this.#accounts.renewNowAndThen(invocation);
    return invocation;
  }

  messaged(id: number): void {
    const invocation = this.#running.get(id);
    if (invocation === undefined) return;
    this.#accounts.renew(invocation);
    // In a session with an object, each call is an event.
    invocation.wallFrom = performance.now();
  }

  socketClosed(id: number): void {
    const invocation = this.#running.find(id);
    if (invocation !== undefined) this.#running.socketClosed(invocation);
  }

  log(id: number, text: string): void {
    this.#deployment.log('error', text, this.#running.find(id) ?? null);
  }

  overflowed(): void {
    // This is deferred, so that it does not interrupt the link.
    queueMicrotask(() => this.died('memory'));
  }

  closeSockets(code: number, reason: string): void {
    this.#link.closeSockets(code, reason);
  }

  /** Stops taking new work, and finishes its current work if it can; a fresh isolate replaces it. */
  condemn(): void {
    if (this.#state !== 'ready') return;
    this.#state = 'condemned';
    this.#deps.engineCounters.isolatesCondemned++;
    this.#lane.retire(this);
    if (this.#objects !== null) {
      // An object must not have two instances, so no object continues here.
      queueMicrotask(() =>
        this.dispose(failed('isolate_replaced', { reason: 'another event used up its CPU budget' })),
      );
      return;
    }
    this.#link.closeSockets(1012, 'Service restart');
  }

  #settle(): void {
    if (this.#state === 'condemned' && this.load === 0) this.dispose(ok);
  }

  /** Charges the last entry before the invocations that ran in it end. */
  #chargeEntry(runningMs: number): void {
    const invocations = this.#running.all();
    const [first] = invocations;
    if (first !== undefined) this.#burning = { kind: first.kind, target: isHttp(first) ? first.answer.target : '' };
    const cpuMs = runningMs + this.#unreadMs;
    this.#unreadMs = 0;
    if (cpuMs === 0) return;
    this.#deps.counters.entered(cpuMs, invocations.length === 0 ? 0 : cpuMs);
    this.#accounts.chargeAlike(invocations, cpuMs);
  }

  async trim(isResting: boolean): Promise<void> {
    this.uses = 0;
    this.isResting = isResting;
    if (this.#state === 'ready') await this.#isolate.trim(isResting).catch(() => {});
  }

  /** Heap size of the isolate; 0 if it cannot be measured. */
  heapBytes(): Promise<number> {
    return this.#state === 'gone' ? Promise.resolve(0) : this.#isolate.heapBytes().catch(() => 0);
  }

  /**
   * Called often while entries run, to detect an isolate that died without an event, and an entry that does not end.
   */
  checkAlive(): void {
    this.#isolate.checkAlive();
  }

  /** Ends invocations over their wall limit. */
  checkWall(now: number): void {
    this.#isolate.checkOverflow();
    this.#running.endLate(now, this.#deps.limits);
    this.#settle();
  }

  /** Disposes the isolate: every running and waiting invocation ends with the outcome. */
  dispose(outcome: Outcome, ofEvents = outcome): void {
    if (this.#state === 'gone') return;
    if (this.#state === 'starting' && outcome.kind === 'failed' && !this.#diedServing) this.#lane.startFailed(outcome);
    this.#state = 'gone';
    this.#held = [];
    this.#dispatch.close();
    this.#start.close();
    const isFault = outcome.kind === 'failed' && outcome.code !== 'isolate_replaced' && outcome.code !== 'draining';
    this.#link.close(isFault ? 1011 : 1012, isFault ? 'Internal error' : 'Service restart');
    this.#chargeEntry(this.#isolate.dispose());
    this.#lane.forget(this);
    this.#running.endAll(outcome, ofEvents);
    this.#objects?.close();
  }
}
