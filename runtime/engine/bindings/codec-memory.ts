// Estimates the memory of compressors and decompressors from their parameters and the size of their input. Each
// estimate is at least the measured memory (see the test). Used by compression.ts, node-zlib.ts and fetch.ts.
import { constants } from 'node:zlib';

const KB = 1024;
const MB = 1024 * KB;
/** The memory of Node's stream, and of its buffers. */
const STREAM_BYTES = 64 * KB;

/** Returns the bytes that a codec uses after this much input. `first` is the beginning of the input. */
export type CodecBytes = (input: number, first?: Uint8Array) => number;

/** @param options the options of Node's zlib. */
export function codecBytes(method: string, options: Readonly<Record<string, unknown>> = {}): CodecBytes {
  const params = (options['params'] ?? {}) as Readonly<Record<number, number>>;
  if (method === 'brotliCompress') {
    const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_LGWIN, BROTLI_DEFAULT_QUALITY, BROTLI_DEFAULT_WINDOW } = constants;
    return brotliBytes(
      params[BROTLI_PARAM_QUALITY] ?? BROTLI_DEFAULT_QUALITY,
      params[BROTLI_PARAM_LGWIN] ?? BROTLI_DEFAULT_WINDOW,
    );
  }
  if (method === 'brotliDecompress')
    return (_input, first) => STREAM_BYTES + 256 * KB + (first === undefined ? 0 : brotliWindowBytes(first));
  const windowBits = (options['windowBits'] as number | undefined) || constants.Z_DEFAULT_WINDOWBITS;
  const memLevel = (options['memLevel'] as number | undefined) ?? constants.Z_DEFAULT_MEMLEVEL;
  const compresses = method === 'gzip' || method.startsWith('deflate');
  const bytes =
    STREAM_BYTES + (compresses ? 2 ** (windowBits + 2) + 2 ** (memLevel + 9) + 64 * KB : 2 ** windowBits + 16 * KB);
  return () => bytes;
}

/**
 * Memory of a Brotli encoder: the tables of its quality, and a window that fills with the input; the highest qualities
 * also keep a tree over the window.
 */
function brotliBytes(quality: number, windowBits: number): CodecBytes {
  const window = 2 ** windowBits;
  if (quality >= 10) return (input) => STREAM_BYTES + MB + Math.min(10 * window + 8 * MB, 28 * input);
  const tables = quality < 2 ? MB : quality < 5 ? 5 * MB : 5 * MB + 2 ** (16 + quality);
  return (input) => STREAM_BYTES + tables + Math.min(4 * window, 4 * input);
}

/**
 * The window that a Brotli decoder fills before it produces output, read from the head of the stream (RFC 7932 9.1 and
 * 9.2). A single block needs no more than its length.
 */
function brotliWindowBytes(head: Uint8Array): number {
  const bits = (at: number, count: number): number => {
    let value = 0;
    for (let i = 0; i < count; i++) value |= (((head[(at + i) >> 3] ?? 0) >> ((at + i) & 7)) & 1) << i;
    return value;
  };
  let at = 1;
  let windowBits = 16;
  if (bits(0, 1) === 1) {
    at = 4;
    windowBits = 17 + bits(1, 3);
    if (windowBits === 17) {
      at = 7;
      windowBits = bits(4, 3) < 2 ? 17 : 8 + bits(4, 3);
    }
  }
  const isLast = bits(at, 1) === 1;
  if (!isLast || head.byteLength < 5) return 2 ** windowBits;
  const nibbles = 4 + bits(at + 2, 2);
  if (bits(at + 1, 1) === 1 || nibbles === 7) return 0;
  return Math.min(2 ** windowBits, 2 * (bits(at + 4, 4 * nibbles) + 1));
}
