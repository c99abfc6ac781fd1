// The host half of crypto.subtle: Node's own implementation behind checked arguments. Keys lie in the isolate's handle
// table; imported ones may be forgotten, since the guest can import them again.
import { createHash, webcrypto, type Hash } from 'node:crypto';
import type { CallScope, HostCall, HostHandler, HostReply } from '../bridge/host-calls.ts';

const { subtle } = webcrypto;

/** Imported keys that the host keeps for one isolate. */
const IMPORTED_KEYS_MAX = 128;
/** Above these one call would hold a thread of the pool for seconds. */
const ITERATIONS_MAX = 1_000_000;
const MODULUS_BITS_MAX = 4096;
/** Digests of no more than this are made at once instead of on the thread pool. */
const INLINE_DIGEST_BYTES_MAX = 64 * 1024;

const hashNames: Readonly<Record<string, string>> = { 'SHA-1': 'sha1', 'SHA-256': 'sha256', 'SHA-384': 'sha384', 'SHA-512': 'sha512' };

class HeldKey {
  readonly key: webcrypto.CryptoKey;
  constructor(key: webcrypto.CryptoKey) {
    this.key = key;
  }
}

/** The imported keys of an isolate, least recently used first. */
const imported = new WeakMap<object, Set<number>>();

/** Keys that the call names but the host has forgotten. */
class MissingKeys extends Error {
  readonly handles: readonly number[];
  constructor(handles: readonly number[]) {
    super('Keys are missing');
    this.handles = handles;
  }
}

type Fields = Record<string, unknown>;

function fieldsOf(args: unknown): Fields {
  if (typeof args !== 'object' || args === null) throw new TypeError('The arguments must be an object');
  return args as Fields;
}

function keysOf({ args, isolate }: HostCall): webcrypto.CryptoKey[] {
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
  if (missing.length > 0) throw new MissingKeys(missing);
  return found;
}

/** An algorithm with its bytes and keys put back. */
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
    throw new DOMException(`At most ${ITERATIONS_MAX} iterations are supported, not ${String(iterations)}`, 'NotSupportedError');
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
  return { handle: isolate.handles.add(new HeldKey(key)), type: key.type, extractable: key.extractable, algorithm, usages: key.usages };
}

/** Holds an imported key, for which the one not used for longest makes room. */
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

/** Runs an operation whose keys the host may have forgotten. */
function withKeys(run: (call: HostCall, fields: Fields, keys: webcrypto.CryptoKey[], algorithm: never) => Promise<HostReply>): HostHandler {
  return async (call) => {
    const fields = fieldsOf(call.args);
    let keys: webcrypto.CryptoKey[];
    try {
      keys = keysOf(call);
    } catch (error) {
      if (error instanceof MissingKeys) return { value: { missing: error.handles } };
      throw error;
    }
    const algorithm = fields['algorithm'] === undefined ? (undefined as never) : algorithmOf(fields['algorithm'], call.parts, keys);
    return run(call, fields, keys, algorithm);
  };
}

function bytesReply(buffer: ArrayBuffer): HostReply {
  return { parts: [new Uint8Array(buffer)] };
}

/** A digest that is fed in pieces: `crypto.DigestStream`. */
class OpenDigest {
  readonly hash: Hash;
  constructor(algorithm: string) {
    const name = algorithm.toUpperCase();
    if (name !== 'MD5' && !Object.hasOwn(hashNames, name)) throw new TypeError('The digest algorithm is not known');
    this.hash = createHash(name === 'MD5' ? 'md5' : hashNames[name]!);
  }
}

