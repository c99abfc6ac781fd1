// SubtleCrypto: every operation is an asynchronous host call. Keys are sent as numbers, and bytes as parts next to the
// arguments. Arguments are read and copied here synchronously and validated on the host, which implements the Web
// Cryptography API.
import { host, type HostReply } from '../../host.ts';
import type { HostCallName } from '../../../bridge/protocol.ts';
import { createCryptoKey, isCryptoKey, linkOf, type CryptoKey, type KeyDescription, type KeyLink } from './key.ts';
import { DOMException } from '../../web/dom-exception.ts';
import { isAnyArrayBuffer, toBytes } from '../../web/text.ts';
import { finishInterface, internal, requireArguments, toDomString, toEnumeration } from '../../web/webidl.ts';

const keyFormats = ['raw', 'pkcs8', 'spki', 'jwk'] as const;
const algorithmMembers = [
  'additionalData',
  'context',
  'counter',
  'hash',
  'info',
  'iterations',
  'iv',
  'label',
  'length',
  'modulusLength',
  'namedCurve',
  'public',
  'publicExponent',
  'salt',
  'saltLength',
  'tagLength',
];
const webIdlErrors = new Set(['TypeError', 'RangeError', 'Error']);

/** A call that is being built, with arguments as JSON, separate bytes, and keys that the host may have evicted. */
class Operation {
  readonly args: Record<string, unknown> = {};
  readonly parts: Uint8Array[] = [];
  readonly keys: KeyLink[] = [];

  bytes(source: unknown, what: string): { part: number } {
    this.parts.push(toBytes(source, what).slice());
    return { part: this.parts.length - 1 };
  }

  key(value: unknown, what: string): { key: number } {
    if (!isCryptoKey(value)) throw new TypeError(`${what} must be a CryptoKey`);
    this.keys.push(linkOf(value));
    // Returns the index of the key, which becomes the handle when the call is sent.
    return { key: this.keys.length - 1 };
  }

  algorithm(value: unknown): Record<string, unknown> {
    if (typeof value !== 'object' || value === null) return { name: toDomString(value) };
    const given = value as Record<string, unknown>;
    if (given['name'] === undefined) throw new TypeError('An algorithm needs a name');
    const result: Record<string, unknown> = { name: toDomString(given['name']) };
    for (const member of algorithmMembers) {
      const item = given[member];
      if (item === undefined) continue;
      if (ArrayBuffer.isView(item) || isAnyArrayBuffer(item)) result[member] = this.bytes(item, member);
      else if (isCryptoKey(item)) result[member] = this.key(item, member);
      else if (member === 'hash') result[member] = this.algorithm(item);
      else result[member] = typeof item === 'object' ? null : item;
    }
    return result;
  }

  async send(name: HostCallName): Promise<HostReply> {
    for (let attempt = 0; ; attempt++) {
      let reply: HostReply;
      try {
        reply = await host.call(name, { ...this.args, keys: this.keys.map((link) => link.handle) }, this.parts);
      } catch (error) {
        throw toDomError(error);
      }
      const { missing } = (reply.value ?? {}) as { missing?: readonly number[] };
      if (missing === undefined) return reply;
      if (attempt > 0) throw new DOMException('The key is no longer known to the host', 'OperationError');
      for (const handle of missing) await reimport(this.keys.find((link) => link.handle === handle));
    }
  }
}

async function reimport(link: KeyLink | undefined): Promise<void> {
  if (link === undefined || link.recipe === null)
    throw new DOMException('The key is no longer known to the host', 'OperationError');
  const { value } = await host.call('crypto.importKey', { ...link.recipe.args, keys: [] }, link.recipe.parts);
  link.handle = (value as KeyDescription).handle;
}

function toDomError(error: unknown): unknown {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  if (typeof code !== 'string' || !code.endsWith('Error') || webIdlErrors.has(code)) return error;
  return new DOMException(String(message), code);
}

function toUsages(value: unknown): string[] {
  if (typeof value !== 'object' || value === null || !(Symbol.iterator in value))
    throw new TypeError('The usages of a key must be a list');
  return [...(value as Iterable<unknown>)].map(toDomString);
}

function bufferOf(reply: HostReply): ArrayBuffer {
  return toBytes(reply.parts[0], 'The answer').slice().buffer as ArrayBuffer;
}

// Generated and derived keys exist only on the host, which is notified when the last CryptoKey for a key is collected.
let released: FinalizationRegistry<number> | null = null;

