// Byte streams to the host: pumps that read a source and wait when the host's window is used up. bodies-to-guest.ts
// is the other direction.
import { FIELD, RECORD, toHost, type Failure } from '../bridge/protocol.ts';
import { currentContext, runInContext, type Context } from './context.ts';
import type { HostBody } from './host.ts';
import { hasOpenBodies, BodyToGuest } from './bodies-to-guest.ts';
import { records, send } from './records.ts';
import { SafeMap, toJson } from './safe.ts';
import { byteLengthOf as lengthOf } from './free-buffers.ts';
import {
  isReadableStream,
  openReader,
  takeSource,
  type ReadableStream,
  type ReadRequest,
  type StreamReader,
  type StreamSource,
} from './web/streams.ts';
import { encodeUtf8 } from './web/utf8.ts';

/** How many bytes a pump may send before the host must grant credit; equal to the host's limit. */
let windowBytes = 256 * 1024;

export function connectStreams(options: { windowBytes: number }): void {
  windowBytes = options.windowBytes;
}

// These functions are captured before any tenant code can replace them.
const Bytes = Uint8Array;
const { apply } = Reflect;
const setBytes = Uint8Array.prototype.set;

/** Smaller chunks of one entry are joined, because each would cost a copy and a write. */
const JOINED_BYTES_MAX = 16 * 1024;

/** Sends chunks under an id until the host's window is used up. `Source` is the source of the chunks. */
abstract class Pump {
  readonly id: number;
  /** The next pump that buffers chunks until the entry ends. */
  nextHolding: Pump | null = null;
  protected stopped = false;
  #credit = windowBytes;
  #waits = false;
  #context: Context | undefined = currentContext();
  #onEnd: () => void;
  #held: Uint8Array | null = null;
  #heldBytes = 0;

  constructor(id: number, onEnd: () => void) {
    this.id = id;
    this.#onEnd = onEnd;
  }

  /** Sends more chunks while `wantsMore()` is true. */
  abstract run(): void;
  protected abstract cancelSource(reason: unknown): void;