/** Asynchronous calls `crypto.*`. */
export const cryptoCalls: Readonly<Record<string, HostHandler>> = {
  'crypto.digest': async ({ args, parts }) => {
    const algorithm = fieldsOf(fieldsOf(args)['algorithm']);
    const bytes = bytesOf(parts[0]);
    const name = String(algorithm['name']).toUpperCase();
    if (bytes.byteLength <= INLINE_DIGEST_BYTES_MAX && Object.hasOwn(hashNames, name)) {
      return { parts: [createHash(hashNames[name]!).update(bytes).digest()] };
    }
    return bytesReply(await subtle.digest(algorithmOf(algorithm, parts, []), bytes));
  },
  'crypto.digestPush': ({ args, parts, isolate, owner }) => {
    const { handle, algorithm, last } = fieldsOf(args);
    const number = handle === 0 ? isolate.handles.add(new OpenDigest(String(algorithm)), owner) : handle;
    const digest = isolate.handles.get(number);
    if (!(digest instanceof OpenDigest)) throw new TypeError('The digest is not open');
    digest.hash.update(bytesOf(parts[0]));
    if (last !== true) return { value: { handle: number } };
    isolate.handles.delete(number);
    return { value: { handle: 0 }, parts: [digest.hash.digest()] };
  },
  'crypto.encrypt': withKeys(async ({ parts }, _fields, [key], algorithm) =>
    bytesReply(await subtle.encrypt(algorithm, key!, bytesOf(parts[0]))),
  ),
  'crypto.decrypt': withKeys(async ({ parts }, _fields, [key], algorithm) =>
    bytesReply(await subtle.decrypt(algorithm, key!, bytesOf(parts[0]))),
  ),
  'crypto.sign': withKeys(async ({ parts }, _fields, [key], algorithm) =>
    bytesReply(await subtle.sign(algorithm, key!, bytesOf(parts[0]))),
  ),
  'crypto.verify': withKeys(async ({ parts }, _fields, [key], algorithm) => ({
    value: await subtle.verify(algorithm, key!, bytesOf(parts[0]), bytesOf(parts[1])),
  })),
  'crypto.deriveBits': withKeys(async (_call, { length }, [key], algorithm) =>
    bytesReply(await subtle.deriveBits(algorithm, key!, length as number)),
  ),
  'crypto.deriveKey': withKeys(async ({ parts, isolate }, { derivedType, extractable, usages }, keys, algorithm) => {
    const derived = algorithmOf(derivedType, parts, keys);
    return { value: hold(isolate, await subtle.deriveKey(algorithm, keys[0]!, derived, extractable === true, usages as never)) };
  }),
  'crypto.generateKey': withKeys(async ({ isolate }, { extractable, usages }, _keys, algorithm) => {
    const made = (await subtle.generateKey(algorithm, extractable === true, usages as never)) as
      | webcrypto.CryptoKey
      | webcrypto.CryptoKeyPair;
    if (!('publicKey' in made)) return { value: hold(isolate, made) };
    return { value: { publicKey: hold(isolate, made.publicKey), privateKey: hold(isolate, made.privateKey) } };
  }),
  'crypto.importKey': withKeys(async ({ parts, isolate }, { format, jwk, extractable, usages }, _keys, algorithm) => {
    const data = format === 'jwk' ? (jwk as never) : bytesOf(parts[0]);
    return {
      value: holdImported(isolate, await subtle.importKey(format as never, data, algorithm, extractable === true, usages as never)),
    };
  }),
  'crypto.exportKey': withKeys(async (_call, { format }, [key]) => {
    const data: unknown = await subtle.exportKey(format as never, key!);
    return data instanceof ArrayBuffer ? bytesReply(data) : { value: data };
  }),
  'crypto.wrapKey': withKeys(async (_call, { format }, [key, wrappingKey], algorithm) =>
    bytesReply(await subtle.wrapKey(format as never, key!, wrappingKey!, algorithm)),
  ),
  'crypto.unwrapKey': withKeys(async ({ parts, isolate }, { format, keyAlgorithm, extractable, usages }, keys, algorithm) => {
    const target = algorithmOf(keyAlgorithm, parts, keys);
    const key = await subtle.unwrapKey(
      format as never,
      bytesOf(parts[0]),
      keys[0]!,
      algorithm,
      target,
      extractable === true,
      usages as never,
    );
    return { value: hold(isolate, key) };
  }),
  'crypto.release': ({ args, isolate }) => {
    const { handle } = fieldsOf(args);
    if (isolate.handles.get(handle) instanceof HeldKey) isolate.handles.delete(handle);
    return {};
  },
};
