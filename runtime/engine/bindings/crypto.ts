// The host half of crypto.subtle: Node's implementation behind validated arguments, on its thread pool. Large inputs
// run on separate threads, since Node would copy them on the main thread. Keys are in the isolate's handle table.
// Imported keys may be evicted, since the guest can import them again.
import { createHash, webcrypto, type Hash } from 'node:crypto';
import type { CallScope, HostCall, HostFunction, HostReply } from '../bridge/host-calls.ts';
import type { HostWork } from '../work/host-work.ts';
import { subtleCostMs } from './crypto-costs.ts';

const { subtle } = webcrypto;

/** How many imported keys the host keeps for one isolate. */
const IMPORTED_KEYS_MAX = 128;
/** Above these limits, one call would block a thread of the pool for seconds. */
const ITERATIONS_MAX = 1_000_000;
const MODULUS_BITS_MAX = 4096;
/** An operation with such a private key takes 10 to 30 ms. */
const IMPORTED_MODULUS_BITS_MAX = 8192;
const KEY_BYTES_MAX = 64 * 1024;
/**
 * Digests of data up to this size are computed synchronously instead of on the thread pool. Longer data is processed in
 * pieces of this size, 20 to 50 us each.
 */
const DIGEST_PIECE_BYTES = 16 * 1024;
/** Up to this size, Node may copy the bytes on the main thread. */
const COPIED_BYTES_MAX = 64 * 1024;

const hashNames: Readonly<Record<string, string>> = {
  'SHA-1': 'sha1',
  'SHA-256': 'sha256',
  'SHA-384': 'sha384',
  'SHA-512': 'sha512',
};

class HeldKey {
  readonly key: webcrypto.CryptoKey;
  constructor(key: webcrypto.CryptoKey) {
    this.key = key;
  }
}

/** The imported keys of an isolate, least recently used first. */
const imported = new WeakMap<object, Set<number>>();

type Fields = Record<string, unknown>;

function fieldsOf(args: unknown): Fields {
  if (typeof args !== 'object' || args === null) throw new TypeError('The arguments must be an object');
  return args as Fields;
}

/** Returns the keys of a call, and the handles of those that the host has evicted. */
function keysOf({ args, isolate }: HostCall): { readonly found: webcrypto.CryptoKey[]; readonly missing: number[] } {
  const { keys } = fieldsOf(args);
  if (!Array.isArray(keys)) throw new TypeError('The keys must be a list');
  const missing: number[] = [];
  const found: webcrypto.CryptoKey[] = [];
  const recent = imported.get(isolate.handles);
  for (const handle of keys as unknown[]) {
    const held = isolate.handles.get(handle);
    if (held instanceof HeldKey) found.push(held.key);
    else missing.push(handle as number);
    if (recent?.delete(handle as number) === true) recent.add(handle as number);
  }
  return { found, missing };
}

/** Puts the bytes and keys of a call into its algorithm. */
function algorithmOf(value: unknown, parts: HostCall['parts'], keys: readonly webcrypto.CryptoKey[]): never {
  const result: Fields = {};
  for (const [name, item] of Object.entries(fieldsOf(value))) {
    if (typeof item !== 'object' || item === null) result[name] = item;
    else if ('part' in item) result[name] = bytesOf(parts[item.part as number]);
    else if ('key' in item) result[name] = keys[item.key as number];
    else result[name] = algorithmOf(item, parts, keys);
  }
  const { iterations, modulusLength } = result;
  if (Number(iterations) > ITERATIONS_MAX)
    throw new DOMException(
      `At most ${ITERATIONS_MAX} iterations are supported, not ${String(iterations)}`,
      'NotSupportedError',
    );
  if (Number(modulusLength) > MODULUS_BITS_MAX)
    throw new DOMException(`RSA keys of at most ${MODULUS_BITS_MAX} bits are supported`, 'NotSupportedError');
  return result as never;
}

function bytesOf(part: unknown): Uint8Array<ArrayBuffer> {
  if (!(part instanceof Uint8Array)) throw new TypeError('Bytes are missing');
  return part as Uint8Array<ArrayBuffer>;
}

function hold(isolate: CallScope, key: webcrypto.CryptoKey): Fields {
  const algorithm: Fields = { ...(key.algorithm as unknown as Fields) };
  const { publicExponent } = algorithm;
  if (publicExponent instanceof Uint8Array) algorithm['publicExponent'] = [...publicExponent];
  return {
    handle: isolate.handles.add(new HeldKey(key)),
    type: key.type,
    extractable: key.extractable,
    algorithm,
    usages: key.usages,
  };
}

