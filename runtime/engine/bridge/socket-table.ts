// The WebSockets of one isolate by number: those of its worker's responses, and those it opened. Limits their number,
// and counts what their peers have not received. Used by link.ts.
import { PlatformError } from '#core/errors.ts';
import type { HeldBytes, HostMemory } from './host-memory.ts';
import { BridgedSocket, type SocketDeps } from './sockets.ts';

/** Memory of a socket besides its queued bytes. */
const SOCKET_BYTES = 16 * 1024;

/** Dependencies of a table. */
interface SocketTableDeps extends Omit<SocketDeps, 'buffered' | 'recount' | 'message'> {
  readonly limits: SocketDeps['limits'] & { readonly webSocketsMax: number };
  readonly memory: HostMemory;
  /** Open WebSockets of all isolates of the deployment. */
  readonly openSockets: { count: number };
  /** Adds a message of an invocation's socket to the next entry. */
  readonly message: (id: number, owner: number, data: Parameters<SocketDeps['message']>[1]) => void;
}

export class SocketTable {
  #deps: SocketTableDeps;
  #socketParts: SocketDeps;
  // A Map, because the guest chooses the numbers.
  #sockets = new Map<number, BridgedSocket>();
  /** Bytes that the peers of all sockets have not received, as of each one's last message. */
  #buffered: HeldBytes;

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
      message: (id, data) => deps.message(id, this.#sockets.get(id)?.owner ?? 0, data),
      failed: deps.failed,
      closed: (id, code, reason, clean) => {
        this.forget(id);
        deps.closed(id, code, reason, clean);
      },
      worked: deps.worked,
      log: deps.log,
    };
  }

  get(id: number): BridgedSocket | undefined {
    return this.#sockets.get(id);
  }

  /**
   * @param owner the invocation with which it ends; 0: none.
   * @throws {PlatformError} `websocket_limit_exceeded`, `invalid_argument`, `host_memory_exceeded`.
   */
  open(id: number, owner: number): BridgedSocket {
    const { limits, openSockets, memory } = this.#deps;
    if (openSockets.count >= limits.webSocketsMax)
      throw new PlatformError('websocket_limit_exceeded', { limit: limits.webSocketsMax });
    if (this.#sockets.has(id)) throw new PlatformError('invalid_argument', { reason: 'The socket is open already' });
    memory.reserve(SOCKET_BYTES, 'A WebSocket');
    const socket = new BridgedSocket(id, owner, this.#socketParts);
    this.#sockets.set(id, socket);
    openSockets.count++;
    return socket;
  }

  /** Undoes `open` when there is no connection after all. */
  forget(id: number): void {
    if (!this.#sockets.delete(id)) return;
    this.#deps.memory.release(SOCKET_BYTES);
    this.#deps.openSockets.count--;
  }

  /** Closes those of an invocation, or all of them. */
  close(code: number, reason: string, owner?: number): void {
    if (this.#sockets.size === 0) return;
    for (const socket of this.#sockets.values())
      if (owner === undefined || socket.owner === owner) socket.close(code, reason);
  }

  /** The isolate is gone: peers get a code, the guest is not notified. */
  abandon(code: number, reason: string): void {
    for (const socket of this.#sockets.values()) socket.abandon(code, reason);
    for (const id of this.#sockets.keys()) this.forget(id);
    this.#buffered.bytes = 0;
  }
}
