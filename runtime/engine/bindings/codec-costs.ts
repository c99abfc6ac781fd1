// What a step of a compressor takes: 64 KB of input, and of Brotli's best qualities a block of 256 KB at once. Measured
// with HTML, noise and repetition. Used by compression.ts and node-zlib.ts.
import { constants } from 'node:zlib';

/** Milliseconds of one step. */
export interface CodecCost {
  /** Set aside before it. */
  readonly leastMs: number;
  /** It is charged no more. */
  readonly mostMs: number;
}

/** @param options as Node's zlib has them. */
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
