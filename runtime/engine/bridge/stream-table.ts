// The byte streams over one isolate's bridge by number: request bodies and other streams into the guest, and streams
// out of it. Limits the number of streams, and reads the guest's records about them. Used by link.ts.
import { PlatformError } from '#core/errors.ts';
import type { GuestStream } from './host-calls.ts';
import type { HostMemory } from './host-memory.ts';
import type { HostRecords } from './host-records.ts';
import { InFlight } from '#core/in-flight.ts';
import { toGuest, toHost, type Failure, type Part, type RecordReader } from './protocol.ts';
import { Diversion, StreamToGuest, StreamToHost, type ByteSink, type ByteSource } from './streams.ts';

/** Memory of an open stream besides its queued bytes. */
const STREAM_BYTES = 16 * 1024;

// Ids of streams opened by the host are above all invocation ids, which also identify request bodies.
const FIRST_STREAM = 2 ** 45;

/** Dependencies of a table. */
interface StreamTableDeps {
  readonly memory: HostMemory;
  readonly records: HostRecords;
  readonly limits: { readonly streamWindowBytes: number; readonly streamsMax: number };
  /** Whether more bytes may wait on the host. */
  readonly hasRoom: () => boolean;
  /** Whether a deferred call may still name a stream that has no receiver yet. */
  readonly mayComeEarly: () => boolean;
  /** Adds a record to the next entry. */
  readonly send: (letter: string, ...fields: (string | number)[]) => void;
}

/** Data of a stream that arrived before the call that names the stream began: at most a window, and the end. */
interface EarlyStream {
  readonly chunks: Part[];
  bytes: number;
  isEnded: boolean;
  /** Why the stream broke, or null. */
  failure: string | null;
}

export class StreamTable {
  #deps: StreamTableDeps;
  /** Request bodies, by invocation number. */
  #bodies = new InFlight<StreamToGuest>();
  #toGuest = new InFlight<StreamToGuest>(FIRST_STREAM);
  // This is a Map, because the guest chooses the numbers.
  #toHost = new Map<number, StreamToHost>();
  #early = new Map<number, EarlyStream>();
  #closed = false;

  constructor(deps: StreamTableDeps) {
    this.#deps = deps;
  }