/** Stores an imported key, and evicts the least recently used one if necessary. */
function holdImported(isolate: CallScope, key: webcrypto.CryptoKey): Fields {
  let recent = imported.get(isolate.handles);
  if (recent === undefined) imported.set(isolate.handles, (recent = new Set()));
  const [oldest] = recent;
  if (recent.size >= IMPORTED_KEYS_MAX && oldest !== undefined) {
    recent.delete(oldest);
    isolate.handles.delete(oldest);
  }
  const description = hold(isolate, key);
  recent.add(description['handle'] as number);
  return description;
}

/** Runs an operation whose keys the host may have evicted. */
function withKeys(
  run: (call: HostCall, fields: Fields, keys: webcrypto.CryptoKey[], algorithm: never) => Promise<HostReply>,
): HostFunction {
  return async (call) => {
    const fields = fieldsOf(call.args);
    const { found: keys, missing } = keysOf(call);
    if (missing.length > 0) return { value: { missing } };
    const algorithm =
      fields['algorithm'] === undefined ? (undefined as never) : algorithmOf(fields['algorithm'], call.parts, keys);
    return run(call, fields, keys, algorithm);
  };
}

/** A digest that is computed in pieces: `crypto.DigestStream`. */
class OpenDigest {
  readonly hash: Hash;
  constructor(algorithm: string) {
    const name = algorithm.toUpperCase();
    if (name !== 'MD5' && !Object.hasOwn(hashNames, name)) throw new TypeError('The digest algorithm is not known');
    this.hash = createHash(name === 'MD5' ? 'md5' : hashNames[name]!);
  }
}

