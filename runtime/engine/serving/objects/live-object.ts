// One durable object in an engine, and what an operator sees of it. live-objects.ts decides where it runs.
import type { DatabasePlace } from '../../bindings/scope.ts';
import type { AlarmOwner } from './object-alarms.ts';
import type { ObjectSockets } from './object-sockets.ts';
import type { ObjectStore } from './object-store.ts';

/** A deployment, as its objects see it. */
export interface ObjectDeployment {
  log(level: 'error', text: string, invocation: null): void;
  readonly config: { readonly id: string };
}

/** The isolate of some objects: isolate-objects.ts. */
interface ObjectIsolate {
  /** Nothing of the object runs there any more. */
  forget(live: LiveObject): void;
  /** What lives there is no longer this engine's. */
  lapse(): void;
  /** Ends it, with all that runs in it. */
  reset(): void;
  /** RPC sessions of callers end there as soon as no call of theirs runs. */
  leaveSessions(): void;
}

/** An event, or an operation of an operator, that waits for the object. */
interface Waiting {
  /** Null: an operation of an operator, which no code has to run for. */
  readonly deployment: ObjectDeployment | null;
  start(): void;
  refuse(error: unknown): void;
  /** Sends it to the engine that has the object. */
  forward(link: string): void;
}

/** One object in this engine. */
export class LiveObject {
  readonly place: DatabasePlace;
  readonly owner: AlarmOwner;
  /** Null before its first event, and after it was let go. */
  deployment: ObjectDeployment | null = null;
  isolate: ObjectIsolate | null = null;
  store: ObjectStore | null = null;
  /** Changes when it leaves its isolate. */
  stay: object = {};
  /** Events that run. */
  running = 0;
  /** Operations of operators that run. */
  operating = 0;
  /** WebSockets that an isolate has open for it, beside those that are kept. */
  readonly plainSockets = { open: 0 };
  lastUsedAt = 0;
  isOpening = false;
  waiting: Waiting[] = [];
  readonly sockets: ObjectSockets;
  /** The engine that has it, until then. */
  elsewhere: { readonly link: string; readonly until: number } | null = null;

  /** @param sockets made for it. */
  constructor(place: DatabasePlace, owner: AlarmOwner, sockets: (live: LiveObject) => ObjectSockets) {
    this.place = place;
    this.owner = owner;
    this.sockets = sockets(this);
  }
}

/** What an operator sees of an object that an engine has. */
export interface LiveState {
  readonly isLive: boolean;
  readonly sockets: number;
  /** Milliseconds since 1970; 0: it had no event here. */
  readonly activeAt: number;
}

export function stateOf({ isolate, sockets, plainSockets, lastUsedAt }: LiveObject): LiveState {
  const activeAt = lastUsedAt === 0 ? 0 : Math.round(Date.now() - (performance.now() - lastUsedAt));
  return { isLive: isolate !== null, sockets: sockets.size + plainSockets.open, activeAt };
}
