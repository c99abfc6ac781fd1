// The guest's end of WebSockets over the bridge: finds the socket object of a record, and sends records from the
// guest. The classes for workers are in lazy/web-socket.ts.
import { FIELD, RECORD, toHost, type Part } from '../bridge/protocol.ts';
import { currentInvocation, touch, type GuestInvocation } from './invocation.ts';
import { records, send } from './records.ts';
import { SafeMap, toJson } from './safe.ts';
import { byteLengthOf } from './free-buffers.ts';

/** One end of a connection, as the other end sees it. */
export interface SocketEnd {
  // Delivers a message. `isTask` means that no code of the worker is on the stack.
  receive(data: Part, isTask: boolean): void;
  /** Called when the other end starts the closing handshake. */
  closing(code: number, reason: string, isTask: boolean): void;
  /** Called when the connection has ended. */
  closed(code: number, reason: string, clean: boolean, isTask: boolean): void;
  failed(message: string, isTask: boolean): void;
  /** Number of the network socket; 0 when the other end is inside this isolate. */
  readonly networkId: number;
  /** Set if a durable object has accepted the socket; absent or null otherwise. */
  readonly held?: HeldSocket | null;
  /** Whether nothing has been read from the network yet. */
  readonly isUnread?: boolean;
  /** Starts to read from the network. */
  begin?(): void;
}

/**
 * A WebSocket that a durable object has accepted. The object's engine keeps it, even while the object is in no isolate.
 */
export interface HeldSocket {
  /** Number of the socket on the bridge. */
  readonly id: number;
  /** Whether the engine keeps the socket, because its other end was part of a response. */
  isKept: boolean;
  /** JSON of the attachment that the engine stores with it. */
  describe(): string;
  /** Called when the socket has a new attachment, as JSON. */
  attached(text: string): void;
}

/** The internals of a WebSocket object, for responses and `fetch`. */
export interface SocketInternals {
  /** This end of the socket, as the other end sees it. */
  readonly end: SocketEnd;
  /** Joins this end to another end. */
  join(other: SocketEnd): void;
  /** The end to which this end sends. */
  other(): SocketEnd | null;
  /**
   * @throws {TypeError} when the socket cannot be part of a response: the worker has accepted it, or has already sent
   * it.
   */
  checkSendable(): void;
  /** Redirects all further incoming data to another end. */
  redirect(to: SocketEnd): void;
  opened(details: { url: string; protocol: string; extensions: string }, flows: boolean): void;
  /**
   * Called when a durable object accepts the socket. @param other the network, if the engine has kept the socket; null
   * if the other end stays the same.
   */
  hold(held: HeldSocket, other: SocketEnd | null, attachment: string | null): void;
  /** JSON of the attachment, or null. */
  attachment(): string | null;
  /** Called when the engine reports that the socket is closed. */
  finish(): void;
}

/**
 * The WebSocket classes, which are loaded on first use. lazy.ts sets `load`, and lazy/web-socket.ts sets `internalsOf`.
 */
export const socketClasses: {
  load(): { create(): object };
  /** The internals of a WebSocket; null for any other value. */
  internalsOf(value: unknown): SocketInternals | null;
} = {
  load() {
    throw new Error('There are no WebSockets before the worker starts');
  },
  internalsOf: () => null,
};

interface Entry {
  readonly end: SocketEnd;
  readonly owner: GuestInvocation | undefined;
  readonly onClosed: () => void;
  /** Whether each message starts a new CPU budget. */
  readonly renews: boolean;
  /** Number of bytes that were delivered, but not yet reported to the host. */
  delivered: number;
}

/** Delivered bytes are reported when there are this many; the host's window is four times as large. */
const CREDIT_BYTES = 64 * 1024;

/**
 * Maximum amount of data that an entry may send over sockets. Above this limit, the sockets are closed, because no data
 * is transferred before the entry ends.
 */
const ENTRY_BYTES_MAX = 32 * 1024 * 1024;

const entries = new SafeMap<number, Entry>();
let nextId = -1;

/** Allocates a number for a socket that the worker opens. */
export function reserveSocketId(): number {
  return nextId--;
}

/** Passes the host's records for a socket to an end. @param renews whether each message starts a new CPU budget. */
export function connectEnd(
  id: number,
  end: SocketEnd,
  owner: GuestInvocation | undefined,
  onClosed: () => void,
  renews = true,
): void {
  entries.set(id, { end, owner, onClosed, renews, delivered: 0 });
}

export function disconnectEnd(id: number): void {
  entries.delete(id);
}

/** Whether the host may still send a record about a socket. If so, no invocation is considered hung. */
export function hasOpenSockets(): boolean {
  return entries.size > 0;
}

/** The network as the other end of a socket. */
export class NetworkEnd implements SocketEnd {
  readonly networkId: number;
  isUnread: boolean;
  #isCut = false;

  /** @param isUnread whether the host sends nothing before `begin`. */
  constructor(id: number, isUnread = false) {
    this.networkId = id;
    this.isUnread = isUnread;
  }

  begin(): void {
    if (!this.isUnread) return;
    this.isUnread = false;
    send(toHost.socketBegin, this.networkId);
  }