  /** Opens the body of a request that was sent with `undefined`. */
  openBody(id: number, source: ByteSource): GuestStream {
    const stream = new StreamToGuest(source, this.#deps.limits.streamWindowBytes);
    this.#bodies.put(id, stream);
    return this.#guestStream(id, stream, () => this.#bodies.remove(id));
  }

  /** Called when the rest of a request's body will not arrive: the guest drops the part that it has. */
  breakBody(id: number, failure: Failure): void {
    if (this.#bodies.size > 0 && this.#bodies.remove(id) !== undefined)
      this.#deps.send(toGuest.broken, id, JSON.stringify(failure));
  }

  /** @throws {PlatformError} `quota_exceeded`, `host_memory_exceeded`. */
  open(source: ByteSource): GuestStream {
    const { streamsMax } = this.#deps.limits;
    if (this.#toGuest.size >= streamsMax)
      throw new PlatformError('quota_exceeded', { what: 'Another open stream', limit: streamsMax });
    this.#deps.memory.reserve(STREAM_BYTES, 'A stream');
    const stream = new StreamToGuest(source, this.#deps.limits.streamWindowBytes);
    const id = this.#toGuest.add(stream);
    return this.#guestStream(id, stream, () => this.#removeStream(id));
  }

  #removeStream(id: number): StreamToGuest | undefined {
    const stream = this.#toGuest.remove(id);
    if (stream !== undefined) this.#deps.memory.release(STREAM_BYTES);
    return stream;
  }

  #guestStream(id: number, stream: StreamToGuest, close: () => void): GuestStream {
    return {
      id,
      write: (chunk, transfer = false) => {
        if (this.#closed) return true;
        if (stream.diversion !== null) return stream.diversion.write(chunk, transfer);
        const { records, send, hasRoom } = this.#deps;
        send(toGuest.chunk, id, transfer ? records.transferredPart(chunk) : records.part(chunk));
        const isOpen = stream.sent(chunk.byteLength);
        return hasRoom() ? isOpen : stream.pause();
      },
      end: () => {
        close();
        this.#deps.send(toGuest.end, id);
      },
      break: (failure) => {
        close();
        this.#deps.send(toGuest.broken, id, JSON.stringify(failure));
      },
    };
  }

  /** Connects a stream from the guest to a receiver. */
  receive(id: number, sink: ByteSink): StreamToHost {
    // If a guest reuses a number, the previous stream must not stay pending.
    this.#toHost.get(id)?.sink.destroy('stream number used again');
    const stream = new StreamToHost(sink, this.#deps.limits.streamWindowBytes, (bytes) =>
      this.#deps.send(toGuest.credit, id, bytes),
    );
    this.#toHost.set(id, stream);
    const early = this.#early.get(id);
    if (early !== undefined) {
      this.#dropEarly(id, early);
      // The receiver gets its stream only when this function returns.
      queueMicrotask(() => this.#replay(id, stream, early));
    }
    return stream;
  }

  #replay(id: number, stream: StreamToHost, { chunks, isEnded, failure }: EarlyStream): void {
    for (const chunk of chunks) if (this.#toHost.get(id) === stream) stream.chunk(chunk);
    if (this.#toHost.get(id) !== stream || (!isEnded && failure === null)) return;
    this.#toHost.delete(id);
    if (failure === null) stream.sink.end();
    else stream.sink.destroy(failure);
  }

  /** Early data of a stream; undefined if no deferred call can name it. */
  #earlyStream(id: number): EarlyStream | undefined {
    if (this.#toHost.has(id) || !this.#deps.mayComeEarly()) return undefined;
    const known = this.#early.get(id);
    if (known !== undefined) return known;
    const early: EarlyStream = { chunks: [], bytes: 0, isEnded: false, failure: null };
    this.#early.set(id, early);
    return early;
  }

  #keepEarly(early: EarlyStream, chunk: Part): void {
    if (early.failure !== null || early.isEnded) return;
    try {
      if (early.bytes >= this.#deps.limits.streamWindowBytes)
        throw new PlatformError('quota_exceeded', { what: 'A stream', limit: this.#deps.limits.streamWindowBytes });
      this.#deps.memory.reserve(chunk.length, 'A body that is sent');
    } catch (error) {
      early.failure = (error as Error).message;
      return;
    }
    early.bytes += chunk.length;
    early.chunks.push(chunk);
  }

  #dropEarly(id: number, { bytes }: EarlyStream): void {
    this.#early.delete(id);
    this.#deps.memory.release(bytes);
  }

  /** Called when no call is deferred any more: remaining early data has no receiver. */
  allBegun(): void {
    for (const [id, early] of this.#early) this.#dropEarly(id, early);
  }

  /** Whether a stream from the guest is still open. */
  isReceiving(id: number): boolean {
    return this.#toHost.has(id);
  }

  /** Cancels a stream from the guest. */
  cancel(id: number): void {
    if (this.#toHost.delete(id)) this.#deps.send(toGuest.cancel, id);
  }

  /** Reads the fields of a record about a stream; returns false for any other record. */
  read(letter: string, reader: RecordReader): boolean {
    switch (letter) {
      case toHost.chunk: {
        const id = reader.number();
        const chunk = reader.part(reader.field()) as Part;
        const stream = this.#toHost.get(id);
        if (stream !== undefined) stream.chunk(chunk);
        else {
          const early = this.#earlyStream(id);
          if (early !== undefined) this.#keepEarly(early, chunk);
        }
        break;
      }
      case toHost.end: {
        const id = reader.number();
        const early = this.#earlyStream(id);
        if (early === undefined) this.#takeStream(id)?.sink.end();
        else early.isEnded = true;
        break;
      }
      case toHost.broken: {
        const id = reader.number();
        const failure = reader.json() as Failure;
        const early = this.#earlyStream(id);
        if (early === undefined) this.#takeStream(id)?.sink.destroy(failure.message);
        else early.failure ??= failure.message;
        break;
      }
      case toHost.credit: {
        const id = reader.number();
        const bytes = reader.number();
        (this.#bodies.get(id) ?? this.#toGuest.get(id))?.credit(bytes);
        break;
      }
      case toHost.cancel: {
        const id = reader.number();
        (this.#bodies.remove(id) ?? this.#removeStream(id))?.source.cancel();
        break;
      }
      case toHost.splice: {
        const id = reader.number();
        const to = reader.number();
        this.#splice(id, to);
        break;
      }
      case toHost.handOver:
        reader.number();
        this.#toHost.get(reader.number())?.diversion?.handOver();
        break;
      default:
        return false;
    }
    return true;
  }

  #takeStream(id: number): StreamToHost | undefined {
    const stream = this.#toHost.get(id);
    this.#toHost.delete(id);
    return stream;
  }

  /**
   * Connects a stream into the guest directly to a stream out of it. If the host sends no reply, the guest forwards the
   * bytes itself.
   */
  #splice(id: number, to: number): void {
    const from = this.#bodies.get(id) ?? this.#toGuest.get(id);
    const stream = this.#toHost.get(to);
    if (from === undefined || stream === undefined || from.diversion !== null || stream.diversion !== null) return;
    void new Diversion(from, stream, () => this.#toHost.get(to) === stream);
    this.#deps.send(toGuest.spliced, id);
  }

  /** Called when the isolate has ended. */
  close(): void {
    this.#closed = true;
    for (const stream of [...this.#bodies.values(), ...this.#toGuest.values()]) stream.source.cancel();
    this.#deps.memory.release(this.#toGuest.size * STREAM_BYTES);
    this.#bodies = new InFlight();
    this.#toGuest = new InFlight(FIRST_STREAM);
    for (const stream of this.#toHost.values()) stream.sink.destroy('isolate disposed');
    this.#toHost.clear();
    this.allBegun();
  }
}
