// Encrypts files of `routes/` for their transfer between machines. The key is derived from `PRIVATE_PORT_TOKEN`, which
// the API and the mirrors have, but not Postgres or the engines. Pure.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { encryptionKeys, seal, unseal, type EncryptionKeys } from '#core/encryption.ts';

/** The keys of an installation. */
export interface RouteKeys {
  readonly sealing: EncryptionKeys;
  readonly mac: Buffer;
}

/** A sealed file. */
export interface SealedFile {
  /** A keyed hash by which processes with the key recognize the file's text. */
  readonly mac: Buffer;
  readonly sealed: Buffer;
}

/** @throws {Error} without a token. */
export function routeKeysOf(token: string): RouteKeys {
  if (token === '')
    throw new Error(
      'PRIVATE_PORT_TOKEN is not set: with ARTIFACTS_S3_* it encrypts the routes, and must be the same on all machines',
    );
  const derive = (use: string): string => createHmac('sha256', token).update(`routes ${use}`).digest('hex');
  return { sealing: encryptionKeys(derive('seal')), mac: Buffer.from(derive('mac'), 'hex') };
}

/** Identifies the text of a file. */
export function macOf({ mac }: RouteKeys, name: string, text: string): Buffer {
  return createHmac('sha256', mac).update(`${name}\0${text}`).digest();
}

export function sealFile(keys: RouteKeys, name: string, text: string): SealedFile {
  return { mac: macOf(keys, name, text), sealed: seal(keys.sealing, text, contextOf(name)) };
}

/** @throws {Error} when the file was sealed with another token, or is another file. */
export function unsealFile(keys: RouteKeys, name: string, { mac, sealed }: SealedFile): string {
  let text: string;
  try {
    text = unseal(keys.sealing, sealed, contextOf(name));
  } catch (error) {
    throw new Error(`${name} was sealed with another PRIVATE_PORT_TOKEN: set the same one on all machines`, {
      cause: error,
    });
  }
  if (!timingSafeEqual(macOf(keys, name, text), mac)) throw new Error(`${name} is not what was sealed`);
  return text;
}

function contextOf(name: string): string {
  return `route:${name}`;
}
