// The WebSockets of one isolate by number: sockets of its worker's responses, and sockets that the worker opened.
// Limits the number of sockets, and counts bytes that their peers have not received. Used by link.ts.
import { PlatformError } from '#core/errors.ts';
import type { HeldBytes, HostMemory } from './host-memory.ts';
import type { Part } from './protocol.ts';
import { BridgedSocket, type SocketDeps, type SocketWire } from './sockets.ts';

/** Memory of a socket besides its queued bytes. */
const SOCKET_BYTES = 16 * 1024;
/** Memory of a message that waits for its socket, besides its bytes. */
const EARLY_BYTES = 256;
/** guest/lazy/rpc/session.ts. */
const LEAVE_FRAME = '[6]';

/** Dependencies of a table. */
interface SocketTableDeps extends Omit<SocketDeps, 'buffered' | 'recount' | 'message' | 'attached'> {
  readonly limits: SocketDeps['limits'] & { readonly webSocketsMax: number };
  readonly memory: HostMemory;
  /** Number of open WebSockets of the deployment, over all isolates. */
  readonly openSockets: { count: number };
  /** Adds a message of an invocation's socket to the next entry. */
  readonly message: (id: number, owner: number, data: Part, renews: boolean) => void;
  /** Whether a socket may get messages before the call that opens it begins. */
  readonly mayComeEarly: () => boolean;
}

export class SocketTable {
  #deps: SocketTableDeps;
  #socketParts: SocketDeps;
  // This is a Map, because the guest chooses the numbers.
  #sockets = new Map<number, BridgedSocket>();
  /** Bytes that the peers of all sockets have not received, as of the last message of each. */
  #buffered: HeldBytes;
  /** Messages for sockets of calls that have not begun. */
  #early = new Map<number, Part[] | 'lost'>();
  #earlyBytes = 0;

  constructor(deps: SocketTableDeps) {
    this.#deps = deps;
    this.#buffered = deps.memory.count();
    this.#socketParts = {
      limits: deps.limits,
      buffered: this.#buffered,
      recount: () => {
        this.#buffered.bytes = 0;
        for (const socket of this.#sockets.values()) socket.count();
      },
      message: (id, data) => {
        const socket = this.#sockets.get(id);
        deps.message(id, socket?.owner ?? 0, data, socket?.renews !== false);
      },
      attached: (socket) => this.#sendEarly(socket),
      failed: deps.failed,
      closed: (id, code, reason, clean) => {
        const socket = this.#sockets.get(id);
        this.forget(id);
        // The caller of a session learns this from the reply to its call, and the other side may have ended the session
        // itself.
        if (socket?.ofCall !== true || (id > 0 && !socket.isClosing)) deps.closed(id, code, reason, clean);
      },
      worked: deps.worked,
      log: deps.log,
    };
  }

  get(id: number): BridgedSocket | undefined {
    return this.#sockets.get(id);
  }

  /** Handles a message from the guest. An early message waits for the call that opens its socket. */
  send(id: number, data: Part): void {
    const socket = this.#sockets.get(id);
    if (socket !== undefined) socket.send(data);
    else if (id < 0 && this.#deps.mayComeEarly()) {
      const bytes = EARLY_BYTES + data.length;
      const early = this.#early.get(id);
      if (early === 'lost') return;
      if (!this.#deps.memory.hasRoom(bytes)) {
        this.#early.set(id, 'lost');
        return;
      }
      this.#deps.memory.add(bytes);
      this.#earlyBytes += bytes;
      if (early === undefined) this.#early.set(id, [data]);
      else early.push(data);
    }
  }

  /** Sends the messages that came before the socket was opened. */
  #sendEarly(socket: BridgedSocket): void {
    const early = this.#early.get(socket.id);
    if (early === undefined) return;
    this.#early.delete(socket.id);
    if (early === 'lost') socket.close(1013, 'Too slow');
    else for (const data of early) socket.send(data);
  }

  /** Called when no call is deferred any more: sockets of messages that still wait will never be opened. */
  allBegun(): void {
    this.#early.clear();
    this.#deps.memory.release(this.#earlyBytes);
    this.#earlyBytes = 0;
  }

  /**
   * @param owner the invocation with which the socket ends; 0 if there is none. @param ofCall whether the socket
   * carries an RPC session.
   * @param renews whether each message starts a new CPU budget.
   * @throws {PlatformError} `websocket_limit_exceeded`, `invalid_argument`, `host_memory_exceeded`.
   */
  open(id: number, owner: number, ofCall: boolean, renews: boolean): BridgedSocket {
    const { limits, openSockets, memory } = this.#deps;
    if (openSockets.count >= limits.webSocketsMax)
      throw new PlatformError('websocket_limit_exceeded', { limit: limits.webSocketsMax });
    if (this.#sockets.has(id)) throw new PlatformError('invalid_argument', { reason: 'The socket is open already' });
    memory.reserve(SOCKET_BYTES, 'A WebSocket');
    const socket = new BridgedSocket(id, owner, { ofCall, renews }, this.#socketParts);
    this.#sockets.set(id, socket);
    openSockets.count++;
    return socket;
  }

  /** Takes over a connection that the guest has not read; null if there is none. */
  take(id: number): SocketWire | null {
    const wire = this.#sockets.get(id)?.giveWire() ?? null;
    if (wire !== null) this.forget(id);
    return wire;
  }

  /** Undoes `open` if no connection was made. */
  forget(id: number): void {
    if (!this.#sockets.delete(id)) return;
    this.#deps.memory.release(SOCKET_BYTES);
    this.#deps.openSockets.count--;
  }

  /** Closes the sockets of an invocation, or all sockets except RPC sessions, which run to their end. */
  close(code: number, reason: string, owner?: number): void {
    if (this.#sockets.size === 0) return;
    for (const socket of this.#sockets.values())
      if (owner === undefined ? !socket.ofCall : socket.owner === owner) socket.close(code, reason);
  }

  /** Asks the sessions that other workers have opened with this isolate to end as soon as they have no running call. */
  leaveSessions(): void {
    for (const socket of this.#sockets.values()) if (socket.ofCall && socket.id > 0) socket.message(LEAVE_FRAME);
  }

  /** Called when the isolate has ended: peers get a close code, and the guest is not notified. */
  abandon(code: number, reason: string): void {
    for (const socket of this.#sockets.values()) socket.abandon(code, reason);
    for (const id of this.#sockets.keys()) this.forget(id);
    this.allBegun();
    this.#buffered.bytes = 0;
  }
}
