// What compressors and decompressors take in memory, by their parameters and by what went through them: at least what was measured
// (each line of the test). Used by compression.ts, node-zlib.ts and fetch.ts.
import { constants } from 'node:zlib';

const KB = 1024;
const MB = 1024 * KB;
/** Node's stream around it, and what waits in it. */
const STREAM_BYTES = 64 * KB;

/** The bytes that a codec takes once so much has gone in and come out. */
export type CodecBytes = (input: number, output: number) => number;

/** @param options as Node's zlib has them. */
export function codecBytes(method: string, options: Readonly<Record<string, unknown>> = {}): CodecBytes {
  const params = (options['params'] ?? {}) as Readonly<Record<number, number>>;
  if (method === 'brotliCompress') {
    const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_LGWIN, BROTLI_DEFAULT_QUALITY, BROTLI_DEFAULT_WINDOW } = constants;
    return brotliBytes(params[BROTLI_PARAM_QUALITY] ?? BROTLI_DEFAULT_QUALITY, params[BROTLI_PARAM_LGWIN] ?? BROTLI_DEFAULT_WINDOW);
  }
  // Its window grows with what comes out, up to 16 MB, and is there twice while it does.
  if (method === 'brotliDecompress') return (_input, output) => STREAM_BYTES + 256 * KB + Math.min(24 * MB, 2 * output);
  const windowBits = (options['windowBits'] as number | undefined) || constants.Z_DEFAULT_WINDOWBITS;
  const memLevel = (options['memLevel'] as number | undefined) ?? constants.Z_DEFAULT_MEMLEVEL;
  const compresses = method === 'gzip' || method.startsWith('deflate');
  const bytes = STREAM_BYTES + (compresses ? 2 ** (windowBits + 2) + 2 ** (memLevel + 9) + 64 * KB : 2 ** windowBits + 16 * KB);
  return () => bytes;
}

/** The tables of a quality, and a window that fills with the input; the best qualities also keep a tree over the window. */
function brotliBytes(quality: number, windowBits: number): CodecBytes {
  const window = 2 ** windowBits;
  if (quality >= 10) return (input) => STREAM_BYTES + MB + Math.min(10 * window + 8 * MB, 28 * input);
  const tables = quality < 2 ? MB : quality < 5 ? 5 * MB : 5 * MB + 2 ** (16 + quality);
  return (input) => STREAM_BYTES + tables + Math.min(4 * window, 4 * input);
}
