// The host half of CompressionStream: one zlib stream for each open codec, held in the isolate's handle table. Output is
// handed over in bounded answers; the codec stands still until the guest asks for more.
import type { Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import type { CallOwner, CallScope, HostCall, HostHandler, HostReply } from '../bridge/host-calls.ts';
import type { Hold, HostMemory } from '../bridge/host-memory.ts';
import { codecBytes, type CodecBytes } from './codec-memory.ts';

/** Output of one answer after which the guest has to ask for more. */
const ANSWER_BYTES_MAX = 256 * 1024;

const strict = { rejectGarbageAfterEnd: true };
const factories: Readonly<Record<string, Readonly<Record<string, () => Transform>>>> = {
  compress: {
    deflate: () => zlib.createDeflate(),
    'deflate-raw': () => zlib.createDeflateRaw(),
    gzip: () => zlib.createGzip(),
    brotli: () => zlib.createBrotliCompress(),
  },
  decompress: {
    deflate: () => zlib.createInflate(strict),
    'deflate-raw': () => zlib.createInflateRaw(strict),
    gzip: () => zlib.createGunzip(strict),
    brotli: () => zlib.createBrotliDecompress(strict),
  },
};

/** What a codec takes as node:zlib's method of the same kind. */
const methods: Readonly<Record<string, Readonly<Record<string, CodecBytes>>>> = {
  compress: {
    deflate: codecBytes('deflate'),
    'deflate-raw': codecBytes('deflate'),
    gzip: codecBytes('gzip'),
    brotli: codecBytes('brotliCompress'),
  },
  decompress: {
    deflate: codecBytes('inflate'),
    'deflate-raw': codecBytes('inflate'),
    gzip: codecBytes('gunzip'),
    brotli: codecBytes('brotliDecompress'),
  },
};

interface Output {
  readonly chunks: readonly Uint8Array[];
  readonly more: boolean;
  /** This was the last of it. */
  readonly over: boolean;
}

/** One open zlib stream, asked for its output in bounded answers. */
export class Codec {
  readonly #stream: Transform;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #error: Error | null = null;
  // The input of the last push has been worked off, or its last byte has come out.
  #settled = true;
  #ended = false;
  #waiter: (() => void) | null = null;
  #hold: Hold;
  #bytesOf: CodecBytes;
  #input = 0;
  #output = 0;

  /** @param open makes the stream, once its memory is reserved. @throws {PlatformError} `host_memory_exceeded`. */
  constructor(memory: HostMemory, bytesOf: CodecBytes, open: () => Transform) {
    this.#bytesOf = bytesOf;
    this.#hold = memory.hold(bytesOf(0, 0), 'A compressor');
    let stream: Transform;
    try {
      stream = open();
    } catch (error) {
      this.#hold.release();
      throw error;
    }
    this.#stream = stream;
    stream.on('data', (chunk: Uint8Array) => {
      this.#chunks.push(chunk);
      this.#bytes += chunk.byteLength;
      this.#output += chunk.byteLength;
      if (this.#bytes < ANSWER_BYTES_MAX) return;
      stream.pause();
      this.#wake();
    });
    stream.on('error', (error) => {
      this.#error = error;
      this.#settle();
    });
    stream.on('end', () => this.#settle());
  }

  /** @param flush of zlib's kinds, after these bytes */
  async push(bytes: Uint8Array, last: boolean, flush?: number): Promise<Output> {
    if (!this.#settled) throw new TypeError('The codec is still working on the chunk before');
    this.#input += bytes.byteLength;
    // What the answer leaves of the chunk waits in the stream.
    this.#grow(bytes.byteLength);
    this.#settled = false;
    this.#ended = last;
    if (last) this.#stream.end(bytes);
    else if (flush === undefined) this.#stream.write(bytes, () => this.#settle());
    else this.#stream.write(bytes, () => (this.#stream as zlib.Gzip).flush(flush, () => this.#settle()));
    return this.pull();
  }

  async pull(): Promise<Output> {
    this.#grow(0);
    if (!this.#settled && this.#bytes < ANSWER_BYTES_MAX) {
      if (this.#waiter !== null) throw new TypeError('The codec is already being asked for output');
      await new Promise<void>((resolve) => {
        this.#waiter = resolve;
        this.#stream.resume();
      });
    }
    if (this.#error !== null) throw new TypeError(`The data cannot be processed: ${this.#error.message}`, { cause: this.#error });
    const output = { chunks: this.#chunks, more: !this.#settled, over: this.#ended && this.#settled };
    this.#chunks = [];
    this.#bytes = 0;
    return output;
  }

  #grow(waiting: number): void {
    this.#hold.grow(this.#bytesOf(this.#input, this.#output + ANSWER_BYTES_MAX) + waiting);
  }

  close(): void {
    this.#hold.release();
    this.#stream.destroy();
    this.#settle();
  }

  #settle(): void {
    this.#settled = true;
    this.#wake();
  }

  #wake(): void {
    this.#waiter?.();
    this.#waiter = null;
  }
}

function codecOf(isolate: CallScope, handle: unknown): Codec {
  const codec = isolate.handles.get(handle);
  if (!(codec instanceof Codec)) throw new TypeError('The codec is not open');
  return codec;
}

function openCodec({ isolate, owner }: HostCall, format: unknown, direction: unknown): number {
  const group = direction === 'compress' || direction === 'decompress' ? factories[direction]! : {};
  const create = typeof format === 'string' && Object.hasOwn(group, format) ? group[format] : undefined;
  const bytesOf = methods[direction as string]?.[format as string];
  if (create === undefined || bytesOf === undefined) throw new TypeError('The compression format is unknown');
  return addCodec(isolate, owner, new Codec(isolate.memory, bytesOf, create));
}

/** Gives a codec to the invocation that opened it. */
export function addCodec(isolate: CallScope, owner: CallOwner, codec: Codec): number {
  try {
    return isolate.handles.add(codec, owner);
  } catch (error) {
    codec.close();
    throw error;
  }
}

/** What a step of a codec gave; it is closed with its last output, or when it has failed. */
export async function answer(isolate: CallScope, handle: number, output: Promise<Output>): Promise<HostReply> {
  try {
    const { chunks, more, over } = await output;
    if (over) isolate.handles.delete(handle);
    return { value: { handle, more }, parts: chunks };
  } catch (error) {
    isolate.handles.delete(handle);
    throw error;
  }
}

/** Asynchronous calls `compression.*`. */
export const compressionCalls: Readonly<Record<string, HostHandler>> = {
  'compression.push': (call) => {
    const { args, parts, isolate } = call;
    const { handle, format, direction, last } = (args ?? {}) as Record<string, unknown>;
    const [bytes] = parts;
    if (!(bytes instanceof Uint8Array)) throw new TypeError('There are no bytes to process');
    const number = handle === 0 ? openCodec(call, format, direction) : (handle as number);
    const codec = codecOf(isolate, number);
    return answer(isolate, number, codec.push(bytes, last === true));
  },
  'compression.pull': ({ args, isolate }) => {
    const { handle } = (args ?? {}) as { handle?: unknown };
    return answer(isolate, handle as number, codecOf(isolate, handle).pull());
  },
  'compression.close': ({ args, isolate }) => {
    const { handle } = (args ?? {}) as { handle?: unknown };
    if (isolate.handles.get(handle) instanceof Codec) isolate.handles.delete(handle);
    return {};
  },
};
