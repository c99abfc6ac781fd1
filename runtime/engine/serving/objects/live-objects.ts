// The durable objects of this engine. Each is in one isolate of one deployment at a time. If newer code needs an
// object, its events wait until the older code has finished. Made by handler.ts.
import { PlatformError } from '#core/errors.ts';
import { isFailure } from '#core/failure.ts';
import type { DatabaseStore } from '../../bindings/database.ts';
import type { ObjectLeases } from '../../bindings/object-leases.ts';
import type { DatabasePlace } from '../../bindings/scope.ts';
import type { EngineMemory } from '../../bridge/host-memory.ts';
import type { ObjectEvent } from '../../invocation/invocation.ts';
import { LiveObject, stateOf, type LiveState, type ObjectDeployment } from './live-object.ts';
import type { AlarmOwner, ObjectAlarms } from './object-alarms.ts';
import { ObjectSockets, type ObjectSocketLimits, type SocketEvent } from './object-sockets.ts';
import { ObjectStore } from './object-store.ts';
import { SocketAccounts } from './socket-accounts.ts';

/** Dependencies. */
interface LiveObjectsDeps {
  /** The database service; null if objects have no storage. */
  readonly store: DatabaseStore | null;
  readonly alarms: ObjectAlarms | null;
  readonly leases: ObjectLeases;
  readonly memory: EngineMemory;
  readonly limits: ObjectSocketLimits & { readonly objectIdleMs: number };
  /** Passes an event of an accepted WebSocket to the current code of its object. */
  readonly deliver: (owner: AlarmOwner, event: SocketEvent) => void;
}

/** How long to assume that an engine still has an object. */
const ELSEWHERE_MS = 250;
/** Delay if the other engine has exited, and its objects become available soon. */
const [TAKEOVER_MS, TAKEOVER_PAUSE_MS] = [5000, 200];

/** If there are more objects than this, idle objects leave their isolates sooner. */
const IDLE_MS_OF_MANY = 10_000;
const MANY = 1000;
const WAITING_MAX = 1000;

export class LiveObjects {
  readonly #deps: LiveObjectsDeps;
  readonly #live = new Map<string, LiveObject>();
  /** The objects of events, by event. */
  readonly #events = new WeakMap<ObjectEvent, LiveObject>();
  readonly #accounts: SocketAccounts;
  #isLeaving = false;

  constructor(deps: LiveObjectsDeps) {
    this.#deps = deps;
    this.#accounts = new SocketAccounts(deps.memory);
  }

