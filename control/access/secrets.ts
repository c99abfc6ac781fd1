// Secrets that are given out once, of which a hash is kept. Pure.
import { createHash, randomBytes } from 'node:crypto';

/**
 * A secret that is given out once, and the hash that is kept of it.
 *
 * @example newSecret('plt') // { secret: 'plt_...', hash }
 */
export function newSecret(prefix: string): { readonly secret: string; readonly hash: Buffer } {
  const secret = `${prefix}_${randomBytes(32).toString('base64url')}`;
  return { secret, hash: hashOf(secret) };
}

/** SHA-256, under which secrets are kept. */
export function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
