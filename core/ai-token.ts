// What a token of the AI gateway is: `pk_ai_`, whose it is, 32 random bytes. Kept as a hash, compared in constant time.
// Pure.
import { createHash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';

const TOKEN = /^pk_ai_([0-9a-z]{1,32})_[A-Za-z0-9_-]{43}$/;
const SECRET_BYTES = 32;
const ID_LENGTH = 20;

/** The name of a token, which may be shown. */
export const newTokenId = (): string =>
  `ait_${Array.from({ length: ID_LENGTH }, () => randomInt(36).toString(36)).join('')}`;

/** @param owner a deployment's id, or of what else it belongs to: lower-case letters and digits. */
export const newToken = (owner: string): string => `pk_ai_${owner}_${randomBytes(SECRET_BYTES).toString('base64url')}`;

/** Whose it says it is; null: it is no token. */
export const ownerOf = (token: string): string | null => TOKEN.exec(token)?.[1] ?? null;

export const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

export const isSame = (one: Uint8Array, other: Uint8Array): boolean =>
  one.byteLength === other.byteLength && timingSafeEqual(one, other);
