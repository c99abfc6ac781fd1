// CPU cost of one step of a compressor: 64 KB of input, or a block of 256 KB for Brotli's highest qualities. Measured
// with HTML, noise and repetition. Used by compression.ts and node-zlib.ts.
import { constants } from 'node:zlib';

/** Milliseconds of one step. */
export interface CodecCost {
  /** Milliseconds that are reserved before a step. */
  readonly leastMs: number;
  /** Charged at most. */
  readonly mostMs: number;
}

/** @param options the options of Node's zlib. */
export function codecCost(method: string, options: Readonly<Record<string, unknown>> = {}): CodecCost {
  if (method === 'brotliCompress') {
    const { BROTLI_PARAM_QUALITY, BROTLI_DEFAULT_QUALITY } = constants;
    const quality =
      ((options['params'] ?? {}) as Readonly<Record<number, number>>)[BROTLI_PARAM_QUALITY] ?? BROTLI_DEFAULT_QUALITY;
    return quality >= 10 ? { leastMs: 0.1, mostMs: 600 } : { leastMs: 0.05, mostMs: 30 };
  }
  const compresses = method === 'gzip' || method.startsWith('deflate');
  return compresses ? { leastMs: 0.02, mostMs: 30 } : { leastMs: 0.02, mostMs: 5 };
}
