// Sends bytes of a TCP socket to the host: writes wait until the host has room, and while TLS starts.
import type { HostBody } from '../../host.ts';

/** Larger writes cross the bridge in pieces, each when the host has room. */
const PIECE_BYTES = 128 * 1024;

/** One pending write. */
interface Write {
  readonly bytes: Uint8Array;
  at: number;
  next: Write | null;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Pending writes, in order. */
class Writes {
  first: Write | null = null;
  last: Write | null = null;

  add(write: Write): void {
    if (this.last === null) this.first = write;
    else this.last.next = write;
    this.last = write;
  }

  shift(): void {
    this.first = this.first!.next;
    if (this.first === null) this.last = null;
  }
}

/** Sends bytes to the host, in pieces. */
export class Outgoing implements HostBody {
  /** Number of bytes that were accepted, and that the host will receive. */
  sent = 0;
  #writes = new Writes();
  /** While TLS starts, the writes that must follow it. */
  #later: Writes | null = null;
  #waiter: ((piece: Uint8Array | null) => void) | null = null;
  #isEnded = false;
  #failure: { readonly error: unknown } | null = null;
  /** Called when no write is pending any more. */
  #onIdle: (() => void) | null = null;
  #freeAfterEntry: (bytes: Uint8Array) => void;

  constructor(freeAfterEntry: (bytes: Uint8Array) => void) {
    this.#freeAfterEntry = freeAfterEntry;
  }

  write(bytes: Uint8Array): Promise<void> {
    if (this.#failure !== null) return Promise.reject(this.#failure.error);
    if (this.#isEnded) return Promise.reject(codedError('EPIPE', 'This socket has been ended by this side'));
    return new Promise((resolve, reject) => {
      (this.#later ?? this.#writes).add({ bytes, at: 0, next: null, resolve, reject });
      this.#serve();
    });
  }

  read(): Promise<Uint8Array | null> {
    return new Promise((resolve) => {
      this.#waiter = resolve;
      this.#serve();
    });
  }

  /** Gives the next piece to a waiting reader. */
  #serve(): void {
    const waiter = this.#waiter;
    if (waiter === null) return;
    const writes = this.#writes;
    // When the reader asks for the next piece, it has taken the previous one.
    while (writes.first !== null && writes.first.at >= writes.first.bytes.byteLength) {
      writes.first.resolve();
      writes.shift();
    }
    const write = writes.first;
    if (write === null) {
      const onIdle = this.#onIdle;
      this.#onIdle = null;
      onIdle?.();
      if (this.#later !== null || !this.#isEnded) return;
      this.#waiter = null;
      waiter(null);
      return;
    }
    this.#waiter = null;
    // The bytes are copied, because the writer may change them after the write, and they cross the bridge only when the
    // entry ends.
    const piece = write.bytes.slice(write.at, write.at + PIECE_BYTES);
    write.at += PIECE_BYTES;
    this.sent += piece.byteLength;
    this.#freeAfterEntry(piece);
    waiter(piece);
  }

  end(): void {
    this.#isEnded = true;
    this.#serve();
  }

  /** Holds back further writes; resolves when the earlier writes are sent. */
  hold(): Promise<void> {
    this.#later = new Writes();
    return new Promise((resolve) => {
      this.#onIdle = resolve;
      this.#serve();
    });
  }

  /** Sends the data that was held back. */
  release(): void {
    const later = this.#later;
    this.#later = null;
    if (later !== null && this.#writes.first === null) this.#writes = later;
    this.#serve();
  }

  break(error: unknown): void {
    if (this.#failure !== null) return;
    this.#failure = { error };
    this.#isEnded = true;
    for (let write = this.#writes.first; write !== null; write = write.next) write.reject(error);
    for (let write = this.#later?.first ?? null; write !== null; write = write.next) write.reject(error);
    this.#writes = new Writes();
    this.#later = null;
    this.#serve();
  }

  cancel(): void {
    this.break(codedError('ECONNRESET', 'The connection was closed'));
  }
}

/** An error with a code of Node. */
export function codedError(code: string, message: string): Error & { code: string } {
  const error = new Error(message) as Error & { code: string };
  Object.defineProperty(error, 'code', { value: code, configurable: true, writable: true, enumerable: true });
  return error;
}
