// The durable objects that live in this engine: each in one isolate of one deployment at a time. Events of an object
// whose newer code asks for it wait until what runs in the older code has ended. Made by handler.ts.
import { PlatformError } from '#core/errors.ts';
import { isFailure } from '#core/failure.ts';
import type { DatabaseStore } from '../../bindings/database.ts';
import type { ObjectLeases } from '../../bindings/object-leases.ts';
import type { DatabasePlace } from '../../bindings/scope.ts';
import type { ObjectEvent } from '../../invocation/invocation.ts';
import type { AlarmOwner, ObjectAlarms } from './object-alarms.ts';
import { ObjectStore } from './object-store.ts';

/** A deployment, as its objects see it. */
export interface ObjectDeployment {
  readonly config: { readonly id: string };
}

/** The isolate of some objects: isolate-objects.ts. */
interface ObjectIsolate {
  /** Nothing of the object runs there any more. */
  forget(live: LiveObject): void;
  /** What lives there is no longer this engine's. */
  lapse(): void;
}

/** Dependencies. */
interface LiveObjectsDeps {
  /** Null: objects have no storage here. */
  readonly store: DatabaseStore | null;
  readonly alarms: ObjectAlarms | null;
  readonly leases: ObjectLeases;
}

interface Waiting {
  readonly deployment: ObjectDeployment;
  start(): void;
  refuse(error: unknown): void;
  /** Sends it to the engine that has the object. */
  forward(link: string): void;
}

/** How long an engine is taken to have an object that it had. */
const ELSEWHERE_MS = 250;
/** The other engine is gone, and its objects are free in a moment. */
const [TAKEOVER_MS, TAKEOVER_PAUSE_MS] = [5000, 200];

/** One object in this engine. */
export class LiveObject {
  readonly place: DatabasePlace;
  readonly owner: AlarmOwner;
  /** Null before its first event, and after it was let go. */
  deployment: ObjectDeployment | null = null;
  isolate: ObjectIsolate | null = null;
  store: ObjectStore | null = null;
  /** Events that run. */
  running = 0;
  lastUsedAt = 0;
  isOpening = false;
  waiting: Waiting[] = [];
  /** The engine that has it, until then. */
  elsewhere: { readonly link: string; readonly until: number } | null = null;

  constructor(place: DatabasePlace, owner: AlarmOwner) {
    this.place = place;
    this.owner = owner;
  }
}

/** An object without events for so long leaves its isolate, sooner where many are. */
const IDLE_MS = 60_000;
const IDLE_MS_OF_MANY = 10_000;
const MANY = 1000;
const WAITING_MAX = 1000;

export class LiveObjects {
  readonly #deps: LiveObjectsDeps;
  readonly #live = new Map<string, LiveObject>();
  /** The objects that events are for. */
  readonly #events = new WeakMap<ObjectEvent, LiveObject>();
  #isLeaving = false;

  constructor(deps: LiveObjectsDeps) {
    this.#deps = deps;
  }

  get alarms(): ObjectAlarms | null {
    return this.#deps.alarms;
  }

  /** Starts an event as soon as the deployment may have the object. */
  enter(
    place: DatabasePlace,
    owner: AlarmOwner,
    event: {
      readonly deployment: ObjectDeployment;
      readonly start: (live: LiveObject) => void;
      readonly refuse: (error: unknown) => void;
      /** Null: it was forwarded to this engine, which has to take it. */
      readonly forward: ((link: string) => void) | null;
    },
  ): void {
    this.#checkLeases();
    const key = `${place.namespace}/${place.resource}`;
    let live = this.#live.get(key);
    if (live === undefined) this.#live.set(key, (live = new LiveObject(place, owner)));
    if (live.waiting.length >= WAITING_MAX) {
      event.refuse(new PlatformError('overloaded', { waiting: live.waiting.length, limit: WAITING_MAX }));
      return;
    }
    const found = live;
    if (live.elsewhere !== null) {
      if (event.forward !== null && performance.now() < live.elsewhere.until) {
        event.forward(live.elsewhere.link);
        return;
      }
      live.elsewhere = null;
    }
    live.waiting.push({
      forward: event.forward ?? (() => event.refuse(reset('another engine has it'))),
      deployment: event.deployment,
      refuse: event.refuse,
      start() {
        found.running++;
        found.lastUsedAt = performance.now();
        event.start(found);
      },
    });
    this.#drain(live);
  }

  /** An event is for an object: where it runs is not known yet. */
  bind(event: ObjectEvent, live: LiveObject): void {
    this.#events.set(event, live);
  }

  /** The object that an event is for. */
  of(event: ObjectEvent): LiveObject | undefined {
    return this.#events.get(event);
  }

  /** An event has ended. */
  leave(live: LiveObject): void {
    live.running--;
    live.lastUsedAt = performance.now();
    if (live.running === 0 && live.waiting.length > 0) this.#drain(live);
    if (this.#isLeaving && this.#isUnused(live)) this.#release(live);
  }

  /** This engine ends: others may have its objects as soon as nothing of them runs here. */
  leaveAll(): void {
    this.#isLeaving = true;
    for (const live of this.#live.values()) if (this.#isUnused(live)) this.#release(live);
  }

  #isUnused(live: LiveObject): boolean {
    return live.running === 0 && live.waiting.length === 0 && !live.isOpening && live.store?.isBusy !== true;
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
      if (live.deployment !== null && live.deployment !== next.deployment) {
        if (live.running > 0) return;
        this.#letGo(live);
      }
      live.deployment = next.deployment;
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

  /** After a pause of the process others may have its objects. */
  #checkLeases(): void {
    if (this.#deps.leases.isValid()) return;
    const all = [...this.#live.values()];
    this.#live.clear();
    this.#deps.leases.lapsed();
    const isolates = new Set(all.flatMap(({ isolate }) => isolate ?? []));
    for (const isolate of isolates) isolate.lapse();
    for (const live of all)
      for (const waiting of live.waiting.splice(0)) waiting.refuse(reset('its engine was held up'));
  }

  /** Whether what the objects say still counts. */
  get areValid(): boolean {
    return this.#deps.leases.isValid();
  }

  /** Its isolate no longer has it. */
  #letGo(live: LiveObject): void {
    live.isolate?.forget(live);
    live.isolate = null;
    live.deployment = null;
  }

  /** The isolate of these objects is gone, and with it what they had not committed. */
  lost(objects: Iterable<LiveObject>): void {
    for (const live of objects) {
      live.isolate = null;
      live.deployment = null;
      live.store?.restart();
      if (live.running === 0) this.#drain(live);
    }
  }

  /** Another engine has it now. */
  shutOut(live: LiveObject): void {
    this.#forget(live);
    for (const waiting of live.waiting.splice(0)) waiting.refuse(reset('another engine has taken it over'));
  }

  #forget(live: LiveObject): void {
    const key = `${live.place.namespace}/${live.place.resource}`;
    if (this.#live.get(key) === live) this.#live.delete(key);
  }

  /** Called about once a second: lets go of objects that nobody asks. */
  sweep(now: number): void {
    this.#checkLeases();
    const idleMs = this.#live.size > MANY ? IDLE_MS_OF_MANY : IDLE_MS;
    for (const live of this.#live.values()) {
      if ((this.#isLeaving || now - live.lastUsedAt >= idleMs) && this.#isUnused(live)) this.#release(live);
    }
  }
}

function reset(reason: string): PlatformError {
  return new PlatformError('object_reset', { reason });
}
