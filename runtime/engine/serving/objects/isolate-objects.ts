// The durable objects of one isolate: their storage, and the output gate, which holds an entry's output until its
// writes are on disk. Created by serving.ts for the isolates of the objects' lane.
import { PlatformError } from '#core/errors.ts';
import type { CallOwner } from '../../bridge/call-owner.ts';
import type { HostCall, HostReply, SyncHostFunction } from '../../bridge/host-calls.ts';
import type { Link } from '../../bridge/link.ts';
import type { Part } from '../../bridge/protocol.ts';
import { toRecord } from '../../bindings/arguments.ts';
import { toFailure } from '../../bridge/host-calls.ts';
import type { ObjectEvent } from '../../invocation/invocation.ts';
import type { LiveObject } from './live-object.ts';
import type { LiveObjects } from './live-objects.ts';
import { described, SocketEvent, type ObjectSocket } from './object-sockets.ts';
import type { StorageRequest } from './object-store.ts';

interface IsolateObjectsDeps {
  readonly objects: LiveObjects;
  readonly link: Link;
  /** Ends the remaining work of answered events of an object. @param id null means all objects. */
  readonly leaveWork: (id: string | null) => void;
  /** Called when a write of an object could not be stored: all objects of the isolate are reset. */
  readonly onBroken: (error: PlatformError) => void;
}

/** The objects by isolate, which is the scope of a call for host functions. */
const isolates = new WeakMap<object, IsolateObjects>();

export class IsolateObjects {
  readonly #deps: IsolateObjectsDeps;
  readonly #live = new Map<string, LiveObject>();
  /**
   * The WebSockets that the isolate has loaded, by the isolate's numbers. The isolate itself assigns negative numbers.
   */
  readonly #sockets = new Map<number, { readonly live: LiveObject; readonly socket: ObjectSocket }>();
  #lastSocket = 0;
  #isGone = false;

  constructor(deps: IsolateObjectsDeps) {
    this.#deps = deps;
    isolates.set(deps.link, this);
  }

  /** Called when an event of the object enters this isolate. */
  attach(event: ObjectEvent): void {
    const live = this.#deps.objects.of(event);
    if (live === undefined) return;
    live.isolate = this;
    this.#live.set(live.owner.id, live);
  }

  /** Called when no code of the object runs here any more. */
  forget(live: LiveObject): void {
    if (this.#live.get(live.owner.id) !== live) return;
    this.#live.delete(live.owner.id);
    this.#forgetSockets(live);
    if (!this.#isGone) this.#deps.link.forgetObject(live.owner.id);
  }

  /**
   * Runs the storage steps of an entry.
   *
   * @param json `{object, end, writes, unconfirmed, alarm?}`; untrusted. @returns a promise that resolves when the
   * entry's output may be sent; null means immediately.
   */
  store(call: number, owner: CallOwner, json: string, steps: string): Promise<void> | null {
    const { link } = this.#deps;
    const args = JSON.parse(json) as Readonly<Record<string, unknown>>;
    // Output does not wait for unconfirmed writes, so the event may end before them.
    const done = this.#request(args, steps, args['unconfirmed'] === 1 ? undefined : owner);
    const isGated = args['end'] === 1 && args['writes'] === 1 && args['unconfirmed'] !== 1;
    const answered = done.then(
      (text) => link.answerStorage(call, text),
      (error: unknown) => {
        link.failStorage(call, toFailure(error));
        if (args['writes'] === 1 || args['end'] !== 1) this.#broken(error);
        // The isolate is disposed, so that output that depends on the write is not sent.
        if (isGated) throw error;
      },
    );
    answered.catch(() => {});
    return isGated ? answered : null;
  }

  async #request(
    { object, end, alarm }: Readonly<Record<string, unknown>>,
    steps: string,
    owner: CallOwner | undefined,
  ): Promise<string> {
    const live = typeof object === 'string' ? this.#live.get(object) : undefined;
    if (live === undefined || live.store === null)
      throw new PlatformError('object_reset', { reason: 'it does not live in this isolate any more' });
    if (alarm !== undefined && (typeof alarm !== 'number' || !Number.isSafeInteger(alarm) || alarm > 8.64e15))
      throw new PlatformError('invalid_argument', { reason: 'The time of an alarm is not valid' });
    const { memory } = this.#deps.link;
    const bytes = 2 * steps.length;
    memory.reserve(bytes, 'Storage of an object');
    const request: StorageRequest = {
      steps,
      commits: end === 1,
      alarm: alarm === undefined ? undefined : Math.max(-1, alarm as number),
      owner: owner?.isOver === true ? undefined : owner,
    };
    try {
      return await live.store.request(request);
    } catch (error) {
      if ((error as PlatformError).details?.['isShutOut'] === true) this.#deps.objects.shutOut(live);
      throw error;
    } finally {
      memory.release(bytes);
    }
  }

  /** Runs a request for which a thread of the isolate waits. */
  async wait(call: HostCall): Promise<HostReply> {
    const [part] = call.parts;
    if (!(part instanceof Uint8Array)) throw new PlatformError('invalid_argument', { reason: 'Steps are bytes' });
    const args = (call.args ?? {}) as Readonly<Record<string, unknown>>;
    try {
      const text = await this.#request({ ...args, end: 0 }, Buffer.from(part).toString('utf8'), call.owner);
      return { parts: [Buffer.from(text)] };
    } catch (error) {
      this.#broken(error);
      throw error;
    }
  }

  #forgetSockets(live: LiveObject): void {
    for (const socket of live.sockets.values()) this.#forgetSocket(socket);
  }

