// Totals of the accepted WebSockets of a project's objects in this engine: their number, their memory, and the bytes
// that clients have not received. One account for production and one for each preview. Used by live-objects.ts.
import type { EngineMemory, HeldBytes, HostMemory } from '../../bridge/host-memory.ts';
import type { BridgedSocket } from '../../bridge/sockets.ts';

/** One account. */
export class SocketAccount {
  readonly memory: HostMemory;
  /** Number of objects in this engine that share this account. */
  objects = 0;
  /** Number of bytes that clients have not received, as of the last message of each socket. */
  readonly buffered: HeldBytes;
  readonly #sockets = new Set<BridgedSocket>();

  constructor(memory: HostMemory) {
    this.memory = memory;
    this.buffered = memory.count();
  }

  get open(): number {
    return this.#sockets.size;
  }

  add(socket: BridgedSocket): void {
    this.#sockets.add(socket);
  }

  remove(socket: BridgedSocket): void {
    this.#sockets.delete(socket);
  }

  recount(): void {
    this.buffered.bytes = 0;
    for (const socket of this.#sockets) socket.count();
  }
}

/** All accounts of an engine. */
export class SocketAccounts {
  readonly #memory: EngineMemory;
  readonly #accounts = new Map<string, SocketAccount>();

  constructor(memory: EngineMemory) {
    this.#memory = memory;
  }

  /**
   * Adds an object to the account of its project or preview; the caller decrements `objects` when the object is gone.
   * @param name `<project>/<preview>`.
   */
  open(name: string): SocketAccount {
    let account = this.#accounts.get(name);
    if (account === undefined) this.#accounts.set(name, (account = new SocketAccount(this.#memory.open(name))));
    account.objects++;
    return account;
  }

  /** Number of sockets of all accounts. */
  get size(): number {
    let size = 0;
    for (const { open } of this.#accounts.values()) size += open;
    return size;
  }

  /** Drops accounts without an object. */
  sweep(): void {
    for (const [name, { objects, memory }] of this.#accounts) {
      if (objects > 0) continue;
      this.#accounts.delete(name);
      this.#memory.close(memory);
    }
  }
}
