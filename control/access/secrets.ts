// Secrets: created, stored as a hash, compared. Pure.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/**
 * Creates a secret and its hash.
 *
 * @example newSecret('plt') // { secret: 'plt_...', hash }
 */
export function newSecret(prefix: string): { readonly secret: string; readonly hash: Buffer } {
  const secret = `${prefix}_${randomBytes(32).toString('base64url')}`;
  return { secret, hash: hashOf(secret) };
}

/** SHA-256, as secrets are stored. */
export function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

/** Compares in constant time. */
export function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
