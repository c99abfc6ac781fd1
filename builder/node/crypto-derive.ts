// Key derivation of node:crypto: scrypt, pbkdf2 and hkdf, run by the host off its main thread, which also limits the
// cost of a call. Bundled into workers by node-compat.ts.
import type { Buffer } from './buffer.ts';
import { digestName, invalidType, toBuffer, toBytes } from './crypto-bytes.ts';
import { ask, askLater, toCallback } from './host-hooks.ts';

type Done<T> = (error: Error | null, key?: T) => void;
type Call = [args: object, parts: Uint8Array[]];

/** scrypt's parameters under both of their names. */
export interface ScryptOptions {
  readonly N?: number;
  readonly cost?: number;
  readonly r?: number;
  readonly blockSize?: number;
  readonly p?: number;
  readonly parallelization?: number;
  readonly maxmem?: number;
}

function firstPart({ parts }: { readonly parts: readonly Uint8Array[] }): Buffer {
  return toBuffer(parts[0]!);
}

function callbackOf<T>(callback: unknown): Done<T> {
  if (typeof callback !== 'function') throw invalidType('callback', 'of type function', callback);
  return callback as Done<T>;
}

function scryptCall(password: unknown, salt: unknown, length: number, given: ScryptOptions = {}): Call {
  const options = {
    N: given.N ?? given.cost ?? 16_384,
    r: given.r ?? given.blockSize ?? 8,
    p: given.p ?? given.parallelization ?? 1,
    maxmem: given.maxmem ?? 32 * 1024 * 1024,
  };
  return [{ op: 'scrypt', length, ...options }, [toBytes(password, 'utf8', 'password'), toBytes(salt, 'utf8', 'salt')]];
}

export function scryptSync(password: unknown, salt: unknown, length: number, options?: ScryptOptions): Buffer {
  return firstPart(ask('crypto', ...scryptCall(password, salt, length, options)));
}

export function scrypt(
  password: unknown,
  salt: unknown,
  length: number,
  options: ScryptOptions | Done<Buffer>,
  callback?: Done<Buffer>,
): void {
  const given = typeof options === 'function' ? {} : options;
  const done = callbackOf<Buffer>(callback ?? options);
  toCallback(askLater('crypto', ...scryptCall(password, salt, length, given)).then(firstPart), done);
}

function pbkdf2Call(password: unknown, salt: unknown, iterations: number, length: number, digest: unknown): Call {
  const args = { op: 'pbkdf2', iterations, length, digest: digestName(digest, 'digest') };
  return [args, [toBytes(password, 'utf8', 'password'), toBytes(salt, 'utf8', 'salt')]];
}

export function pbkdf2Sync(
  password: unknown,
  salt: unknown,
  iterations: number,
  length: number,
  digest: string,
): Buffer {
  return firstPart(ask('crypto', ...pbkdf2Call(password, salt, iterations, length, digest)));
}

export function pbkdf2(
  password: unknown,
  salt: unknown,
  iterations: number,
  length: number,
  digest: string,
  callback: Done<Buffer>,
): void {
  const done = callbackOf<Buffer>(callback);
  toCallback(askLater('crypto', ...pbkdf2Call(password, salt, iterations, length, digest)).then(firstPart), done);
}

function hkdfCall(digest: unknown, key: unknown, salt: unknown, info: unknown, length: number): Call {
  const parts = [toBytes(key, 'utf8', 'ikm'), toBytes(salt, 'utf8', 'salt'), toBytes(info, 'utf8', 'info')];
  return [{ op: 'hkdf', length, digest: digestName(digest, 'digest') }, parts];
}

function memory({ parts }: { readonly parts: readonly Uint8Array[] }): ArrayBuffer {
  return parts[0]!.slice().buffer as ArrayBuffer;
}

export function hkdfSync(digest: string, key: unknown, salt: unknown, info: unknown, length: number): ArrayBuffer {
  return memory(ask('crypto', ...hkdfCall(digest, key, salt, info, length)));
}

export function hkdf(
  digest: string,
  key: unknown,
  salt: unknown,
  info: unknown,
  length: number,
  callback: Done<ArrayBuffer>,
): void {
  const done = callbackOf<ArrayBuffer>(callback);
  toCallback(askLater('crypto', ...hkdfCall(digest, key, salt, info, length)).then(memory), done);
}
