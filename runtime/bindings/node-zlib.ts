// The host half of node:zlib: whole values and open streams, on the thread pool. What comes out is bounded, so that a small
// input cannot fill the memory.
import type { Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import type { HostHandler, HostReply } from '../bridge/host-calls.ts';
import { codecBytes } from './codec-memory.ts';
import { addCodec, answer, Codec } from './compression.ts';
import { costing, operationsCall, tooMuch, type Fields, type Operation } from './node-reply.ts';

const INPUT_BYTES_MAX = 64 * 1024 * 1024;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
/** Brotli's two slowest qualities take a second a megabyte. */
const SLOW_BROTLI_BYTES_MAX = 4 * 1024 * 1024;
const DICTIONARY_BYTES_MAX = 64 * 1024;

interface Method {
  readonly open: (options: object) => Transform;
  /** Bytes of input that a millisecond works off at least. */
  readonly bytesPerMs: number;
}

function method(open: unknown, bytesPerMs: number): Method {
  return { open: open as Method['open'], bytesPerMs };
}

const methods: Readonly<Record<string, Method>> = {
  gzip: method(zlib.createGzip, 20_000),
  gunzip: method(zlib.createGunzip, 50_000),
  deflate: method(zlib.createDeflate, 20_000),
  inflate: method(zlib.createInflate, 50_000),
  deflateRaw: method(zlib.createDeflateRaw, 20_000),
  inflateRaw: method(zlib.createInflateRaw, 50_000),
  unzip: method(zlib.createUnzip, 50_000),
  brotliCompress: method(zlib.createBrotliCompress, 1000),
  brotliDecompress: method(zlib.createBrotliDecompress, 50_000),
};

function methodOf(fields: Fields): Method {
  return methods[fields.text('method', Object.keys(methods))]!;
}

/** Brotli's parameters without its large windows, each of which could be a gigabyte. */
function brotliParams(given: object, compresses: boolean): Record<number, number> {
  const params: Record<number, number> = {};
  const { BROTLI_PARAM_LGWIN, BROTLI_PARAM_LARGE_WINDOW, BROTLI_DECODER_PARAM_LARGE_WINDOW } = zlib.constants;
  for (const [name, value] of Object.entries(given) as [string, unknown][]) {
    const key = Number(name);
    const most = compresses && key === BROTLI_PARAM_LGWIN ? 24 : 2 ** 31 - 1;
    if (!Number.isInteger(key) || key < 0 || key > 9 || !Number.isInteger(value))
      throw new TypeError('params of Brotli must be whole numbers');
    if ((value as number) < 0 || (value as number) > most) throw tooMuch(`Brotli's parameter ${key}`, value as number, `0 to ${most}`);
    if (value !== 0 && key === (compresses ? BROTLI_PARAM_LARGE_WINDOW : BROTLI_DECODER_PARAM_LARGE_WINDOW))
      throw tooMuch("Brotli's large window", value as number, 'none');
    params[key] = value as number;
  }
  return params;
}

/** Zlib's own options by name, each within its range. */
function optionsOf(fields: Fields, dictionary: Uint8Array): Record<string, unknown> {
  const options: Record<string, unknown> = {};
  for (const [name, least, most] of [
    ['level', -1, 9],
    ['memLevel', 1, 9],
    ['windowBits', 0, 15],
    ['strategy', 0, 4],
    ['finishFlush', 0, 5],
  ] as const) {
    const value = fields.optional(name, least, most);
    if (value !== undefined) options[name] = value;
  }
  if (dictionary.byteLength > DICTIONARY_BYTES_MAX)
    throw tooMuch('The dictionary', dictionary.byteLength, `at most ${DICTIONARY_BYTES_MAX} bytes`);
  if (dictionary.byteLength > 0) options['dictionary'] = dictionary;
  const params = fields.raw('params');
  if (typeof params === 'object' && params !== null) options['params'] = brotliParams(params, fields.raw('method') === 'brotliCompress');
  return options;
}

/** All that comes out of a stream for one chunk. @param onOutput hears how much it is so far, and may refuse it. */
function wholeOutput(stream: Transform, data: Uint8Array, bytesMax: number, onOutput: (bytes: number) => void): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    stream.on('data', (chunk: Uint8Array) => {
      chunks.push(chunk);
      bytes += chunk.byteLength;
      try {
        // As Node words it for its own functions.
        if (bytes > bytesMax)
          throw Object.assign(new RangeError(`Cannot create a Buffer larger than ${bytesMax} bytes`), { code: 'ERR_BUFFER_TOO_LARGE' });
        onOutput(bytes);
      } catch (error) {
        stream.destroy(error as Error);
      }
    });
    stream.on('end', () => resolve(Buffer.concat(chunks)));
    stream.on('error', reject);
    stream.end(data);
  });
}