  /** The number of objects in isolates, and of WebSockets that this engine keeps for objects. */
  get counts(): { readonly inMemory: number; readonly sockets: number } {
    let inMemory = 0;
    for (const { isolate } of this.#live.values()) if (isolate !== null) inMemory++;
    return { inMemory, sockets: this.#accounts.size };
  }

  get leases(): ObjectLeases {
    return this.#deps.leases;
  }

  get alarms(): ObjectAlarms | null {
    return this.#deps.alarms;
  }

  /** Starts an event as soon as the object is available to the deployment. */
  enter(
    place: DatabasePlace,
    owner: AlarmOwner,
    event: {
      readonly deployment: ObjectDeployment;
      readonly start: (live: LiveObject) => void;
      readonly refuse: (error: unknown) => void;
      /** Sends the event to another engine; null if it was forwarded to this engine, which must accept it. */
      readonly forward: ((link: string) => void) | null;
    },
  ): void {
    this.#checkLeases();
    const live = this.#find(place, owner);
    if (live.waiting.length >= WAITING_MAX) {
      event.refuse(new PlatformError('overloaded', { waiting: live.waiting.length, limit: WAITING_MAX }));
      return;
    }
    if (this.#forwards(live, event.forward)) return;
    live.waiting.push({
      forward: event.forward ?? (() => event.refuse(reset('another engine has it'))),
      deployment: event.deployment,
      refuse: event.refuse,
      start() {
        live.running++;
        live.lastUsedAt = performance.now();
        event.start(live);
      },
    });
    this.#drain(live);
  }

  /** Runs an operator's operation in the engine that has the object, before waiting events. */
  operate(
    place: DatabasePlace,
    owner: AlarmOwner,
    operation: {
      readonly run: (live: LiveObject) => Promise<void>;
      readonly refuse: (error: unknown) => void;
      readonly forward: ((link: string) => void) | null;
    },
  ): void {
    this.#checkLeases();
    const live = this.#find(place, owner);
    if (this.#forwards(live, operation.forward)) return;
    live.waiting.unshift({
      deployment: null,
      forward: operation.forward ?? (() => operation.refuse(reset('another engine has it'))),
      refuse: operation.refuse,
      start: () => {
        live.operating++;
        void operation.run(live).finally(() => {
          live.operating--;
          if (this.#isLeaving && this.#isUnused(live)) this.#release(live);
        });
      },
    });
    this.#drain(live);
  }

  #find(place: DatabasePlace, owner: AlarmOwner): LiveObject {
    const key = `${place.namespace}/${place.resource}`;
    let live = this.#live.get(key);
    if (live === undefined) this.#live.set(key, (live = this.#create(place, owner)));
    return live;
  }

  /** Forwards the event to the engine that has the object, if known. */
  #forwards(live: LiveObject, forward: ((link: string) => void) | null): boolean {
    if (live.elsewhere === null) return false;
    if (forward !== null && performance.now() < live.elsewhere.until) {
      forward(live.elsewhere.link);
      return true;
    }
    live.elsewhere = null;
    return false;
  }

  /** Ends the instance in memory; the next event creates a new instance. @returns false if there is no such object. */
  reset(live: LiveObject): boolean {
    const { isolate } = live;
    if (isolate === null) return false;
    if (live.running > 0) isolate.reset();
    else {
      this.#letGo(live);
      live.store?.restart();
    }
    return true;
  }

  /**
   * Deletes the stored data and the alarm of an object; events wait in the meantime. The database remains, because it
   * contains the fence.
   */
  async empty(live: LiveObject): Promise<void> {
    const { store } = live;
    if (store === null) throw reset('another engine has taken it over');
    live.isOpening = true;
    try {
      this.reset(live);
      await store.aside('[["x",1]]');
      await this.#deps.alarms?.delete(live.owner);
      store.fired();
    } finally {
      live.isOpening = false;
      this.#drain(live);
    }
  }

  /** The objects of a namespace that this engine has, by id. */
  inNamespace(namespace: string): Record<string, LiveState> {
    const found: Record<string, LiveState> = {};
    for (const live of this.#live.values())
      if (live.place.namespace === namespace && live.store !== null) found[live.owner.id] = stateOf(live);
    return found;
  }

  #create(place: DatabasePlace, owner: AlarmOwner): LiveObject {
    const { deliver, limits } = this.#deps;
    const account = this.#accounts.open(
      `${owner.project}/objects${owner.preview === null ? '' : ` of ${owner.preview}`}`,
    );
    return new LiveObject(
      place,
      owner,
      (live) =>
        new ObjectSockets({
          limits,
          account,
          deliver: (event) => deliver(owner, event),
          log: (text) => live.deployment?.log('error', text, null),
        }),
    );
  }

  /** Accepts an event for an object, before it is known where the object runs. */
  bind(event: ObjectEvent, live: LiveObject): void {
    event.sockets = live.plainSockets;
    this.#events.set(event, live);
  }

  /** The object of an event. */
  of(event: ObjectEvent): LiveObject | undefined {
    return this.#events.get(event);
  }

  /** Whether newer code, or another engine, waits until no code of the object runs here. */
  isAwaited(live: LiveObject): boolean {
    const next = live.waiting[0]?.deployment ?? null;
    return this.#isLeaving || (next !== null && live.deployment !== null && next !== live.deployment);
  }

  /** Called when an event has ended. */
  leave(live: LiveObject): void {
    live.running--;
    live.lastUsedAt = performance.now();
    if (live.running === 0 && live.waiting.length > 0) this.#drain(live);
    if (this.#isLeaving && this.#isUnused(live)) this.#release(live);
  }

  /** Called when this engine is stopping: it releases each object when no code of the object runs here. */
  leaveAll(): void {
    this.#isLeaving = true;
    const isolates = new Set([...this.#live.values()].flatMap(({ isolate }) => isolate ?? []));
    for (const isolate of isolates) isolate.leave(null);
    for (const live of this.#live.values()) if (this.#isUnused(live)) this.#release(live);
  }

  #isUnused(live: LiveObject): boolean {
    const { running, operating, waiting, isOpening, store, sockets } = live;
    const isIdle = running === 0 && operating === 0 && waiting.length === 0 && !sockets.isBusy;
    return isIdle && !isOpening && store?.isBusy !== true;
  }

  #release(live: LiveObject): void {
    this.#letGo(live);
    this.#forget(live);
    if (live.store !== null) this.#deps.leases.release(live.place, live.store.fence);
  }

  #drain(live: LiveObject): void {
    while (live.waiting.length > 0 && !live.isOpening) {
      if (live.store === null) {
        void this.#open(live);
        return;
      }
      const next = live.waiting[0]!;
      if (next.deployment !== null) {
        if (live.deployment !== null && live.deployment !== next.deployment) {
          if (live.running > 0) {
            live.isolate?.leave(live);
            return;
          }
          this.#letGo(live);
        }
        live.deployment = next.deployment;
      }
      live.waiting.shift();
      next.start();
    }
  }

  async #open(live: LiveObject): Promise<void> {
    live.isOpening = true;
    const until = performance.now() + TAKEOVER_MS;
    for (;;) {
      try {
        const fence = await this.#deps.leases.acquire(live.place);
        live.store = new ObjectStore({ ...this.#deps, place: live.place, owner: live.owner, fence });
        break;
      } catch (error) {
        const isHeld = isFailure(error, 'object_held');
        if (isHeld && error.link !== '') {
          live.elsewhere = { link: error.link, until: performance.now() + ELSEWHERE_MS };
          for (const waiting of live.waiting.splice(0)) waiting.forward(error.link);
          break;
        }
        if (!isHeld || performance.now() > until) {
          for (const waiting of live.waiting.splice(0)) waiting.refuse(error);
          this.#forget(live);
          break;
        }
        await new Promise((resolve) => setTimeout(resolve, TAKEOVER_PAUSE_MS));
      }
    }
    live.isOpening = false;
    if (live.store !== null) this.#drain(live);
  }

  /** If the process was paused, other engines may have its objects. */
  #checkLeases(): void {
    if (this.#deps.leases.isValid()) return;
    const all = [...this.#live.values()];
    this.#live.clear();
    this.#deps.leases.lapsed();
    const isolates = new Set(all.flatMap(({ isolate }) => isolate ?? []));
    for (const isolate of isolates) isolate.lapse();
    for (const { sockets } of all) sockets.close();
    for (const live of all)
      for (const waiting of live.waiting.splice(0)) waiting.refuse(reset('its engine was held up'));
  }

  /** Whether output of the objects is still valid. */
  get areValid(): boolean {
    return this.#deps.leases.isValid();
  }

  /** Called when the isolate no longer has the object. */
  #letGo(live: LiveObject): void {
    live.isolate?.forget(live);
    live.isolate = null;
    live.deployment = null;
    live.stay = {};
  }

  /** Called when the isolate of these objects was disposed; their uncommitted writes are lost. */
  lost(objects: Iterable<LiveObject>): void {
    for (const live of objects) {
      live.isolate = null;
      live.deployment = null;
      live.stay = {};
      live.store?.restart();
      if (live.running === 0) this.#drain(live);
    }
  }

  /** Called when another engine has the object. */
  shutOut(live: LiveObject): void {
    this.#forget(live);
    for (const waiting of live.waiting.splice(0)) waiting.refuse(reset('another engine has taken it over'));
  }

  #forget(live: LiveObject): void {
    live.sockets.close();
    const key = `${live.place.namespace}/${live.place.resource}`;
    if (this.#live.get(key) === live) this.#live.delete(key);
  }

  /** Called about once a second: releases idle objects. */
  sweep(now: number): void {
    this.#checkLeases();
    const { objectIdleMs } = this.#deps.limits;
    const idleMs = this.#live.size > MANY ? Math.min(IDLE_MS_OF_MANY, objectIdleMs) : objectIdleMs;
    for (const live of this.#live.values()) {
      if (!(this.#isLeaving || now - live.lastUsedAt >= idleMs) || !this.#isUnused(live)) continue;
      // An object with WebSockets stays with this engine, and leaves its isolate until its next event.
      if (live.sockets.size > 0 && !this.#isLeaving) this.#letGo(live);
      else this.#release(live);
    }
    this.#accounts.sweep();
  }

  /** Closes the WebSockets of lost objects. */
  closeSockets(isGone: (owner: AlarmOwner) => boolean): void {
    for (const live of this.#live.values())
      if (live.sockets.size > 0 && isGone(live.owner)) live.sockets.closeAll(1001, 'Deleted');
  }

  /** The engine ends. */
  close(): void {
    for (const { sockets } of this.#live.values()) sockets.close();
  }
}

function reset(reason: string): PlatformError {
  return new PlatformError('object_reset', { reason });
}
