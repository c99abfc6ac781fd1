// Format of a token of the AI gateway: `pk_ai_`, its owner, 32 random bytes. Stored as a hash, compared in constant
// time. Pure.
import { createHash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';

const TOKEN = /^pk_ai_([0-9a-z]{1,32})_[A-Za-z0-9_-]{43}$/;
const SECRET_BYTES = 32;
const ID_LENGTH = 20;

/** The public id of a token. */
export const newTokenId = (): string =>
  `ait_${Array.from({ length: ID_LENGTH }, () => randomInt(36).toString(36)).join('')}`;

/** @param owner the id of a deployment or another owner: lower-case letters and digits. */
export const newToken = (owner: string): string => `pk_ai_${owner}_${randomBytes(SECRET_BYTES).toString('base64url')}`;

/** The owner that the token names; null if the text is not a token. */
export const ownerOf = (token: string): string | null => TOKEN.exec(token)?.[1] ?? null;

export const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

export const isSame = (one: Uint8Array, other: Uint8Array): boolean =>
  one.byteLength === other.byteLength && timingSafeEqual(one, other);
