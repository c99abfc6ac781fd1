// The minimum cost of a crypto.subtle operation, in milliseconds of a thread, computed from its arguments and reserved
// before it begins. Measured on one core of 3 GHz and rounded down, so that an operation is never refused if it fits
// into the budget.
import type { webcrypto } from 'node:crypto';

/** PBKDF2 iterations per millisecond. */
const iterationsPerMs: Readonly<Record<string, number>> = {
  'SHA-1': 10_000,
  'SHA-256': 10_000,
  'SHA-384': 4000,
  'SHA-512': 4000,
};
/** Block size of each hash. */
const blockBytes: Readonly<Record<string, number>> = { 'SHA-1': 20, 'SHA-256': 32, 'SHA-384': 48, 'SHA-512': 64 };
const BYTES_PER_MS = 500_000;
const LEAST_MS = 0.02;

/** @param bytes the size of the data, or of the derived key. */
export function subtleCostMs(
  method: string,
  algorithm: object | null,
  keys: readonly webcrypto.CryptoKey[],
  bytes: number,
): number {
  const { iterations, modulusLength, hash } = (algorithm ?? {}) as {
    iterations?: unknown;
    modulusLength?: unknown;
    hash?: unknown;
  };
  if (method === 'generateKey')
    return typeof modulusLength === 'number' ? Math.max(LEAST_MS, (modulusLength / 2048) ** 4 * 15) : LEAST_MS;
  if (method === 'deriveBits' || method === 'deriveKey') {
    const name = (
      typeof hash === 'string' ? hash : String((hash as { name?: unknown } | undefined)?.name)
    ).toUpperCase();
    const blocks = Math.max(1, Math.ceil((Number.isFinite(bytes) ? bytes : 0) / (blockBytes[name] ?? 64)));
    return Math.max(LEAST_MS, ((Number(iterations) || 0) * blocks) / (iterationsPerMs[name] ?? 4000));
  }
  const { modulusLength: bits = 0 } = (keys[0]?.algorithm ?? {}) as { modulusLength?: number };
  const isPrivate = keys[0]?.type === 'private' && method !== 'exportKey';
  return Math.max(LEAST_MS, isPrivate ? (bits / 4096) ** 3 * 2 : 0) + bytes / BYTES_PER_MS;
}