/** Asynchronous calls `crypto.*`. */
export function createCryptoCalls(work: HostWork): Readonly<Record<string, HostFunction>> {
  /** Runs an operation of Node on the appropriate thread and charges it. */
  async function run<Result>(call: HostCall, method: string, estimateMs: number, ...args: unknown[]): Promise<Result> {
    // The time to generate a key varies by chance.
    const mostMs = estimateMs * (method === 'generateKey' ? 40 : 4) + 5;
    let bytes = 0;
    for (const part of call.parts) bytes += part.length;
    if (bytes > COPIED_BYTES_MAX) {
      const reply = await work.onThread(
        call,
        'subtle.call',
        { method, args },
        call.parts as Uint8Array[],
        estimateMs,
        mostMs,
      );
      return reply.value as Result;
    }
    const operation = subtle[method as 'sign'] as unknown as (...given: unknown[]) => Promise<Result>;
    return work.onPool(call, estimateMs, mostMs, () => operation.apply(subtle, args));
  }

  const bytesOfRun = async (
    call: HostCall,
    method: string,
    estimateMs: number,
    ...args: unknown[]
  ): Promise<HostReply> => ({
    parts: [new Uint8Array(await run<ArrayBuffer>(call, method, estimateMs, ...args))],
  });

  return {
    'crypto.digest': async (call) => {
      const { args, parts } = call;
      const algorithm = fieldsOf(fieldsOf(args)['algorithm']);
      const bytes = bytesOf(parts[0]);
      const name = String(algorithm['name']).toUpperCase();
      if (bytes.byteLength <= DIGEST_PIECE_BYTES && Object.hasOwn(hashNames, name)) {
        return { parts: [createHash(hashNames[name]!).update(bytes).digest()] };
      }
      return bytesOfRun(
        call,
        'digest',
        subtleCostMs('digest', null, [], bytes.byteLength),
        algorithmOf(algorithm, parts, []),
        bytes,
      );
    },
    'crypto.digestPush': async (call) => {
      const { args, parts, isolate } = call;
      const { handle, algorithm, last } = fieldsOf(args);
      const number = handle === 0 ? isolate.handles.add(new OpenDigest(String(algorithm)), call.owner) : handle;
      const digest = isolate.handles.get(number);
      if (!(digest instanceof OpenDigest)) throw new TypeError('The digest is not open');
      const bytes = bytesOf(parts[0]);
      if (bytes.byteLength <= DIGEST_PIECE_BYTES) digest.hash.update(bytes);
      else
        for (let at = 0; at < bytes.byteLength; at += DIGEST_PIECE_BYTES)
          await work.piece(call, () => digest.hash.update(bytes.subarray(at, at + DIGEST_PIECE_BYTES)));
      if (last !== true) return { value: { handle: number } };
      isolate.handles.delete(number);
      return { value: { handle: 0 }, parts: [digest.hash.digest()] };
    },
    'crypto.encrypt': withKeys((call, _fields, keys, algorithm) => withData(call, 'encrypt', keys, algorithm)),
    'crypto.decrypt': withKeys((call, _fields, keys, algorithm) => withData(call, 'decrypt', keys, algorithm)),
    'crypto.sign': withKeys((call, _fields, keys, algorithm) => withData(call, 'sign', keys, algorithm)),
    'crypto.verify': withKeys(async (call, _fields, keys, algorithm) => {
      const [signature, data] = [bytesOf(call.parts[0]), bytesOf(call.parts[1])];
      const costMs = subtleCostMs('verify', algorithm, keys, data.byteLength);
      return { value: await run<boolean>(call, 'verify', costMs, algorithm, keys[0], signature, data) };
    }),
    'crypto.deriveBits': withKeys((call, { length }, keys, algorithm) =>
      bytesOfRun(
        call,
        'deriveBits',
        subtleCostMs('deriveBits', algorithm, keys, Number(length) / 8),
        algorithm,
        keys[0],
        length,
      ),
    ),
    'crypto.deriveKey': withKeys(async (call, { derivedType, extractable, usages }, keys, algorithm) => {
      const derived = algorithmOf(derivedType, call.parts, keys);
      const costMs = subtleCostMs('deriveKey', algorithm, keys, 64);
      const key = await run<webcrypto.CryptoKey>(
        call,
        'deriveKey',
        costMs,
        algorithm,
        keys[0],
        derived,
        extractable === true,
        usages,
      );
      return { value: hold(call.isolate, key) };
    }),
    'crypto.generateKey': withKeys(async (call, { extractable, usages }, keys, algorithm) => {
      const { isolate } = call;
      const costMs = subtleCostMs('generateKey', algorithm, keys, 0);
      const made = await run<webcrypto.CryptoKey | webcrypto.CryptoKeyPair>(
        call,
        'generateKey',
        costMs,
        algorithm,
        extractable === true,
        usages,
      );
      if (!('publicKey' in made)) return { value: hold(isolate, made) };
      return { value: { publicKey: hold(isolate, made.publicKey), privateKey: hold(isolate, made.privateKey) } };
    }),
    'crypto.importKey': withKeys(async (call, { format, jwk, extractable, usages }, keys, algorithm) => {
      const data = format === 'jwk' ? jwk : bytesOf(call.parts[0]);
      if (data instanceof Uint8Array && data.byteLength > KEY_BYTES_MAX && format !== 'raw')
        throw new DOMException(`A key may have ${KEY_BYTES_MAX} bytes`, 'DataError');
      const costMs = subtleCostMs('importKey', algorithm, keys, 0);
      const key = await run<webcrypto.CryptoKey>(
        call,
        'importKey',
        costMs,
        format,
        data,
        algorithm,
        extractable === true,
        usages,
      );
      const { modulusLength } = key.algorithm as { modulusLength?: number };
      if ((modulusLength ?? 0) > IMPORTED_MODULUS_BITS_MAX)
        throw new DOMException(
          `RSA keys of at most ${IMPORTED_MODULUS_BITS_MAX} bits are supported`,
          'NotSupportedError',
        );
      return { value: holdImported(call.isolate, key) };
    }),
    'crypto.exportKey': withKeys(async (call, { format }, keys) => {
      const data = await run<unknown>(call, 'exportKey', subtleCostMs('exportKey', null, keys, 0), format, keys[0]);
      return data instanceof ArrayBuffer ? { parts: [new Uint8Array(data)] } : { value: data };
    }),
    'crypto.wrapKey': withKeys((call, { format }, keys, algorithm) =>
      bytesOfRun(
        call,
        'wrapKey',
        subtleCostMs('wrapKey', algorithm, keys.slice(1), 0),
        format,
        keys[0],
        keys[1],
        algorithm,
      ),
    ),
    'crypto.unwrapKey': withKeys(async (call, { format, keyAlgorithm, extractable, usages }, keys, algorithm) => {
      const target = algorithmOf(keyAlgorithm, call.parts, keys);
      const bytes = bytesOf(call.parts[0]);
      const costMs = subtleCostMs('unwrapKey', algorithm, keys, bytes.byteLength);
      const key = await run<webcrypto.CryptoKey>(
        call,
        'unwrapKey',
        costMs,
        format,
        bytes,
        keys[0],
        algorithm,
        target,
        extractable === true,
        usages,
      );
      return { value: hold(call.isolate, key) };
    }),
    'crypto.release': ({ args, isolate }) => {
      const { handle } = fieldsOf(args);
      if (isolate.handles.get(handle) instanceof HeldKey) isolate.handles.delete(handle);
      return {};
    },
  };

  function withData(
    call: HostCall,
    method: string,
    keys: webcrypto.CryptoKey[],
    algorithm: object,
  ): Promise<HostReply> {
    const data = bytesOf(call.parts[0]);
    return bytesOfRun(call, method, subtleCostMs(method, algorithm, keys, data.byteLength), algorithm, keys[0], data);
  }
}
