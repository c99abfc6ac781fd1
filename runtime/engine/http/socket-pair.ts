// Two connected socket wires in this process, for messages between workers: for an RPC session, or for a WebSocket that
// a service binding or a durable object opens. Created by session-exchange.ts and loopback-exchange.ts.
import type { HostMemory } from '../bridge/host-memory.ts';
import type { Part } from '../bridge/protocol.ts';
import type { SocketEvents, SocketWire } from '../bridge/sockets.ts';

/** Memory of a waiting message besides its bytes. */
const MESSAGE_BYTES = 64;

/** One end. */
export class PairedWire implements SocketWire {
  /** The other end, at which messages of this end arrive. */
  other!: PairedWire;
  /**
   * The memory account for the messages of this end until the isolate has received them; null if it is not known yet.
   */
  memory: HostMemory | null = null;
  /** Called when the socket is closed, from either side. */
  onClosed: ((code: number, reason: string) => void) | null = null;
  /** Called when the other end pauses and resumes reading. */
  onPaused: ((isPaused: boolean) => void) | null = null;
  /** Where incoming messages are forwarded; null means that they stay here. */
  next: SocketWire | null = null;
  /** Messages that wait until the socket is attached, even if it has already ended. */
  isUnread = false;
  /** Called when the other end has received everything that this end sent. */
  onDrain: (() => void) | null = null;
  #events: SocketEvents | null = null;
  #waiting: Part[] = [];
  #waitingBytes = 0;
  #paused = true;
  #closing: { readonly code: number; readonly reason: string } | null = null;
  #isOver = false;

  /** Attaches the isolate that reads from this end. */
  attach(events: SocketEvents): void {
    this.#events = events;
    this.isUnread = false;
    this.resume();
  }

  send(data: Part): void {
    this.other.#receive(data);
  }

  close(code: number, reason: string): void {
    if (this.#isOver) return;
    this.other.#close(code, reason);
    // The end is handled like a completed closing handshake, but later, because the caller may be iterating over its
    // sockets.
    queueMicrotask(() => this.#over(code, reason));
  }

  /** Called when the connection behind this end broke. */
  cut(message: string | null = null): void {
    if (this.#isOver) return;
    if (message !== null) this.other.#events?.failed(message);
    this.other.#over(1006, '', false);
    this.#over(1006, '', false);
  }

  pause(): void {
    this.#paused = true;
    this.other.onPaused?.(true);
  }

  resume(): void {
    this.#paused = false;
    this.other.onPaused?.(false);
    while (!this.#paused && this.#waiting.length > 0) {
      const data = this.#waiting.shift()!;
      this.#waitingBytes -= MESSAGE_BYTES + data.length;
      this.#deliver(data);
    }
    if (this.#waiting.length > 0) return;
    if (this.#closing !== null) this.#over(this.#closing.code, this.#closing.reason);
    else this.other.onDrain?.();
  }

  /** Number of sent bytes that the other end has not received. */
  get bufferedBytes(): number {
    return this.other.#waitingBytes + (this.other.next?.bufferedBytes ?? 0);
  }

  #receive(data: Part): void {
    if (this.#isOver || this.#closing !== null) return;
    if (!this.#paused && this.#waiting.length === 0) {
      this.#deliver(data);
      return;
    }
    this.#waiting.push(data);
    this.#waitingBytes += MESSAGE_BYTES + data.length;
  }

  #deliver(data: Part): void {
    if (this.memory === null || this.memory.hasRoom(data.length)) this.#events!.message(data);
    else {
      this.other.#close(1013, 'Too slow');
      this.#over(1013, 'Too slow');
    }
  }

  #close(code: number, reason: string): void {
    this.#closing ??= { code, reason };
    if (this.isUnread) return;
    if (this.#events === null) this.#waiting.length = 0;
    if (this.#waiting.length > 0) return;
    queueMicrotask(() => this.#over(code, reason));
  }

  #over(code: number, reason: string, clean = true): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#waiting.length = 0;
    this.#waitingBytes = 0;
    this.#events?.closed(code, reason, clean);
    this.onClosed?.(code, reason);
  }
}

/** Two joined ends. */
export function createSocketPair(): readonly [PairedWire, PairedWire] {
  const [one, other] = [new PairedWire(), new PairedWire()];
  one.other = other;
  other.other = one;
  return [one, other];
}