function keyFrom(value: unknown): CryptoKey {
  const description = value as KeyDescription;
  const key = createCryptoKey(description, null);
  released ??= new FinalizationRegistry((handle) => {
    host.call('crypto.release', { handle }).catch(() => {});
  });
  released.register(linkOf(key), description.handle);
  return key;
}

const digestBits: Readonly<Record<string, number>> = {
  __proto__: null as never,
  'SHA-1': 160,
  'SHA-256': 256,
  'SHA-384': 384,
  'SHA-512': 512,
};
// Longer digests are computed on the host, because a digest in the isolate cannot be interrupted.
const OWN_DIGEST_BYTES_MAX = 1_048_576;

let brand: (subtle: SubtleCrypto) => void;

export class SubtleCrypto {
  #brand = true;
  constructor(token: unknown = undefined) {
    if (token !== internal) throw new TypeError('Illegal constructor');
  }

  async digest(algorithm: unknown, data: unknown): Promise<ArrayBuffer> {
    brand(this);
    requireArguments(arguments.length, 2, 'subtle.digest');
    if (typeof algorithm === 'string' && digestBits[algorithm] !== undefined) {
      const bytes = toBytes(data, 'The data');
      if (bytes.byteLength <= OWN_DIGEST_BYTES_MAX) return host.digest(bytes, digestBits[algorithm]);
    }
    const operation = new Operation();
    operation.bytes(data, 'The data');
    const { name } = (operation.args['algorithm'] = operation.algorithm(algorithm));
    const [bytes] = operation.parts as [Uint8Array];
    // MD5 is not an algorithm of Web Crypto, but other systems use it for checksums.
    if ((name as string).toUpperCase() === 'MD5')
      return bufferOf(await host.call('crypto.digestPush', { handle: 0, algorithm: 'MD5', last: true }, [bytes]));
    const bits = bytes.byteLength <= OWN_DIGEST_BYTES_MAX ? digestBits[(name as string).toUpperCase()] : undefined;
    return bits === undefined ? bufferOf(await operation.send('crypto.digest')) : host.digest(bytes, bits);
  }

  async encrypt(algorithm: unknown, key: unknown, data: unknown): Promise<ArrayBuffer> {
    brand(this);
    requireArguments(arguments.length, 3, 'subtle.encrypt');
    return bufferOf(await withKey(algorithm, key, [data]).send('crypto.encrypt'));
  }

  async decrypt(algorithm: unknown, key: unknown, data: unknown): Promise<ArrayBuffer> {
    brand(this);
    requireArguments(arguments.length, 3, 'subtle.decrypt');
    return bufferOf(await withKey(algorithm, key, [data]).send('crypto.decrypt'));
  }

  async sign(algorithm: unknown, key: unknown, data: unknown): Promise<ArrayBuffer> {
    brand(this);
    requireArguments(arguments.length, 3, 'subtle.sign');
    return bufferOf(await withKey(algorithm, key, [data]).send('crypto.sign'));
  }

  async verify(algorithm: unknown, key: unknown, signature: unknown, data: unknown): Promise<boolean> {
    brand(this);
    requireArguments(arguments.length, 4, 'subtle.verify');
    return (await withKey(algorithm, key, [signature, data]).send('crypto.verify')).value as boolean;
  }

  async deriveBits(algorithm: unknown, baseKey: unknown, length: unknown = null): Promise<ArrayBuffer> {
    brand(this);
    requireArguments(arguments.length, 2, 'subtle.deriveBits');
    const operation = withKey(algorithm, baseKey, []);
    operation.args['length'] = length === null ? null : Number(length);
    return bufferOf(await operation.send('crypto.deriveBits'));
  }

  async deriveKey(
    algorithm: unknown,
    baseKey: unknown,
    derivedType: unknown,
    extractable: unknown,
    usages: unknown,
  ): Promise<CryptoKey> {
    brand(this);
    requireArguments(arguments.length, 5, 'subtle.deriveKey');
    const operation = withKey(algorithm, baseKey, []);
    operation.args['derivedType'] = operation.algorithm(derivedType);
    operation.args['extractable'] = Boolean(extractable);
    operation.args['usages'] = toUsages(usages);
    return keyFrom((await operation.send('crypto.deriveKey')).value);
  }

