// The host half of node:zlib: whole values and open streams, on the thread pool. Output is limited, so that a small
// input cannot fill the memory.
import type { Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import type { HostCall, HostFunction, HostReply } from '../bridge/host-calls.ts';
import { tooMuch, type Fields } from '../work/fields.ts';
import type { HostWork } from '../work/host-work.ts';
import { codecCost } from './codec-costs.ts';
import { codecBytes } from './codec-memory.ts';
import { addCodec, answer, Codec } from './compression.ts';
import { operationsCall, type Operation } from './node-reply.ts';

const INPUT_BYTES_MAX = 64 * 1024 * 1024;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
/** Brotli's two slowest qualities take a second per megabyte. */
const SLOW_BROTLI_BYTES_MAX = 4 * 1024 * 1024;
const DICTIONARY_BYTES_MAX = 64 * 1024;

const methods: Readonly<Record<string, (options: object) => Transform>> = {
  gzip: zlib.createGzip,
  gunzip: zlib.createGunzip,
  deflate: zlib.createDeflate,
  inflate: zlib.createInflate,
  deflateRaw: zlib.createDeflateRaw,
  inflateRaw: zlib.createInflateRaw,
  unzip: zlib.createUnzip,
  brotliCompress: zlib.createBrotliCompress,
  brotliDecompress: zlib.createBrotliDecompress,
};

/** Brotli's parameters without its large windows, each of which could take a gigabyte. */
function brotliParams(given: object, compresses: boolean): Record<number, number> {
  const params: Record<number, number> = {};
  const { BROTLI_PARAM_LGWIN, BROTLI_PARAM_LARGE_WINDOW, BROTLI_DECODER_PARAM_LARGE_WINDOW } = zlib.constants;
  for (const [name, value] of Object.entries(given) as [string, unknown][]) {
    const key = Number(name);
    const most = compresses && key === BROTLI_PARAM_LGWIN ? 24 : 2 ** 31 - 1;
    if (!Number.isInteger(key) || key < 0 || key > 9 || !Number.isInteger(value))
      throw new TypeError('params of Brotli must be whole numbers');
    if ((value as number) < 0 || (value as number) > most)
      throw tooMuch(`Brotli's parameter ${key}`, value as number, `0 to ${most}`);
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
  if (typeof params === 'object' && params !== null)
    options['params'] = brotliParams(params, fields.raw('method') === 'brotliCompress');
  return options;
}

/** Bytes that are copied at a time, in 50 to 100 us. */
const COPY_BYTES = 512 * 1024;

/** Concatenates chunks over several ticks of the event loop. */
async function joined(
  work: HostWork,
  call: HostCall,
  chunks: readonly Uint8Array[],
  bytes: number,
): Promise<Uint8Array> {
  if (chunks.length === 1 && chunks[0]!.byteLength <= COPY_BYTES) return chunks[0]!;
  if (bytes <= COPY_BYTES) return Buffer.concat(chunks, bytes);
  const all = new Uint8Array(bytes);
  let [at, index] = [0, 0];
  while (index < chunks.length)
    await work.piece(call, () => {
      for (const most = at + COPY_BYTES; index < chunks.length && at < most; index++) {
        all.set(chunks[index]!, at);
        at += chunks[index]!.byteLength;
      }
    });
  return all;
}

/** Parts: data, dictionary. */
const createWhole =
  (work: HostWork): Operation =>
  async (fields, call) => {
    const name = fields.text('method', Object.keys(methods));
    const data = fields.bytes(0);
    if (data.byteLength > INPUT_BYTES_MAX)
      throw tooMuch('The input', data.byteLength, `at most ${INPUT_BYTES_MAX} bytes at once: use a stream`);
    const options = optionsOf(fields, fields.bytes(1));
    const quality = ((options['params'] ?? {}) as Record<number, number>)[zlib.constants.BROTLI_PARAM_QUALITY] ?? 11;
    if (name === 'brotliCompress' && quality > 9 && data.byteLength > SLOW_BROTLI_BYTES_MAX)
      throw tooMuch('The input', data.byteLength, `at most ${SLOW_BROTLI_BYTES_MAX} bytes at a Brotli quality above 9`);
    const bytesMax = Math.min(
      fields.optional('maxOutputLength', 1, Number.MAX_SAFE_INTEGER) ?? OUTPUT_BYTES_MAX,
      OUTPUT_BYTES_MAX,
    );
    const { memory } = call.isolate;
    const hold = memory.hold(0, `zlib's ${name}`);
    const codec = new Codec(work, codecCost(name, options), memory, codecBytes(name, options), () =>
      methods[name]!(options),
    );
    try {
      const chunks: Uint8Array[] = [];
      let bytes = 0;
      for (let output = await codec.push(call, data, true); ; output = await codec.pull(call)) {
        for (const chunk of output.chunks) {
          chunks.push(chunk);
          bytes += chunk.byteLength;
        }
        // The error has the wording of Node's own functions.
        if (bytes > bytesMax)
          throw Object.assign(new RangeError(`Cannot create a Buffer larger than ${bytesMax} bytes`), {
            code: 'ERR_BUFFER_TOO_LARGE',
          });
        hold.grow(2 * bytes);
        if (!output.more) return { parts: [await joined(work, call, chunks, bytes)], transfer: true };
      }
    } catch (error) {
      throw (error as Error).cause ?? error;
    } finally {
      codec.close();
      hold.release();
    }
  };

/** One step of a stream. Its errors are those of zlib. */
async function step(call: HostCall, handle: number, output: Parameters<typeof answer>[2]): Promise<HostReply> {
  try {
    return await answer(call.isolate, handle, output);
  } catch (error) {
    throw (error as Error).cause ?? error;
  }
}

function codecOf(call: HostCall, handle: number): Codec {
  const codec = call.isolate.handles.get(handle);
  if (!(codec instanceof Codec))
    throw Object.assign(new Error('The stream is closed'), { code: 'ERR_STREAM_DESTROYED' });
  return codec;
}

/** Parts: chunk, dictionary. Handle 0 opens a stream, and `last` ends it. */
const createPush =
  (work: HostWork): Operation =>
  (fields, call) => {
    let handle = fields.whole('handle', 0, Number.MAX_SAFE_INTEGER);
    if (handle === 0) {
      const method = fields.text('method', Object.keys(methods));
      const options = optionsOf(fields, fields.bytes(1));
      const { isolate, owner } = call;
      const codec = new Codec(work, codecCost(method, options), isolate.memory, codecBytes(method, options), () =>
        methods[method]!(options),
      );
      handle = addCodec(isolate, owner, codec);
    }
    const last = fields.raw('last') === true;
    return step(call, handle, codecOf(call, handle).push(call, fields.bytes(0), last, fields.optional('flush', 0, 5)));
  };

/** Bytes of a checksum that are processed at a time, in 20 to 60 us. */
const CRC_BYTES = 64 * 1024;

/** The call `node.zlib`. */
export function createNodeZlibCalls(work: HostWork): Readonly<Record<string, HostFunction>> {
  const operations: Readonly<Record<string, Operation>> = {
    whole: createWhole(work),
    push: createPush(work),
    pull: (fields, call) => {
      const handle = fields.whole('handle', 1, Number.MAX_SAFE_INTEGER);
      return step(call, handle, codecOf(call, handle).pull(call));
    },
    close: (fields, { isolate }) => {
      const handle = fields.raw('handle');
      if (isolate.handles.get(handle) instanceof Codec) isolate.handles.delete(handle);
      return {};
    },
    // A checksum runs in pieces, which are fast enough for this thread.
    crc32: async (fields, call) => {
      const bytes = fields.bytes(0);
      let value = fields.whole('value', 0, 0xffffffff);
      if (bytes.byteLength <= CRC_BYTES) return { value: zlib.crc32(bytes, value) };
      for (let at = 0; at < bytes.byteLength; at += CRC_BYTES)
        value = await work.piece(call, () => zlib.crc32(bytes.subarray(at, at + CRC_BYTES), value));
      return { value };
    },
  };
  return { 'node.zlib': operationsCall(operations) };
}
