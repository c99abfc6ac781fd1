// The lanes of a deployment. Requests, events and durable objects run in separate isolates, so that CPU use and
// failures of one lane do not delay the others. Requests of ssr projects go to their server instead. Made by
// deployment.ts.
import { isHttp, type AnyInvocation } from '../invocation/invocation.ts';
import type { Outcome } from '../invocation/outcome.ts';
import { ServerLane } from '../servers/server-lane.ts';
import type { ServerLink } from '../servers/server-link.ts';
import { Lane, type LaneDeps } from './lane.ts';
import type { LiveObjects } from './objects/live-objects.ts';
import type { ServedDeployment } from './served-deployment.ts';

/** Dependencies of the lanes. */
export interface LanesDeps extends LaneDeps {
  readonly servers: ServerLink;
  /** Of all deployments. */
  readonly objects?: LiveObjects;
}

/** Share of host memory that events may hold; the rest is reserved for requests. */
const EVENTS_MEMORY_SHARE = 0.75;

export class Lanes {
  readonly http: Lane;
  /** The lane for queues, timers, schedules and workflows. */
  readonly events: Lane;
  /** Serves the requests of an ssr project; null otherwise. */
  readonly server: ServerLane | null;
  /** Whether another deployment has replaced this one, whose isolates are then released early. */
  isRetired = false;
  /** The lane of durable objects; null before their first event. */
  #objects: Lane | null = null;
  #deployment: ServedDeployment;
  #deps: LanesDeps;

  constructor(deployment: ServedDeployment, deps: LanesDeps) {
    this.#deployment = deployment;
    this.#deps = deps;
    this.http = new Lane(deployment, deps, 1);
    this.events = new Lane(deployment, deps, EVENTS_MEMORY_SHARE);
    const { server: spec = null } = deployment.config;
    this.server = spec === null ? null : new ServerLane(deployment, { ...deps, link: deps.servers, spec });
  }

  /** Durable objects. */
  get objects(): Lane {
    return (this.#objects ??= new Lane(this.#deployment, this.#deps, EVENTS_MEMORY_SHARE, this.#deps.objects!));
  }

  /** Returns the lane of an invocation that runs in an isolate. */
  of(invocation: AnyInvocation): Lane {
    if (invocation.kind === 'object') return this.objects;
    return isHttp(invocation) ? this.http : this.events;
  }

  /** Number of requests and events that run or wait, and of open WebSockets. */
  get load(): number {
    return this.http.load + this.events.load + (this.#objects?.load ?? 0) + (this.server?.load ?? 0);
  }

  /** Number of requests and events that run or wait. */
  get busy(): number {
    return this.http.busy + this.events.busy + (this.#objects?.busy ?? 0) + (this.server?.busy ?? 0);
  }

  /** Whether the deployment's code is running on a thread at this moment. */
  get isEntered(): boolean {
    return this.http.isEntered || this.events.isEntered || this.#objects?.isEntered === true;
  }

  /** Whether requests find a warm isolate. */
  get hasIsolate(): boolean {
    return this.server !== null || this.http.hasIsolate;
  }

  /**
   * Starts the worker unless it is running, and returns the outcome: its top level has run, or the reason why it
   * failed.
   */
  start(): Promise<Outcome> {
    return this.server?.start() ?? this.http.start();
  }

  /** Releases an idle isolate. */
  rest(): void {
    if (this.http.isIdle) this.http.evict();
  }

  /** Called when another deployment replaces this one: asks clients of open WebSockets to reconnect. */
  retire(): void {
    this.isRetired = true;
    this.http.closeSockets(1012, 'Service restart');
    this.server?.closeSockets(1012, 'Service restart');
    this.events.closeSockets(1012, 'Service restart');
    this.#objects?.closeSockets(1012, 'Service restart');
  }

  /**
   * Called about once a second: ends invocations over their wall limit, and disposes an isolate that has had no event
   * for a while, or no request since another deployment replaced this one.
   */
  checkWall(now: number): void {
    const { eventIsolateIdleMs } = this.#deps.limits;
    this.http.checkWall(now);
    this.events.checkWall(now);
    this.#objects?.checkWall(now);
    this.#objects?.evictAfter(eventIsolateIdleMs, now);
    this.server?.checkWall(now);
    this.events.evictAfter(eventIsolateIdleMs, now);
    if (this.isRetired) this.http.evictAfter(eventIsolateIdleMs, now);
  }

  /** Called often while entries run, to detect isolates that died without an event. */
  checkAlive(): void {
    this.http.checkAlive();
    this.events.checkAlive();
    this.#objects?.checkAlive();
  }

  /** Cuts off running invocations. */
  close(): void {
    this.http.close();
    this.events.close();
    this.#objects?.close();
    this.server?.close();
  }
}