/** Parts: data, dictionary. */
const whole: Operation = (fields) => {
  const name = fields.text('method', Object.keys(methods));
  const { open, bytesPerMs } = methodOf(fields);
  const data = fields.bytes(0);
  if (data.byteLength > INPUT_BYTES_MAX)
    throw tooMuch('The input', data.byteLength, `at most ${INPUT_BYTES_MAX} bytes at once: use a stream`);
  const options = optionsOf(fields, fields.bytes(1));
  const quality = ((options['params'] ?? {}) as Record<number, number>)[zlib.constants.BROTLI_PARAM_QUALITY] ?? 11;
  if (name === 'brotliCompress' && quality > 9 && data.byteLength > SLOW_BROTLI_BYTES_MAX)
    throw tooMuch('The input', data.byteLength, `at most ${SLOW_BROTLI_BYTES_MAX} bytes at a Brotli quality above 9`);
  const maxOutputLength = Math.min(fields.optional('maxOutputLength', 1, Number.MAX_SAFE_INTEGER) ?? OUTPUT_BYTES_MAX, OUTPUT_BYTES_MAX);
  const bytesOf = codecBytes(name, options);
  const hold = fields.isolate.memory.hold(bytesOf(data.byteLength, 0), `zlib's ${name}`);
  const run = (): Promise<Buffer> =>
    wholeOutput(open(options), data, maxOutputLength, (bytes) => hold.grow(bytesOf(data.byteLength, bytes) + 2 * bytes));
  return costing(Math.max(1, data.byteLength / bytesPerMs), async () => ({ parts: [await run().finally(() => hold.release())] }));
};

/** One step of a stream; its error is zlib's own. */
async function step(fields: Fields, handle: number, output: Parameters<typeof answer>[2]): Promise<HostReply> {
  try {
    return await answer(fields.isolate, handle, output);
  } catch (error) {
    throw (error as Error).cause ?? error;
  }
}

function codecOf(fields: Fields, handle: number): Codec {
  const codec = fields.isolate.handles.get(handle);
  if (!(codec instanceof Codec)) throw Object.assign(new Error('The stream is closed'), { code: 'ERR_STREAM_DESTROYED' });
  return codec;
}

/** Parts: chunk, dictionary. Handle 0 opens; `last` ends. */
const push: Operation = (fields) => {
  let handle = fields.whole('handle', 0, Number.MAX_SAFE_INTEGER);
  if (handle === 0) {
    const options = optionsOf(fields, fields.bytes(1));
    const bytesOf = codecBytes(fields.text('method'), options);
    handle = addCodec(fields.isolate, fields.owner, new Codec(fields.isolate.memory, bytesOf, () => methodOf(fields).open(options)));
  }
  const last = fields.raw('last') === true;
  return step(fields, handle, codecOf(fields, handle).push(fields.bytes(0), last, fields.optional('flush', 0, 5)));
};

const operations: Readonly<Record<string, Operation>> = {
  whole,
  push,
  pull: (fields) => {
    const handle = fields.whole('handle', 1, Number.MAX_SAFE_INTEGER);
    return step(fields, handle, codecOf(fields, handle).pull());
  },
  close: (fields) => {
    const handle = fields.raw('handle');
    if (fields.isolate.handles.get(handle) instanceof Codec) fields.isolate.handles.delete(handle);
    return {};
  },
  // Small and quick enough to be asked like the others.
  crc32: (fields) => ({ value: zlib.crc32(fields.bytes(0), fields.whole('value', 0, 0xffffffff)) }),
};

/** The call `node.zlib`. */
export const nodeZlibCalls: Readonly<Record<string, HostHandler>> = { 'node.zlib': operationsCall(operations) };