  receive(data: Part): void {
    if (this.#isCut) return;
    if (records.size > ENTRY_BYTES_MAX) {
      // The host would close the socket for the same reason, but only after it has received everything.
      this.#isCut = true;
      this.closing(1013, 'Too slow');
      return;
    }
    records.meta += toHost.socketMessage + FIELD + this.networkId + FIELD + records.part(data) + FIELD + RECORD;
  }

  closing(code: number, reason: string): void {
    send(toHost.socketClose, this.networkId, code, toJson(reason));
  }

  closed(code: number, reason: string): void {
    // Codes that stand for a missing code are never sent.
    this.closing(code === 1006 ? 1011 : code, reason);
  }

  failed(): void {}
}

/** The network behind a WebSocket that the engine of its durable object keeps. */
export class HeldEnd implements SocketEnd {
  readonly networkId = 0;
  readonly #id: number;
  #isCut = false;

  constructor(id: number) {
    this.#id = id;
  }

  receive(data: Part): void {
    if (this.#isCut) return;
    if (records.size > ENTRY_BYTES_MAX) {
      this.#isCut = true;
      this.closing(1013, 'Too slow');
      return;
    }
    const sender = currentInvocation()?.id ?? 0;
    records.meta +=
      toHost.heldMessage + FIELD + this.#id + FIELD + sender + FIELD + records.part(data) + FIELD + RECORD;
  }

  closing(code: number, reason: string): void {
    send(toHost.heldClose, this.#id, code, toJson(reason));
  }

  closed(code: number, reason: string): void {
    this.closing(code === 1006 ? 1011 : code, reason);
  }

  failed(): void {}
}

/** Sends the new attachment of a socket, as JSON. @throws {RangeError} when one entry has too many attachments. */
export function sendAttachment(id: number, text: string): void {
  if (records.size > ENTRY_BYTES_MAX)
    throw new RangeError('Messages and attachments of WebSockets in one turn exceed 32 MB');
  send(toHost.heldAttachment, id, records.part(text));
}

/** Sends the settings for all kept sockets of an object to the engine. @param state JSON. */
export function sendSocketState(state: string): void {
  send(toHost.heldState, records.part(state));
}

/** Reports that an event of a kept socket has reached its object. */
export function sendBegun(invocation: number): void {
  send(toHost.heldBegun, invocation);
}

/**
 * Sends a WebSocket that no longer depends on its invocation: the unread socket of a call, or the other end of a socket
 * that a durable object has accepted. @returns false for any other WebSocket.
 */
export function handOver(socket: SocketInternals, invocation: number, headerBlock: string, isOver: boolean): boolean {
  const other = socket.other();
  if (other?.isUnread === true) {
    disconnectEnd(other.networkId);
    send(toHost.join, invocation, records.part(headerBlock), other.networkId, isOver ? '1' : '');
    socket.redirect(new HeldEnd(0));
    return true;
  }
  const held = other?.held ?? null;
  if (held === null || held.isKept) return false;
  held.isKept = true;
  const head = records.part(headerBlock);
  send(toHost.hold, invocation, head, held.id, records.part(held.describe()), isOver ? '1' : '');
  // Messages that the socket has already sent follow.
  socket.redirect(new HeldEnd(held.id));
  return true;
}

// Each incoming message is an event with its own CPU budget, so that a socket can stay open without limit. The
// invocation keeps its account, so code of the previous message that is still running shares the budget.
export function socketMessage(id: number, data: Part): void {
  const entry = entries.get(id);
  if (entry === undefined) return;
  if (entry.renews) entry.owner?.renew();
  touch(entry.owner);
  entry.delivered += typeof data === 'string' ? data.length : byteLengthOf(data);
  if (entry.delivered >= CREDIT_BYTES) {
    send(toHost.socketCredit, id, entry.delivered);
    entry.delivered = 0;
  }
  entry.end.receive(data, true);
}

export function socketFailed(id: number, message: string): void {
  touch(entries.get(id)?.owner);
  entries.get(id)?.end.failed(message, true);
}

export function socketClosed(id: number, code: number, reason: string, clean: boolean): void {
  const entry = entries.get(id);
  if (entry === undefined) return;
  entries.delete(id);
  if (entry.renews) entry.owner?.renew();
  touch(entry.owner);
  entry.end.closed(code, reason, clean, true);
  entry.onClosed();
}

/** Uses one end of a connection as the WebSocket of an invocation's response. */
export function sendWebSocket(socket: SocketInternals, owner: GuestInvocation, onClosed: () => void): void {
  socket.redirect(new NetworkEnd(owner.id));
  // Data from the client goes to the other end of the pair.
  connectEnd(owner.id, socket.other()!, owner, onClosed);
}

/** Creates the socket of a `fetch` that requests an upgrade; `id` is sent with the call. */
export function prepareFetchedSocket(): {
  id: number;
  /** @param isUnread whether the host sends nothing before the worker reads the socket. */
  opened(url: string, protocol: string, extensions: string, isUnread: boolean): object;
  refused(): void;
} {
  const socket = socketClasses.load().create();
  const internals = socketClasses.internalsOf(socket)!;
  const id = reserveSocketId();
  connectEnd(id, internals.end, currentInvocation(), () => {});
  return {
    id,
    opened(url, protocol, extensions, isUnread) {
      internals.join(new NetworkEnd(id, isUnread));
      internals.opened({ url, protocol, extensions }, false);
      return socket;
    },
    refused: () => disconnectEnd(id),
  };
}
