// The host half of CompressionStream: one zlib stream for each open codec, held in the isolate's handle table. Output
// is returned in limited pieces; the codec pauses until the guest asks for more.
import type { Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import type { CallScope, HostCall, HostFunction, HostReply } from '../bridge/host-calls.ts';
import type { CallOwner } from '../bridge/call-owner.ts';
import type { Hold, HostMemory } from '../bridge/host-memory.ts';
import type { HostWork, WorkFor } from '../work/host-work.ts';
import { codecCost, type CodecCost } from './codec-costs.ts';
import { codecBytes, type CodecBytes } from './codec-memory.ts';

/** Maximum output per reply, after which the guest must ask for more. */
const ANSWER_BYTES_MAX = 256 * 1024;
/** How many bytes of the input are needed to determine a decoder's memory. */
const HEAD_BYTES = 8;

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

/** Memory of each codec, as for node:zlib's method of the same kind. */
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
  /** Whether this is the last output. */
  readonly over: boolean;
}

/** A chunk that waits to be processed. */
interface Input {
  readonly bytes: Uint8Array;
  at: number;
  readonly last: boolean;
  readonly flush: number | undefined;
}

/** Bytes of a chunk that are processed at a time, as one task of the thread pool. */
const PIECE_BYTES = 64 * 1024;

/** An open zlib stream whose output is read in limited pieces. */
export class Codec {
  readonly #stream: Transform;
  readonly #work: HostWork;
  readonly #cost: CodecCost;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #error: Error | null = null;
  /** The current input; null when the last push was processed, and its last byte was returned. */
  #input: Input | null = null;
  #ended = false;
  #isClosed = false;
  #isWriting = false;
  /** Called at the end of a step, when its piece was processed or the output fills a reply. */
  #stepped: (() => void) | null = null;
  #isAsked = false;
  #hold: Hold;
  #bytesOf: CodecBytes;
  #inputBytes = 0;
  /** The beginning of the input. */
  #first: Uint8Array | undefined;

  /** @param open creates the stream, after its memory is reserved. @throws {PlatformError} `host_memory_exceeded`. */
  constructor(work: HostWork, cost: CodecCost, memory: HostMemory, bytesOf: CodecBytes, open: () => Transform) {
    this.#work = work;
    this.#cost = cost;
    this.#bytesOf = bytesOf;
    this.#hold = memory.hold(bytesOf(0), 'A compressor');
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
      if (this.#bytes < ANSWER_BYTES_MAX) return;
      stream.pause();
      this.#stop();
    });
    stream.on('error', (error) => {
      this.#error = error;
      this.#settle();
    });
    stream.on('end', () => this.#settle());
  }

  /** @param flush a flush mode of zlib, applied after these bytes */
  async push(call: WorkFor, bytes: Uint8Array, last: boolean, flush?: number): Promise<Output> {
    if (this.#input !== null || this.#isClosed) throw new TypeError('The codec is still working on the previous chunk');
    this.#inputBytes += bytes.byteLength;
    // After a full reply, the rest of a chunk waits here.
    if (bytes.byteLength > 0) this.#first ??= bytes.slice(0, HEAD_BYTES);
    this.#hold.grow(this.#bytesOf(this.#inputBytes, this.#first) + bytes.byteLength + ANSWER_BYTES_MAX);
    this.#input = { bytes, at: 0, last, flush };
    this.#ended = last;
    return this.pull(call);
  }

  async pull(call: WorkFor): Promise<Output> {
    if (this.#isAsked) throw new TypeError('The codec is already producing output');
    this.#isAsked = true;
    try {
      while (this.#input !== null && this.#bytes < ANSWER_BYTES_MAX)
        await this.#work.onPool(call, this.#cost.leastMs, this.#cost.mostMs, () => this.#step());
    } finally {
      this.#isAsked = false;
    }
    if (this.#error !== null)
      throw new TypeError(`The data cannot be processed: ${this.#error.message}`, { cause: this.#error });
    const output = { chunks: this.#chunks, more: this.#input !== null, over: this.#ended && this.#input === null };
    this.#chunks = [];
    this.#bytes = 0;
    return output;
  }

  /** Runs until a piece of the input is processed or a reply is full. */
  #step(): Promise<void> {
    return new Promise((resolve) => {
      this.#stepped = resolve;
      if (this.#input === null) {
        this.#stop();
        return;
      }
      if (!this.#isWriting) this.#write(this.#input);
      this.#stream.resume();
    });
  }

  #write(input: Input): void {
    this.#isWriting = true;
    const piece = input.bytes.subarray(input.at, (input.at += PIECE_BYTES));
    const isEnd = input.at >= input.bytes.byteLength;
    const onDone = (): void => {
      this.#isWriting = false;
      if (isEnd) this.#settle();
      else this.#stop();
    };
    if (isEnd && input.last) this.#stream.end(piece);
    else if (isEnd && input.flush !== undefined) {
      const { flush } = input;
      this.#stream.write(piece, () => (this.#stream as zlib.Gzip).flush(flush, onDone));
    } else this.#stream.write(piece, onDone);
  }

  close(): void {
    this.#isClosed = true;
    this.#hold.release();
    this.#stream.destroy();
    this.#settle();
  }

  #settle(): void {
    this.#input = null;
    this.#stop();
  }

  #stop(): void {
    this.#stepped?.();
    this.#stepped = null;
  }
}

function codecOf(isolate: CallScope, handle: unknown): Codec {
  const codec = isolate.handles.get(handle);
  if (!(codec instanceof Codec)) throw new TypeError('The codec is not open');
  return codec;
}

function openCodec(work: HostWork, { isolate, owner }: HostCall, format: unknown, direction: unknown): number {
  const group = direction === 'compress' || direction === 'decompress' ? factories[direction]! : {};
  const create = typeof format === 'string' && Object.hasOwn(group, format) ? group[format] : undefined;
  const bytesOf = methods[direction as string]?.[format as string];
  if (create === undefined || bytesOf === undefined) throw new TypeError('The compression format is unknown');
  const cost = codecCost(direction === 'compress' ? (format === 'brotli' ? 'brotliCompress' : 'deflate') : 'inflate');
  return addCodec(isolate, owner, new Codec(work, cost, isolate.memory, bytesOf, create));
}

/** Adds a codec to the handles of the invocation that opened it. */
export function addCodec(isolate: CallScope, owner: CallOwner, codec: Codec): number {
  try {
    return isolate.handles.add(codec, owner);
  } catch (error) {
    codec.close();
    throw error;
  }
}

/** The reply of a codec's step; closes the codec after its last output, or when it has failed. */
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
export const createCompressionCalls = (work: HostWork): Readonly<Record<string, HostFunction>> => ({
  'compression.push': (call) => {
    const { args, parts, isolate } = call;
    const { handle, format, direction, last } = (args ?? {}) as Record<string, unknown>;
    const [bytes] = parts;
    if (!(bytes instanceof Uint8Array)) throw new TypeError('There are no bytes to process');
    const number = handle === 0 ? openCodec(work, call, format, direction) : (handle as number);
    const codec = codecOf(isolate, number);
    return answer(isolate, number, codec.push(call, bytes, last === true));
  },
  'compression.pull': (call) => {
    const { args, isolate } = call;
    const { handle } = (args ?? {}) as { handle?: unknown };
    return answer(isolate, handle as number, codecOf(isolate, handle).pull(call));
  },
  'compression.close': ({ args, isolate }) => {
    const { handle } = (args ?? {}) as { handle?: unknown };
    if (isolate.handles.get(handle) instanceof Codec) isolate.handles.delete(handle);
    return {};
  },
});
