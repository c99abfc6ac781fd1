// The host's end of byte streams over the bridge. To the guest, chunks are sent until its window is used up; then the
// source pauses until credit returns. From the guest, chunks go to a sink, and the guest gets credit as the sink takes
// them.

/** Destination of bytes from a guest: a response's socket, or the body of an outgoing request. */
export interface ByteSink {
  /**
   * Returns false if the guest gets no more credit until `onDrain`. With `transfer`, the caller no longer uses the
   * chunk, so its memory may be freed.
   */
  write(chunk: Uint8Array | string, transfer?: boolean): boolean;
  end(): void;
  /** Called when the guest's source failed. */
  destroy(reason: string): void;
}

/** Source of bytes for a guest: a request's body, or the body of a fetched response. */
export interface ByteSource {
  /** Called when the guest accepts more bytes. */
  resume(): void;
  /** Called when the guest stops reading. */
  cancel(): void;
}

/** Counts the window of one stream into a guest. */
export class StreamToGuest {
  readonly source: ByteSource;
  #windowBytes: number;
  #inFlight = 0;
  #paused = false;
  /** Destination of its chunks instead of the guest. */
  diversion: Diversion | null = null;

  constructor(source: ByteSource, windowBytes: number) {
    this.source = source;
    this.#windowBytes = windowBytes;
  }

  /** Counts a chunk as sent; false when the source should pause. */
  sent(bytes: number): boolean {
    this.#inFlight += bytes;
    if (this.#inFlight >= this.#windowBytes) this.#paused = true;
    return !this.#paused;
  }

  /**
   * Called when another limit is reached: the source waits until the guest has read half a window, as if the window
   * were used up.
   */
  pause(): false {
    this.#paused = true;
    return false;
  }

  credit(bytes: number): void {
    this.#inFlight -= checkedCredit(bytes, this.#inFlight);
    if (this.diversion !== null || !this.#paused || this.#inFlight > this.#windowBytes / 2) return;
    this.#paused = false;
    this.source.resume();
  }
}

/**
 * Validates the bytes that a guest reports as read, never more than were sent: otherwise it could enlarge its window
 * at will.
 *
 * @throws {Error} when the credit is too large, or not a number.
 */
export function checkedCredit(bytes: number, inFlight: number): number {
  if (!(bytes >= 0 && bytes <= inFlight)) throw new Error(`guest credited ${bytes} bytes, ${inFlight} are in flight`);
  return bytes;
}

/** Counts the credit of one stream out of a guest. */
export class StreamToHost {
  readonly sink: ByteSink;
  /** Source of chunks that bypass the guest. */
  diversion: Diversion | null = null;
  #owed = 0;
  #blocked = false;
  #payBytes: number;
  #giveCredit: (bytes: number) => void;

  constructor(sink: ByteSink, windowBytes: number, giveCredit: (bytes: number) => void) {
    this.sink = sink;
    // Credit is collected, because each small amount would cost an entry.
    this.#payBytes = windowBytes / 2;
    this.#giveCredit = giveCredit;
  }

  get isBlocked(): boolean {
    return this.#blocked;
  }

  /** Takes a chunk that bypassed the guest; returns false when its source should pause. */
  pass(chunk: Uint8Array, transfer: boolean): boolean {
    if (!this.sink.write(chunk, transfer)) this.#blocked = true;
    return !this.#blocked;
  }

  chunk(chunk: Uint8Array | string): void {
    this.#owed += chunk.length;
    if (!this.sink.write(chunk, true)) this.#blocked = true;
    this.#pay();
  }

  /** Called when the sink accepts more bytes again. */
  drained(): void {
    this.#blocked = false;
    this.#pay();
    this.diversion?.drained();
  }

  #pay(): void {
    if (this.#blocked || this.#owed < this.#payBytes) return;
    const bytes = this.#owed;
    this.#owed = 0;
    this.#giveCredit(bytes);
  }
}

/**
 * Connects a stream into a guest directly to a stream out of it, bypassing the guest. This is for data that a worker
 * only forwards, such as a file as its response. The end and the failure of the stream still pass through the guest,
 * after the bytes.
 */
export class Diversion {
  readonly #from: StreamToGuest;
  readonly #to: StreamToHost;
  readonly #isOpen: () => boolean;
  /** Chunks that arrive before the guest has forwarded everything that it received. */
  #held: { readonly chunk: Uint8Array; readonly transfer: boolean }[] | null = [];

  /** @param isOpen whether the output still has a reader. */
  constructor(from: StreamToGuest, to: StreamToHost, isOpen: () => boolean) {
    this.#from = from;
    this.#to = to;
    this.#isOpen = isOpen;
    from.diversion = this;
    to.diversion = this;
  }

  /** Returns false when the source should pause. */
  write(chunk: Uint8Array, transfer: boolean): boolean {
    if (this.#held === null) return this.#isOpen() && this.#to.pass(chunk, transfer);
    this.#held.push({ chunk, transfer });
    return false;
  }

  handOver(): void {
    const held = this.#held;
    if (held === null) return;
    this.#held = null;
    for (const { chunk, transfer } of held) this.#to.pass(chunk, transfer);
    if (!this.#to.isBlocked) this.#from.source.resume();
  }

  drained(): void {
    if (this.#held === null) this.#from.source.resume();
  }
}
