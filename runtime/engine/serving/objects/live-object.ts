// One durable object in an engine, and its description for operators. live-objects.ts decides where it runs.
import type { DatabasePlace } from '../../bindings/scope.ts';
import type { AlarmOwner } from './object-alarms.ts';
import type { ObjectSockets } from './object-sockets.ts';
import type { ObjectStore } from './object-store.ts';

/** A deployment, as its objects see it. */
export interface ObjectDeployment {
  log(level: 'error', text: string, invocation: null): void;
  readonly config: { readonly id: string };
}

/** The isolate of some objects; implemented by isolate-objects.ts. */
interface ObjectIsolate {
  /** Called when no code of the object runs in the isolate any more. */
  forget(live: LiveObject): void;
  /** Called when these objects no longer belong to this engine. */
  lapse(): void;
  /** Ends the isolate and everything that runs in it. */
  reset(): void;
  /** Ends RPC sessions of callers as soon as they have no running call, and the remaining work of answered events. */
  leave(live: LiveObject | null): void;
}

/** A waiting event, or a waiting operation of an operator. */
interface Waiting {
  /** The deployment; null for an operator's operation, which runs no code of the object. */
  readonly deployment: ObjectDeployment | null;
  start(): void;
  refuse(error: unknown): void;
  /** Forwards the event to the engine that has the object. */
  forward(link: string): void;
}

/** One object in this engine. */
export class LiveObject {
  readonly place: DatabasePlace;
  readonly owner: AlarmOwner;
  /** The deployment that runs the object; null before its first event, and after its release. */
  deployment: ObjectDeployment | null = null;
  isolate: ObjectIsolate | null = null;
  store: ObjectStore | null = null;
  /** Changes when the object leaves its isolate. */
  stay: object = {};
  /** Events that run. */
  running = 0;
  /** Number of running operations of operators. */
  operating = 0;
  /** Number of WebSockets that an isolate has open for the object, without accepted ones. */
  readonly plainSockets = { open: 0 };
  lastUsedAt = 0;
  isOpening = false;
  waiting: Waiting[] = [];
  readonly sockets: ObjectSockets;
  /** The engine that has the object, and the time until which this is assumed. */
  elsewhere: { readonly link: string; readonly until: number } | null = null;

  /** @param sockets creates the object's sockets. */
  constructor(place: DatabasePlace, owner: AlarmOwner, sockets: (live: LiveObject) => ObjectSockets) {
    this.place = place;
    this.owner = owner;
    this.sockets = sockets(this);
  }
}

/** The description of an object, for operators. */
export interface LiveState {
  readonly isLive: boolean;
  readonly sockets: number;
  /** Time of its last event, in milliseconds since 1970; 0 if it had no event here. */
  readonly activeAt: number;
}

export function stateOf({ isolate, sockets, plainSockets, lastUsedAt }: LiveObject): LiveState {
  const activeAt = lastUsedAt === 0 ? 0 : Math.round(Date.now() - (performance.now() - lastUsedAt));
  return { isLive: isolate !== null, sockets: sockets.size + plainSockets.open, activeAt };
}
