// Stream functions for bodies: they read internal slots, and create streams over host bodies and bytes. The classes
// themselves are in ../lazy/streams.ts and are loaded with the first stream.
import type { ReadableStream, UnderlyingByteSource } from 'web-streams-polyfill';
import type { HostBody } from '../host.ts';
import { freeBuffer } from '../free-buffers.ts';
import { encodeUtf8 } from './utf8.ts';

export type { ReadableStream } from 'web-streams-polyfill';

/** Exports of the classes' module that this file needs. */
interface StreamClasses {
  readonly ReadableStream: typeof ReadableStream;
  /** The getter of `locked`, which script may replace on the prototype. */
  readonly locked: () => unknown;
  /** Name of the algorithm of controllers that takes a read request. */
  readonly pullSteps: symbol;
}

/** Loads the classes, which calls `provideStreams`; filled in by lazy.ts. */
export const streamModule = {
  load(): void {
    throw new Error('There are no streams yet');
  },
};

let classes: StreamClasses | null = null;

export function provideStreams(made: StreamClasses): void {
  classes = made;
}

function streams(): StreamClasses {
  if (classes === null) streamModule.load();
  return classes as unknown as StreamClasses;
}

interface Slots {
  readonly _disturbed: boolean;
  readonly _readableStreamController: object;
}

export function isReadableStream(value: unknown): value is ReadableStream<unknown> {
  return (
    classes !== null &&
    typeof value === 'object' &&
    value !== null &&
    Object.hasOwn(value, '_readableStreamController') &&
    value instanceof classes.ReadableStream
  );
}

/** Whether a stream has a reader. */
export function isLocked(stream: ReadableStream<unknown>): boolean {
  return streams().locked.call(stream) as boolean;
}

/** Whether a stream was ever read or cancelled. */
export function isDisturbed(stream: ReadableStream<unknown>): boolean {
  return (stream as unknown as Slots)._disturbed;
}

/** Callbacks for one read; called synchronously if a chunk is queued. */
export interface ReadRequest {
  _chunkSteps(chunk: unknown): void;
  _closeSteps(): void;
  _errorSteps(error: unknown): void;
}

/** A reader that needs no promise for each chunk. */
export interface StreamReader {
  read(request: ReadRequest): void;
  cancel(reason: unknown): void;
}

interface ReadableSlots {
  _disturbed: boolean;
  readonly _state: string;
  readonly _storedError: unknown;
  readonly _readableStreamController: Record<symbol, (request: ReadRequest) => void>;
}

/** Locks a stream and reads it as the standard's own algorithms do. @throws {TypeError} when the stream is locked. */
export function openReader(stream: ReadableStream<unknown>): StreamReader {
  const reader = stream.getReader();
  const slots = stream as unknown as ReadableSlots;
  const { pullSteps } = streams();
  return {
    read(request) {
      slots._disturbed = true;
      if (slots._state === 'closed') request._closeSteps();
      else if (slots._state === 'errored') request._errorSteps(slots._storedError);
      else slots._readableStreamController[pullSteps]!(request);
    },
    cancel(reason) {
      reader.cancel(reason).catch(() => {});
    },
  };
}

/** The source of a byte stream, as in the standard. */
export function createByteStream(source: UnderlyingByteSource): ReadableStream<Uint8Array> {
  return new (streams().ReadableStream)(source);
}

/** The content of a platform stream, which is available without the stream while it is unread. */
export type StreamSource = string | Uint8Array | HostBody;

let sourceOf: (stream: object) => StreamSource | null;
/** Whether a stream is a platform stream with known content. */
export let hasSource: (stream: object) => boolean;

class Returned {
  constructor(stream: object) {
    return stream;
  }
}

/** Stores a stream's source out of reach of script: in a private field of the stream itself. */
class SourcedStream extends Returned {
  #source: () => StreamSource;

  constructor(stream: object, source: () => StreamSource) {
    super(stream);
    this.#source = source;
  }

  static {
    hasSource = (stream) => #source in stream;
    sourceOf = (stream) => (#source in stream ? (stream as SourcedStream).#source() : null);
  }
}

/** Takes the source of an unread platform stream, which counts as read afterwards; null for any other stream. */
export function takeSource(stream: ReadableStream<unknown>): StreamSource | null {
  const slots = stream as unknown as ReadableSlots;
  if (slots._disturbed || slots._state !== 'readable' || isLocked(stream)) return null;
  const source = sourceOf(stream);
  if (source === null) return null;
  stream.getReader();
  slots._disturbed = true;
  return source;
}

/** Creates a byte stream over bytes on the host; no bytes are requested before the stream is read. */
export function streamFromHostBody(body: HostBody): ReadableStream<Uint8Array> {
  const stream = createByteStream({
    type: 'bytes',
    async pull(controller) {
      const chunk = await body.read();
      if (chunk === null) {
        controller.close();
        controller.byobRequest?.respond(0);
      } else if (chunk.byteLength > 0) controller.enqueue(chunk as Uint8Array<ArrayBuffer>);
      else await this.pull!(controller);
    },
    cancel(reason) {
      body.cancel(reason);
    },
  });
  void new SourcedStream(stream, () => body);
  return stream;
}

/**
 * Creates a byte stream of one chunk, which is made on demand. The buffer belongs to the stream, or to a caller that
 * takes the source back.
 */
export function streamFromContent(source: () => string | Uint8Array): ReadableStream<Uint8Array> {
  const stream = createByteStream({
    type: 'bytes',
    pull(controller) {
      const content = source();
      const bytes = typeof content === 'string' ? encodeUtf8(content) : content;
      if (bytes.byteLength > 0) controller.enqueue(bytes as Uint8Array<ArrayBuffer>);
      controller.close();
      if (bytes.byteLength === 0) controller.byobRequest?.respond(0);
    },
  });
  void new SourcedStream(stream, source);
  return stream;
}

/** Creates a stream whose content was consumed in another way: it is disturbed, locked and closed. */
export function createSpentStream(): ReadableStream<Uint8Array> {
  const stream = createByteStream({ type: 'bytes' });
  void stream.cancel();
  stream.getReader();
  return stream;
}

/**
 * Reads all bytes of a stream, which stays locked.
 *
 * @throws {TypeError} when a chunk is not a Uint8Array.
 */
export async function readAllBytes(stream: ReadableStream<unknown>): Promise<Uint8Array<ArrayBuffer>> {
  const reader = stream.getReader();
  const chunks: Uint8Array[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return concatenate(chunks);
    if (!(value instanceof Uint8Array)) {
      const error = new TypeError('A body stream gave a chunk that is not a Uint8Array');
      reader.cancel(error).catch(() => {});
      throw error;
    }
    chunks.push(value);
  }
}

/** Reads all bytes of a body on the host, without a stream in between. */
export async function readHostBody(body: HostBody): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  for (let chunk = await body.read(); chunk !== null; chunk = await body.read()) chunks.push(chunk);
  const whole = concatenate(chunks);
  for (const chunk of chunks) if (chunk !== whole) freeBuffer(chunk);
  return whole;
}

function concatenate(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  if (chunks.length === 1 && chunks[0]!.byteLength === chunks[0]!.buffer.byteLength)
    return chunks[0] as Uint8Array<ArrayBuffer>;
  let size = 0;
  for (const chunk of chunks) size += chunk.byteLength;
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}