  #forgetSocket(socket: ObjectSocket): void {
    if (this.#sockets.get(socket.known)?.socket === socket) this.#sockets.delete(socket.known);
  }

  /** The isolate's number for a socket, whose first event describes it to the isolate. */
  #introduce(live: LiveObject, socket: ObjectSocket): number {
    if (socket.stay !== live.stay) {
      socket.stay = live.stay;
      socket.known = ++this.#lastSocket;
      this.#sockets.set(socket.known, { live, socket });
    }
    return socket.known;
  }

  /** The part of a socket's event that is sent to the isolate. */
  describe({ address, socketEvent }: ObjectEvent): string {
    if (!(socketEvent instanceof SocketEvent)) throw new Error('an event of no WebSocket');
    const { socket, content, sockets } = socketEvent;
    const live = this.#live.get(address.id);
    const isNew = socket.stay !== live?.stay;
    const known = live === undefined ? 0 : this.#introduce(live, socket);
    // The socket is already closed, and no other code refers to it.
    if (!sockets.has(socket)) this.#forgetSocket(socket);
    return JSON.stringify({ ...address, ...content, ...(isNew ? described(socket, known) : { socket: known }) });
  }

  /**
   * Called when an object accepts a WebSocket. @param id the number of the socket in the isolate. @param given JSON;
   * untrusted.
   *
   * @throws {Error} if the object is not allowed to accept the socket.
   */
  accept(id: number, given: string): { readonly live: LiveObject; readonly socket: ObjectSocket } {
    const { object, tags, attachment } = JSON.parse(given) as Readonly<Record<string, unknown>>;
    const live = typeof object === 'string' ? this.#live.get(object) : undefined;
    if (live === undefined || !(id < 0) || this.#sockets.has(id))
      throw new Error('The WebSocket does not belong to an object');
    const socket = live.sockets.accept({ tags, attachment });
    socket.known = id;
    socket.stay = live.stay;
    const held = { live, socket };
    this.#sockets.set(id, held);
    return held;
  }

  /** Handles a message of the guest. @param sender the owner that is charged for the message. */
  send(id: number, data: Part, sender: CallOwner): void {
    const found = this.#sockets.get(id);
    if (found !== undefined) found.live.sockets.send(found.socket, data, sender);
  }

  closeSocket(id: number, code: number, reason: string): void {
    this.#sockets.get(id)?.socket.bridged.close(code, reason);
  }

  /** @throws {Error} for data that a correct isolate never sends. */
  attachToSocket(id: number, text: string): void {
    const found = this.#sockets.get(id);
    if (found !== undefined) found.live.sockets.attach(found.socket, text);
  }

  /**
   * @param json settings for all sockets of an object; untrusted. @throws {Error} for data that a correct isolate never
   * sends.
   */
  setSocketState(json: string): void {
    const { object, ...state } = JSON.parse(json) as Readonly<Record<string, unknown>>;
    const live = typeof object === 'string' ? this.#live.get(object) : undefined;
    if (live === undefined) return;
    if (state['closes'] !== undefined) this.#forgetSockets(live);
    live.sockets.setState(state);
  }

  /** Handles an isolate's requests about the sockets of an object. @param args untrusted. */
  socketsOf({ object, after, socket }: Readonly<Record<string, unknown>>): unknown {
    const live = typeof object === 'string' ? this.#live.get(object) : undefined;
    if (live === undefined) return none;
    if (socket === undefined) return live.sockets.page(Number(after), (found) => this.#introduce(live, found));
    const found = this.#sockets.get(Number(socket));
    return { sockets: found?.live === live ? [described(found.socket, found.socket.known)] : [], next: -1 };
  }

  /**
   * When the engine last answered a message of a socket itself, without the object; null if never. @param args
   * untrusted.
   */
  answeredAt({ socket }: Readonly<Record<string, unknown>>): number | null {
    return this.#sockets.get(Number(socket))?.socket.answeredAt ?? null;
  }

  #broken(error: unknown): void {
    if (this.#isGone) return;
    const reason =
      error instanceof PlatformError ? error : new PlatformError('object_reset', { reason: String(error) });
    // The request fails, but the object's code may still handle the error and respond.
    setImmediate(() => this.#deps.onBroken(reason));
  }

  /**
   * Called when newer code or another engine waits for an object that only a caller's stub or unawaited work keeps
   * here.
   */
  leave(live: LiveObject | null): void {
    if (this.#isGone) return;
    this.#deps.link.leaveSessions();
    this.#deps.leaveWork(live?.owner.id ?? null);
  }

  /** Called when an event has been answered, and its code continues. */
  answered(event: ObjectEvent): void {
    const live = this.#deps.objects.of(event);
    if (live !== undefined && this.#deps.objects.isAwaited(live)) this.leave(live);
  }

  /** Called when these objects no longer belong to this engine: their events end without a response. */
  lapse(): void {
    if (!this.#isGone) this.#deps.onBroken(new PlatformError('object_reset', { reason: 'its engine was held up' }));
  }

  /** Called when an operator ends a running object, whose isolate is then disposed. */
  reset(): void {
    if (!this.#isGone) this.#deps.onBroken(new PlatformError('object_reset', { reason: 'an operator has reset it' }));
  }

  /** Whether output of this isolate is still valid. */
  get isValid(): boolean {
    return this.#deps.objects.areValid;
  }

  /** Called when the isolate has ended. */
  close(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    const live = [...this.#live.values()];
    this.#live.clear();
    this.#sockets.clear();
    this.#deps.objects.lost(live);
  }
}

/**
 * The status that is recorded for a response of an object. Errors that an object threw have a status that does not
 * exist in HTTP.
 */
export function recordedStatus(status: number): number {
  return status > 599 ? 500 : status;
}

const none = { sockets: [], next: -1, auto: null, eventMs: 0 };

/** The host functions of WebSockets for which a thread waits. */
export const objectSocketCalls: Readonly<Record<string, SyncHostFunction>> = {
  'object.sockets': (args, _part, isolate) => isolates.get(isolate)?.socketsOf(toRecord(args)) ?? none,
  'object.answered': (args, _part, isolate) => isolates.get(isolate)?.answeredAt(toRecord(args)) ?? null,
};

/** The host function of storage for which a thread waits. */
export const objectStorageCall = {
  'object.storage': (call: HostCall): Promise<HostReply> => {
    const objects = isolates.get(call.isolate);
    if (objects === undefined) throw new PlatformError('not_supported', { what: 'Storage used outside an object' });
    return objects.wait(call);
  },
};
