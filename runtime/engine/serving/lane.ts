// One of a deployment's lanes, for its requests, its events or its durable objects. Owns the isolate that takes new
// work, which is created on demand, and the condemned isolates that finish their work. The pool schedules, evicts and
// condemns each lane separately. lanes.ts creates the lanes.
import type { HostMemory } from '../bridge/host-memory.ts';
import type { Part } from '../bridge/protocol.ts';
import type { AnyInvocation } from '../invocation/invocation.ts';
import { failed, ok, type Outcome } from '../invocation/outcome.ts';
import type { Pool, Tenant } from '../isolates/pool.ts';
import type { ServingDeps } from './config.ts';
import type { LiveObjects } from './objects/live-objects.ts';
import { Serving, type ServingLane } from './serving.ts';
import { StartPause } from './start-pause.ts';
import type { ServedDeployment } from './served-deployment.ts';

/** Dependencies of a lane, in addition to those of serving. */
export interface LaneDeps extends ServingDeps {
  readonly pool: Pool;
}

/** A lane with the isolate that currently serves it. */
export class Lane implements Tenant, ServingLane {
  lastUsedAt = 0;
  readonly conduct = { slowUntil: 0, isBurning: false };
  /** The invocations that wait until the worker may be loaded. */
  preparing = 0;
  #deployment: ServedDeployment;
  #deps: LaneDeps;
  #memory: HostMemory;
  #serving: Serving | null = null;
  /** Condemned isolates that finish their remaining work. */
  #retired = new Set<Serving>();
  #startPause = new StartPause();
  #closed = false;
  /** Called when the worker has started, or has failed to start. */
  #onStarted: ((outcome: Outcome) => void)[] = [];

  #objects: LiveObjects | null;

  /**
   * @param memoryShare the lane's share of the deployment's memory outside isolates.
   * @param objects null in all lanes except that of durable objects.
   */
  constructor(deployment: ServedDeployment, deps: LaneDeps, memoryShare: number, objects: LiveObjects | null = null) {
    this.#objects = objects;
    this.#deployment = deployment;
    this.#deps = deps;
    this.#memory = deployment.hostMemory.part(memoryShare);
  }

  /** Number of invocations that run or wait, and of open WebSockets. */
  get load(): number {
    let load = this.preparing + (this.#serving?.load ?? 0);
    if (this.#retired.size > 0) for (const serving of this.#retired) load += serving.load;
    return load;
  }

  /** Number of running and waiting invocations, except those whose response is an open WebSocket. */
  get busy(): number {
    let open = this.#serving?.upgraded ?? 0;
    if (this.#retired.size > 0) for (const serving of this.#retired) open += serving.upgraded;
    return this.load - open;
  }

  get isIdle(): boolean {
    return this.load === 0 && this.#serving?.isStarting !== true;
  }

  /** Whether code of the isolate runs on a thread at this moment. */
  get isEntered(): boolean {
    if (this.#serving?.isEntered === true) return true;
    for (const serving of this.#retired) if (serving.isEntered) return true;
    return false;
  }

  get hasIsolate(): boolean {
    return this.#serving !== null;
  }

  serve(invocation: AnyInvocation, body: Part | null | undefined): void {
    if (this.#serving === null) {
      const pause = this.#startPause.answer(performance.now());
      if (pause !== null) {
        this.#deployment.ends.end(invocation, pause);
        return;
      }
      this.#serving = this.#open();
    }
    this.#serving.serve(invocation, body);
  }

  /** Starts an isolate ahead of the first request. */
  warm(): void {
    this.#serving ??= this.#open();
  }

  /** Starts an isolate unless there is one, and returns the outcome. */
  start(): Promise<Outcome> {
    if (this.#serving !== null && !this.#serving.isStarting) return Promise.resolve(ok);
    return new Promise((resolve) => {
      this.#onStarted.push(resolve);
      this.warm();
    });
  }

  #tellStarted(outcome: Outcome): void {
    for (const tell of this.#onStarted.splice(0)) tell(outcome);
  }

  #open(): Serving {
    const isolate = this.#deps.pool.take(this);
    const serving = new Serving(this.#deployment, this, this.#deps, isolate, this.#memory, this.#objects);
    // This is deferred until the isolate is registered, because it may have ended before `loadWorker` returns.
    this.#deps.pool.loads.add(() => serving.loadWorker());
    return serving;
  }

  started(): void {
    this.#startPause.started();
    this.#tellStarted(ok);
  }

  startFailed(outcome: Outcome & { kind: 'failed' }): void {
    this.#tellStarted(outcome);
    // If an isolate is evicted to make room, its worker has not failed to start.
    if (!this.#closed && outcome.details['reason'] !== 'evicted') this.#startPause.failed(outcome, performance.now());
  }

  retire(serving: Serving): void {
    if (this.#serving === serving) {
      this.#serving = null;
      this.#retired.add(serving);
    }
  }

  forget(serving: Serving): void {
    this.#retired.delete(serving);
    if (this.#serving === serving) this.#serving = null;
    // The isolate may have died because of requests that arrived while it started.
    if (this.#serving === null) this.#tellStarted(failed('isolate_replaced', { reason: 'it ended during its start' }));
    if (this.#serving === null && this.#retired.size === 0) this.#deps.pool.release(this);
  }

  /** Asks clients of open WebSockets to reconnect. */
  closeSockets(code: number, reason: string): void {
    this.#serving?.closeSockets(code, reason);
  }

  evict(): void {
    this.#serving?.dispose(failed('isolate_replaced', { reason: 'evicted' }));
  }

  /** Disposes an isolate that has been idle for this long. */
  evictAfter(idleMs: number, now: number): void {
    if (this.#serving !== null && now - this.lastUsedAt >= idleMs && this.isIdle) this.evict();
  }

  disposeForMemory(): void {
    this.#serving?.disposeForMemory();
  }

  get uses(): number {
    return this.#serving?.uses ?? 0;
  }

  get isResting(): boolean {
    return this.#serving?.isResting ?? true;
  }

  async trim(isResting: boolean): Promise<void> {
    await this.#serving?.trim(isResting);
  }

  async heldBytes(): Promise<number> {
    return this.#memory.bytes + ((await this.#serving?.heapBytes()) ?? 0);
  }

  /** Called about once a second: ends invocations over their wall limit. */
  checkWall(now: number): void {
    this.#serving?.checkWall(now);
    for (const serving of this.#retired) serving.checkWall(now);
  }

  /** Called often while entries run, to detect isolates that died without an event. */
  checkAlive(): void {
    this.#serving?.checkAlive();
    for (const serving of this.#retired) serving.checkAlive();
  }

  /** Closes the lane and cuts off running invocations. */
  close(): void {
    this.#closed = true;
    this.#serving?.dispose(failed('draining'));
    for (const serving of this.#retired) serving.dispose(failed('draining'));
  }
}
