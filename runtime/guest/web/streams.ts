// The streams classes come from web-streams-polyfill (figures against Node: bench/README.md, npm run test:wpt streams); this
// file adds what bodies need: reading its internal slots, streams over host bodies and bytes.
import { ReadableStream, ReadableStreamDefaultController } from 'web-streams-polyfill';
import type { HostBody } from '../host.ts';

export {
  ByteLengthQueuingStrategy,
  CountQueuingStrategy,
  ReadableByteStreamController,
  ReadableStream,
  ReadableStreamBYOBReader,
  ReadableStreamBYOBRequest,
  ReadableStreamDefaultController,
  ReadableStreamDefaultReader,
  TransformStream,
  TransformStreamDefaultController,
  WritableStream,
  WritableStreamDefaultController,
  WritableStreamDefaultWriter,
} from 'web-streams-polyfill';

// The polyfill's asynchronous iterators are plain objects; in the standard they inherit from the language's own.
const asyncGenerator = Object.getPrototypeOf(async function* () {}) as { prototype: object };
Object.setPrototypeOf(
  Object.getPrototypeOf(new ReadableStream().values()) as object,
  Object.getPrototypeOf(asyncGenerator.prototype) as object,
);

interface Slots {
  readonly _disturbed: boolean;
  readonly _readableStreamController: object;
}

const lockedGetter = Object.getOwnPropertyDescriptor(ReadableStream.prototype, 'locked')!.get!;

export function isReadableStream(value: unknown): value is ReadableStream<unknown> {
  return (
    typeof value === 'object' && value !== null && Object.hasOwn(value, '_readableStreamController') && value instanceof ReadableStream
  );
}

/** Whether a stream has a reader. */
export function isLocked(stream: ReadableStream<unknown>): boolean {
  return lockedGetter.call(stream) as boolean;
}

/** Whether a stream was ever read from or cancelled. */
export function isDisturbed(stream: ReadableStream<unknown>): boolean {
  return (stream as unknown as Slots)._disturbed;
}

/** What becomes of one read; called at once where a chunk lies in the queue. */
export interface ReadRequest {
  _chunkSteps(chunk: unknown): void;
  _closeSteps(): void;
  _errorSteps(error: unknown): void;
}

/** A reader that needs no promise per chunk. */
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

const pullSteps = Object.getOwnPropertySymbols(ReadableStreamDefaultController.prototype).find(
  ({ description }) => description === '[[PullSteps]]',
)!;

/** Locks a stream and reads it as the standard's own algorithms do. @throws {TypeError} when it is locked. */
export function openReader(stream: ReadableStream<unknown>): StreamReader {
  const reader = stream.getReader();
  const slots = stream as unknown as ReadableSlots;
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

/** A byte stream over bytes that lie on the host; nothing is pulled before somebody reads. */
export function streamFromHostBody(body: HostBody): ReadableStream<Uint8Array> {
  return new ReadableStream({
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
}

/** A byte stream of one chunk, made when it is asked for. The buffer is the stream's own from then on. */
export function streamFromBytes(make: () => Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream({
    type: 'bytes',
    pull(controller) {
      const bytes = make();
      if (bytes.byteLength > 0) controller.enqueue(bytes as Uint8Array<ArrayBuffer>);
      controller.close();
      if (bytes.byteLength === 0) controller.byobRequest?.respond(0);
    },
  });
}

/** A stream whose content was consumed some other way: disturbed, locked and at its end. */
export function createSpentStream(): ReadableStream<Uint8Array> {
  const stream = new ReadableStream<Uint8Array>({ type: 'bytes' });
  void stream.cancel();
  stream.getReader();
  return stream;
}

/**
 * All bytes of a stream, which gets locked for good.
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

/** All bytes of a body on the host, without a stream in between. */
export async function readHostBody(body: HostBody): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  for (let chunk = await body.read(); chunk !== null; chunk = await body.read()) chunks.push(chunk);
  return concatenate(chunks);
}

function concatenate(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  if (chunks.length === 1 && chunks[0]!.byteLength === chunks[0]!.buffer.byteLength) return chunks[0] as Uint8Array<ArrayBuffer>;
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
