// Streams in RPC messages. The side with the stream keeps it and passes plain functions; the other side gets a stream
// of the same kind that calls them. Each chunk is one call, so that a slow reader slows the writer down.
import type { ReadableStream, WritableStream } from 'web-streams-polyfill';
import { loader } from '../../modules.ts';
import { createByteStream } from '../../web/streams.ts';
import { encodeUtf8 } from '../../web/utf8.ts';

/** The functions of a readable stream. */
interface Source {
  read(): Promise<unknown>;
  cancel(reason: unknown): Promise<void>;
}

/** The functions of a writable stream. */
interface Sink {
  write(chunk: unknown): Promise<void>;
  close(): Promise<void>;
  abort(reason: unknown): Promise<void>;
}

/** Sends a call to the other side's functions. */
type Call = (method: string, args: readonly unknown[]) => PromiseLike<unknown>;

interface StreamClasses {
  readonly WritableStream: typeof WritableStream;
}

export function isWritableStream(value: object): boolean {
  return (
    Object.hasOwn(value, '_writableStreamController') &&
    value instanceof (loader.load('streams') as StreamClasses).WritableStream
  );
}

/** @throws {TypeError} when the stream is locked. */
export function sourceOf(stream: object): Source {
  const reader = (stream as ReadableStream).getReader();
  return {
    async read() {
      const { done, value } = await reader.read();
      if (done) return null;
      if (typeof value === 'string' || ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return value;
      const error = new TypeError('Only bytes can be streamed to another worker');
      reader.cancel(error).catch(() => {});
      throw error;
    },
    cancel: (reason) => reader.cancel(reason),
  };
}

/** @throws {TypeError} when the stream is locked. */
export function sinkOf(stream: object): Sink {
  const writer = (stream as WritableStream).getWriter();
  return {
    write: (chunk) => writer.write(chunk),
    close: () => writer.close(),
    abort: (reason) => writer.abort(reason),
  };
}

/** @param release called when the other side's functions are no longer needed. */
export function readableOver(call: Call, release: () => void): object {
  return createByteStream({
    type: 'bytes',
    async pull(controller) {
      let chunk: unknown;
      try {
        chunk = await call('read', []);
      } catch (error) {
        release();
        throw error;
      }
      if (chunk === null) {
        release();
        controller.close();
        // A reader with its own buffer waits for a response.
        controller.byobRequest?.respond(0);
        return;
      }
      const bytes = bytesOf(chunk);
      if (bytes.byteLength > 0) controller.enqueue(bytes as never);
    },
    async cancel(reason) {
      try {
        await call('cancel', [reason]);
      } finally {
        release();
      }
    },
  });
}

/** @param release called when the other side's functions are no longer needed. */
export function writableOver(call: Call, release: () => void): object {
  const classes = loader.load('streams') as StreamClasses;
  return new classes.WritableStream({
    async write(chunk) {
      await call('write', [chunk]);
    },
    async close() {
      try {
        await call('close', []);
      } finally {
        release();
      }
    },
    async abort(reason) {
      try {
        await call('abort', [reason]);
      } finally {
        release();
      }
    },
  });
}

function bytesOf(chunk: unknown): Uint8Array {
  if (typeof chunk === 'string') return encodeUtf8(chunk);
  if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk);
  if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer as ArrayBuffer, chunk.byteOffset, chunk.byteLength);
  throw new TypeError('Only bytes can be streamed to another worker');
}
