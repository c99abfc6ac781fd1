// createHash, createHmac and hash of node:crypto, computed in the isolate: faster than a host call, and uses the
// worker's own CPU time. Bundled into workers by node-compat.ts.
import { md5, ripemd160, sha1 } from '@noble/hashes/legacy.js';
import { hmac } from '@noble/hashes/hmac.js';
import { sha224, sha256, sha384, sha512, sha512_256 } from '@noble/hashes/sha2.js';
import { sha3_224, sha3_256, sha3_384, sha3_512 } from '@noble/hashes/sha3.js';
import { blake2b, blake2s } from '@noble/hashes/blake2.js';
import type { Buffer } from './buffer.ts';
import { digestName, encoded, toBytes } from './crypto-bytes.ts';

interface Running {
  update(bytes: Uint8Array): unknown;
  digest(): Uint8Array;
  clone(): Running;
}
type Algorithm = typeof sha256;

const algorithms: Readonly<Record<string, Algorithm>> = {
  md5,
  ripemd160,
  sha1,
  sha224,
  sha256,
  sha384,
  sha512,
  'sha512-256': sha512_256,
  'sha3-224': sha3_224,
  'sha3-256': sha3_256,
  'sha3-384': sha3_384,
  'sha3-512': sha3_512,
  blake2b512: blake2b,
  blake2s256: blake2s,
} as unknown as Record<string, Algorithm>;

function algorithmOf(name: unknown): Algorithm {
  const known = digestName(name);
  if (Object.hasOwn(algorithms, known)) return algorithms[known]!;
  throw Object.assign(new Error('Digest method not supported'), { code: 'ERR_CRYPTO_INVALID_DIGEST' });
}

/** Base class of Hash and Hmac. */
class Digest {
  readonly #running: Running;
  #done = false;

  constructor(running: Running) {
    this.#running = running;
  }

  update(data: unknown, encoding?: string): this {
    if (this.#done) throw finalized();
    this.#running.update(toBytes(data, encoding, 'data'));
    return this;
  }

  digest(encoding?: string): Buffer | string {
    if (this.#done) throw finalized();
    this.#done = true;
    return encoded(this.#running.digest(), encoding);
  }

  protected copied(): Running {
    if (this.#done) throw finalized();
    return this.#running.clone();
  }
}

function finalized(): Error {
  return Object.assign(new Error('Digest already called'), { code: 'ERR_CRYPTO_HASH_FINALIZED' });
}

export class Hash extends Digest {
  copy(): Hash {
    return new Hash(this.copied());
  }
}

export class Hmac extends Digest {}

export function createHash(algorithm: string): Hash {
  return new Hash(algorithmOf(algorithm).create() as Running);
}

export function createHmac(algorithm: string, key: unknown): Hmac {
  return new Hmac(hmac.create(algorithmOf(algorithm), toBytes(key, 'utf8', 'key')) as Running);
}

/** Computes the digest of a value in a single call. */
export function hash(algorithm: string, data: unknown, encoding: string = 'hex'): Buffer | string {
  return encoded(algorithmOf(algorithm)(toBytes(data, 'utf8', 'data')), encoding);
}

export function getHashes(): string[] {
  return Object.keys(algorithms).flatMap((name) =>
    /^sha\d+(?:-\d+)?$|^md5$/.test(name) ? [`RSA-${name.toUpperCase()}`, name] : [name],
  );
}
