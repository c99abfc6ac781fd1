// Signatures and RSA encryption of node:crypto, over the host. Bundled into workers by node-compat.ts.
import { Buffer } from './buffer.ts';
import { digestName, encoded, toBuffer, toBytes } from './crypto-bytes.ts';
import { keyOf } from './crypto-keys.ts';
import { ask, askLater, toCallback } from './host-hooks.ts';

interface SigningOptions {
  readonly padding?: number;
  readonly saltLength?: number;
  readonly dsaEncoding?: string;
  readonly oaepHash?: string;
  readonly oaepLabel?: unknown;
  readonly encoding?: string;
}
type Call = [args: object, parts: Uint8Array[]];
type Done<T> = (error: Error | null, value?: T) => void;

function optionsOf(key: unknown): object {
  const { padding, saltLength, dsaEncoding } = (typeof key === 'object' && key !== null ? key : {}) as SigningOptions;
  return {
    ...(padding === undefined ? {} : { padding }),
    ...(saltLength === undefined ? {} : { saltLength }),
    ...(dsaEncoding === undefined ? {} : { dsaEncoding }),
  };
}

function digestOrNone(algorithm: unknown): string | null {
  return algorithm === null || algorithm === undefined ? null : digestName(algorithm);
}

function signCall(algorithm: unknown, data: Uint8Array, key: unknown): Call {
  return [{ op: 'sign', digest: digestOrNone(algorithm), ...optionsOf(key) }, [keyOf('private', key).material, data]];
}

function verifyCall(algorithm: unknown, data: Uint8Array, key: unknown, signature: Uint8Array): Call {
  return [
    { op: 'verify', digest: digestOrNone(algorithm), ...optionsOf(key) },
    [keyOf('public', key).material, data, signature],
  ];
}

export function sign(
  algorithm: string | null | undefined,
  data: unknown,
  key: unknown,
  callback?: Done<Buffer>,
): Buffer | undefined {
  const call = signCall(algorithm, toBytes(data, 'utf8', 'data'), key);
  if (callback === undefined) return toBuffer(ask('crypto', ...call).parts[0]!);
  const signed = askLater('crypto', ...call).then(({ parts }) => toBuffer(parts[0]!));
  toCallback(signed, callback);
  return undefined;
}

export function verify(
  algorithm: string | null | undefined,
  data: unknown,
  key: unknown,
  signature: unknown,
  callback?: Done<boolean>,
): boolean | undefined {
  const call = verifyCall(algorithm, toBytes(data, 'utf8', 'data'), key, toBytes(signature, 'utf8', 'signature'));
  if (callback === undefined) return ask('crypto', ...call).value as boolean;
  const verified = askLater('crypto', ...call).then(({ value }) => value as boolean);
  toCallback(verified, callback);
  return undefined;
}

/** Collects the data to be signed. */
class Message {
  protected readonly algorithm: string;
  readonly #chunks: Uint8Array[] = [];

  constructor(algorithm: string) {
    this.algorithm = digestName(algorithm);
  }

  update(data: unknown, encoding?: string): this {
    this.#chunks.push(toBytes(data, encoding, 'data').slice());
    return this;
  }

  write(data: unknown, encoding?: string): boolean {
    this.update(data, encoding);
    return true;
  }

  end(data?: unknown, encoding?: string): this {
    return data === undefined ? this : this.update(data, encoding);
  }

  protected message(): Uint8Array {
    return this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
  }
}

export class Sign extends Message {
  sign(key: unknown, encoding?: string): Buffer | string {
    return encoded(ask('crypto', ...signCall(this.algorithm, this.message(), key)).parts[0]!, encoding);
  }
}

export class Verify extends Message {
  verify(key: unknown, signature: unknown, encoding?: string): boolean {
    return ask('crypto', ...verifyCall(this.algorithm, this.message(), key, toBytes(signature, encoding, 'signature')))
      .value as boolean;
  }
}

export function createSign(algorithm: string): Sign {
  return new Sign(algorithm);
}

export function createVerify(algorithm: string): Verify {
  return new Verify(algorithm);
}

function transform(direction: string, kind: 'public' | 'private', key: unknown, data: unknown): Buffer {
  const { padding, oaepHash, oaepLabel, encoding } = (
    typeof key === 'object' && key !== null ? key : {}
  ) as SigningOptions;
  const fields = {
    op: 'transform',
    direction,
    ...(padding === undefined ? {} : { padding }),
    ...(oaepHash === undefined ? {} : { oaepHash: digestName(oaepHash, 'oaepHash') }),
  };
  const label = oaepLabel === undefined ? new Uint8Array(0) : toBytes(oaepLabel, encoding, 'oaepLabel');
  return toBuffer(
    ask('crypto', fields, [keyOf(kind, key).material, toBytes(data, encoding, 'buffer'), label]).parts[0]!,
  );
}

export const publicEncrypt = (key: unknown, data: unknown): Buffer => transform('publicEncrypt', 'public', key, data);
export const privateDecrypt = (key: unknown, data: unknown): Buffer =>
  transform('privateDecrypt', 'private', key, data);
export const privateEncrypt = (key: unknown, data: unknown): Buffer =>
  transform('privateEncrypt', 'private', key, data);
export const publicDecrypt = (key: unknown, data: unknown): Buffer => transform('publicDecrypt', 'public', key, data);