  /** False while the host must grant credit first. */
  protected wantsMore(): boolean {
    if (this.stopped) return false;
    if (this.#credit > 0) return true;
    this.#waits = true;
    return false;
  }

  /** @throws {TypeError} when the worker has detached the chunk. */
  protected take(chunk: Uint8Array): void {
    const bytes = lengthOf(chunk);
    if (bytes === 0) return;
    this.#credit -= bytes;
    if (bytes >= JOINED_BYTES_MAX) {
      this.flush();
      // The chunk is not copied here: the bytes are copied when the entry ends, and the rules of streams forbid a
      // change before that.
      this.#send(chunk);
      return;
    }
    this.#makeRoom(bytes);
    apply(setBytes, this.#held, [chunk, this.#heldBytes]);
    this.#heldBytes += bytes;
  }

  #makeRoom(bytes: number): void {
    if (this.#heldBytes + bytes > JOINED_BYTES_MAX) this.flush();
    const needed = this.#heldBytes + bytes;
    const before = this.#held;
    if (before !== null && lengthOf(before) >= needed) return;
    if (before === null) {
      this.nextHolding = holding;
      hold(this);
    }
    this.#held = new Bytes(needed > 1024 ? JOINED_BYTES_MAX : 1024);
    if (before !== null) apply(setBytes, this.#held, [before, 0]);
  }

  /** Sends buffered chunks. */
  flush(): void {
    if (this.#heldBytes === 0) return;
    const joined = new Bytes(this.#heldBytes);
    apply(setBytes, joined, [new Bytes(this.#held!.buffer, 0, this.#heldBytes)]);
    this.#heldBytes = 0;
    this.#send(joined);
  }

  /** At the end of the entry, all buffered chunks are sent. */
  release(): void {
    this.flush();
    this.#held = null;
    this.nextHolding = null;
  }

  #send(chunk: Uint8Array): void {
    records.meta += toHost.chunk + FIELD + this.id + FIELD + records.part(chunk) + FIELD + RECORD;
  }

  protected end(): void {
    if (this.stopped) return;
    this.flush();
    send(toHost.end, this.id);
    this.#finish();
  }

  protected break(error: unknown): void {
    if (this.stopped) return;
    this.flush();
    send(toHost.broken, this.id, toJson(brokenBy(error)));
    this.#finish();
  }

  #finish(): void {
    this.stopped = true;
    pumps.delete(this.id);
    this.#onEnd();
  }

  credit(bytes: number): void {
    this.#credit += bytes;
    if (this.#credit <= 0 || !this.#waits) return;
    this.#waits = false;
    runInContext(this.#context, () => this.run());
  }

  stop(reason: unknown): void {
    if (this.stopped) return;
    this.stopped = true;
    this.#heldBytes = 0;
    runInContext(this.#context, () => this.cancelSource(reason));
    this.#finish();
  }

  get waitsForCredit(): boolean {
    return this.#waits;
  }
}

/** Pumps with buffered chunks, linked by `nextHolding`. */
let holding: Pump | null = null;

function hold(pump: Pump): void {
  holding = pump;
}

/** At the end of an entry: sends the chunks buffered by pumps. */
export function flushPumps(): void {
  for (let pump = holding; pump !== null;) {
    const next: Pump | null = pump.nextHolding;
    pump.release();
    pump = next;
  }
  holding = null;
}

/** How many bytes of a host stream a pump forwards before it asks the host to forward the rest directly. */
const SPLICE_BYTES_MIN = 128 * 1024;

/** Forwards a body whose bytes are on the host. */
class BodyPump extends Pump {
  #body: HostBody;
  /** The body, if it is a host stream whose chunks have no other reader; otherwise null. */
  #incoming: BodyToGuest | null;
  /** Number of bytes before the pump asks the host to forward the rest; afterwards 0. */
  #bytesLeft = SPLICE_BYTES_MIN;

  constructor(id: number, onEnd: () => void, body: HostBody) {
    super(id, onEnd);
    this.#body = body;
    this.#incoming = body instanceof BodyToGuest ? body : null;
    // The assignment has two steps, because V8 allocates a closure that is directly assigned to a property in the old
    // generation.
    const onSpliced = (): void => this.#handOver();
    if (this.#incoming !== null) this.#incoming.onSpliced = onSpliced;
  }

  run(): void {
    void this.#run();
  }

  async #run(): Promise<void> {
    try {
      while (this.wantsMore()) {
        this.#handOver();
        const chunk = await this.#body.read();
        if (this.stopped) return;
        if (chunk === null) this.end();
        else this.#pass(chunk);
      }
    } catch (error) {
      this.break(error);
    }
  }

  #pass(chunk: Uint8Array): void {
    this.take(chunk);
    if (this.#incoming === null) return;
    records.freeAfterEntry(chunk);
    if (this.#bytesLeft === 0) return;
    const bytes = lengthOf(chunk);
    this.#bytesLeft = bytes < this.#bytesLeft ? this.#bytesLeft - bytes : 0;
    if (this.#bytesLeft === 0) send(toHost.splice, this.#incoming.id, this.id);
  }

  #handOver(): void {
    if (this.#incoming?.takeHandOver() !== true) return;
    this.flush();
    send(toHost.handOver, this.#incoming.id, this.id);
  }

  protected cancelSource(reason: unknown): void {
    this.#body.cancel(reason);
  }
}

/** Reads a worker's stream. Queued chunks are taken without a promise for each. */
class StreamPump extends Pump {
  #reader: StreamReader;
  #isReading = false;
  #isTaken = false;
  // These functions are closures, because a worker that manipulates its stream may obtain them, but must never obtain
  // the pump.
  #request: ReadRequest = {
    _chunkSteps: (chunk) => {
      if (this.stopped) return;
      try {
        this.take(toChunk(chunk));
      } catch (error) {
        this.#reader.cancel(error);
        this.break(error);
        return;
      }
      this.#isTaken = true;
      if (!this.#isReading) this.run();
    },
    _closeSteps: () => this.end(),
    _errorSteps: (error) => this.break(error),
  };

  constructor(id: number, onEnd: () => void, stream: ReadableStream<unknown>) {
    super(id, onEnd);
    this.#reader = openReader(stream);
  }

  run(): void {
    this.#isReading = true;
    do this.#isTaken = false;
    while (this.wantsMore() && (this.#reader.read(this.#request), this.#isTaken));
    this.#isReading = false;
  }

  protected cancelSource(reason: unknown): void {
    this.#reader.cancel(reason);
  }
}

/** Longer bodies cross the bridge in pieces. */
export const WHOLE_BYTES_MAX = 1024 * 1024;
const PIECE_BYTES = 256 * 1024;

/**
 * Makes bytes a body that is sent in pieces, because sending them at once would block the host's main thread, which all
 * deployments share.
 */
export function inPieces(bytes: Uint8Array): HostBody {
  let at = 0;
  return {
    read() {
      const piece = at < bytes.byteLength ? bytes.subarray(at, at + PIECE_BYTES) : null;
      at += PIECE_BYTES;
      return Promise.resolve(piece);
    },
    cancel() {
      at = bytes.byteLength;
    },
  };
}

function toChunk(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  throw new TypeError(
    `A body stream must give Uint8Array chunks, but gave ${value === null ? 'null' : `a ${typeof value}`}`,
  );
}

function brokenBy(error: unknown): Failure {
  const { name, message } = (error ?? {}) as { name?: unknown; message?: unknown };
  return { code: 'worker_threw', name: String(name ?? 'Error'), message: String(message ?? error) };
}

const pumps = new SafeMap<number, Pump>();

/** Sends a body to the host under an id, chunk by chunk. */
export function openPump(id: number, body: HostBody | ReadableStream<unknown>, onEnd: () => void): void {
  const source = isReadableStream(body) ? takeSource(body) : body;
  const pump =
    source === null
      ? new StreamPump(id, onEnd, body as ReadableStream<unknown>)
      : new BodyPump(id, onEnd, toHostBody(source));
  pumps.set(id, pump);
  void begin(pump);
}

function toHostBody(source: StreamSource): HostBody {
  if (typeof source === 'string') return inPieces(encodeUtf8(source));
  return source instanceof Bytes ? inPieces(source) : source;
}

// A stream that has already ended or failed reports this immediately. The record that names the stream, such as that of
// a call, must be sent before.
async function begin(pump: Pump): Promise<void> {
  await undefined;
  pump.run();
}

export function creditPump(id: number, bytes: number): void {
  pumps.get(id)?.credit(bytes);
}

export function cancelPump(id: number): void {
  const error = new Error('The reader of this body no longer exists');
  error.name = 'AbortError';
  pumps.get(id)?.stop(error);
}

/** Whether the host may still send a record about a stream. If so, no invocation is considered hung. */
export function hasOpenStreams(): boolean {
  if (hasOpenBodies()) return true;
  let waits = false;
  pumps.forEach((pump) => {
    waits ||= pump.waitsForCredit;
  });
  return waits;
}