  async generateKey(
    algorithm: unknown,
    extractable: unknown,
    usages: unknown,
  ): Promise<CryptoKey | { publicKey: CryptoKey; privateKey: CryptoKey }> {
    brand(this);
    requireArguments(arguments.length, 3, 'subtle.generateKey');
    const operation = new Operation();
    operation.args['algorithm'] = operation.algorithm(algorithm);
    operation.args['extractable'] = Boolean(extractable);
    operation.args['usages'] = toUsages(usages);
    const { value } = await operation.send('crypto.generateKey');
    const pair = value as { publicKey?: unknown; privateKey?: unknown };
    return pair.publicKey === undefined
      ? keyFrom(value)
      : { publicKey: keyFrom(pair.publicKey), privateKey: keyFrom(pair.privateKey) };
  }

  async importKey(
    format: unknown,
    keyData: unknown,
    algorithm: unknown,
    extractable: unknown,
    usages: unknown,
  ): Promise<CryptoKey> {
    brand(this);
    requireArguments(arguments.length, 5, 'subtle.importKey');
    const operation = new Operation();
    const kind = toEnumeration(format, keyFormats, 'The key format');
    operation.args['format'] = kind;
    if (kind !== 'jwk') operation.bytes(keyData, 'The key data');
    else if (
      typeof keyData !== 'object' ||
      keyData === null ||
      ArrayBuffer.isView(keyData) ||
      isAnyArrayBuffer(keyData)
    ) {
      throw new TypeError('The key data must be a JSON Web Key');
    } else operation.args['jwk'] = JSON.parse(JSON.stringify(keyData));
    operation.args['algorithm'] = operation.algorithm(algorithm);
    operation.args['extractable'] = Boolean(extractable);
    operation.args['usages'] = toUsages(usages);
    const { value } = await operation.send('crypto.importKey');
    return createCryptoKey(value as KeyDescription, { args: operation.args, parts: operation.parts });
  }

  async exportKey(format: unknown, key: unknown): Promise<ArrayBuffer | Record<string, unknown>> {
    brand(this);
    requireArguments(arguments.length, 2, 'subtle.exportKey');
    const operation = new Operation();
    operation.args['format'] = toEnumeration(format, keyFormats, 'The key format');
    operation.key(key, 'The key');
    const reply = await operation.send('crypto.exportKey');
    return reply.parts.length > 0 ? bufferOf(reply) : (reply.value as Record<string, unknown>);
  }

  async wrapKey(format: unknown, key: unknown, wrappingKey: unknown, algorithm: unknown): Promise<ArrayBuffer> {
    brand(this);
    requireArguments(arguments.length, 4, 'subtle.wrapKey');
    const operation = new Operation();
    operation.args['format'] = toEnumeration(format, keyFormats, 'The key format');
    operation.key(key, 'The key');
    operation.key(wrappingKey, 'The wrapping key');
    operation.args['algorithm'] = operation.algorithm(algorithm);
    return bufferOf(await operation.send('crypto.wrapKey'));
  }

  async unwrapKey(
    format: unknown,
    wrappedKey: unknown,
    unwrappingKey: unknown,
    unwrapAlgorithm: unknown,
    keyAlgorithm: unknown,
    extractable: unknown,
    usages: unknown,
  ): Promise<CryptoKey> {
    brand(this);
    requireArguments(arguments.length, 7, 'subtle.unwrapKey');
    const operation = new Operation();
    operation.args['format'] = toEnumeration(format, keyFormats, 'The key format');
    operation.bytes(wrappedKey, 'The wrapped key');
    operation.key(unwrappingKey, 'The unwrapping key');
    operation.args['algorithm'] = operation.algorithm(unwrapAlgorithm);
    operation.args['keyAlgorithm'] = operation.algorithm(keyAlgorithm);
    operation.args['extractable'] = Boolean(extractable);
    operation.args['usages'] = toUsages(usages);
    return keyFrom((await operation.send('crypto.unwrapKey')).value);
  }

  /** Compares two byte sequences of equal length in constant time. */
  timingSafeEqual(a: unknown, b: unknown): boolean {
    brand(this);
    const left = toBytes(a, 'The first operand');
    const right = toBytes(b, 'The second operand');
    if (left.length !== right.length) throw new TypeError('timingSafeEqual needs two operands of equal length');
    let difference = 0;
    for (let at = 0; at < left.length; at++) difference |= left[at]! ^ right[at]!;
    return difference === 0;
  }

  static {
    brand = (subtle) => void subtle.#brand;
  }
}
finishInterface(SubtleCrypto);

function withKey(algorithm: unknown, key: unknown, inputs: readonly unknown[]): Operation {
  const operation = new Operation();
  for (const input of inputs) operation.bytes(input, 'The data');
  operation.key(key, 'The key');
  operation.args['algorithm'] = operation.algorithm(algorithm);
  return operation;
}
