// Asymmetric keys of node:crypto: parsed, generated and used for key agreement by the host. Bundled into workers by
// node-compat.ts.
import { Buffer } from './buffer.ts';
import { encoded, invalidType, toBuffer, toBytes } from './crypto-bytes.ts';
import { KeyObject, type KeyDescription } from './crypto-key-object.ts';
import { randomBytes } from './crypto-random.ts';
import { ask, askLater, toCallback } from './host-hooks.ts';

type Answer = ReturnType<typeof ask>;

/** Key inputs of asymmetric functions, besides text, bytes and a KeyObject. */
export interface KeyInput {
  readonly key?: unknown;
  readonly format?: string;
  readonly type?: string;
  readonly encoding?: string;
  readonly passphrase?: unknown;
}

/** Cache of keys given as text, so that they are parsed once. */
let recent: Map<string, KeyObject> | undefined;
const RECENT_MAX = 32;

function toKeyObject({ value, parts }: Answer): KeyObject {
  return new KeyObject(parts[0]!, value as KeyDescription);
}

function read(kind: 'private' | 'public', input: unknown): KeyObject {
  const isPlain =
    typeof input === 'object' && input !== null && !ArrayBuffer.isView(input) && !(input instanceof ArrayBuffer);
  const { key, format = 'pem', type, encoding } = isPlain ? (input as KeyInput) : { key: input };
  if (key instanceof KeyObject) return read(kind, key);
  const fields = { op: 'importKey', kind, format, ...(type === undefined || type === null ? {} : { type }) };
  if (format === 'jwk') return toKeyObject(ask('crypto', { ...fields, jwk: key }));
  if (key === undefined || key === null)
    throw invalidType('key', 'of type string, an instance of Buffer or KeyObject, or an object', key);
  if (typeof key !== 'string' || format !== 'pem')
    return toKeyObject(ask('crypto', fields, [toBytes(key, encoding, 'key')]));
  const name = `${kind} ${type ?? ''} ${key}`;
  const known = recent?.get(name);
  if (known !== undefined) return known;
  recent ??= new Map();
  if (recent.size >= RECENT_MAX) recent.clear();
  const made = toKeyObject(ask('crypto', fields, [toBytes(key, encoding, 'key')]));
  recent.set(name, made);
  return made;
}

/** A KeyObject of the given kind from any key input that Node accepts. */
export function keyOf(kind: 'private' | 'public', input: unknown): KeyObject {
  const given = input instanceof KeyObject ? input : (input as KeyInput | null)?.key;
  if (!(given instanceof KeyObject)) return read(kind, input);
  if (given.type === kind) return given;
  if (given.type === 'private') return toKeyObject(ask('crypto', { op: 'publicOf' }, [given.material]));
  throw Object.assign(new TypeError(`Invalid key object type ${given.type}, expected ${kind}.`), {
    code: 'ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE',
  });
}

export function createPrivateKey(input: unknown): KeyObject {
  return keyOf('private', input);
}

export function createPublicKey(input: unknown): KeyObject {
  return keyOf('public', input);
}

export function createSecretKey(key: unknown, encoding?: string): KeyObject {
  return new KeyObject(toBytes(key, encoding, 'key').slice());
}

interface Encoding {
  readonly format: string;
  readonly type?: string;
}

interface PairOptions {
  readonly publicKeyEncoding?: Encoding;
  readonly privateKeyEncoding?: Encoding;
  readonly [name: string]: unknown;
}

interface Pair {
  readonly publicKey: unknown;
  readonly privateKey: unknown;
}

function pairFields(type: string, options: PairOptions = {}): object {
  const { publicKeyEncoding: _public, privateKeyEncoding: _private, ...rest } = options;
  return { op: 'generateKeyPair', ...rest, type };
}

function toPair({ value, parts }: Answer, { publicKeyEncoding, privateKeyEncoding }: PairOptions = {}): Pair {
  const [publicKey, privateKey] = (value as KeyDescription[]).map(
    (description, at) => new KeyObject(parts[at]!, description),
  ) as [KeyObject, KeyObject];
  return {
    publicKey: publicKeyEncoding === undefined ? publicKey : publicKey.export(publicKeyEncoding),
    privateKey: privateKeyEncoding === undefined ? privateKey : privateKey.export(privateKeyEncoding),
  };
}

export function generateKeyPairSync(type: string, options?: PairOptions): Pair {
  return toPair(ask('crypto', pairFields(type, options)), options);
}

async function generateKeyPairLater(type: string, options?: PairOptions): Promise<Pair> {
  return toPair(await askLater('crypto', pairFields(type, options)), options);
}

type PairDone = (error: Error | null, publicKey?: unknown, privateKey?: unknown) => void;

export const generateKeyPair = /* @__PURE__ */ Object.assign(
  (type: string, options: PairOptions | PairDone, callback?: PairDone): void => {
    const given = typeof options === 'function' ? {} : options;
    const done = (callback ?? options) as PairDone;
    toCallback(generateKeyPairLater(type, given), (error, pair) => done(error, pair?.publicKey, pair?.privateKey));
  },
  { [Symbol.for('nodejs.util.promisify.custom')]: generateKeyPairLater },
);

/** A random secret of `length` bits. */
export function generateKeySync(_type: 'hmac' | 'aes', { length }: { readonly length: number }): KeyObject {
  return new KeyObject(randomBytes(Math.floor(length / 8)) as Buffer);
}

export function generateKey(
  type: 'hmac' | 'aes',
  options: { readonly length: number },
  callback: (error: Error | null, key?: KeyObject) => void,
): void {
  toCallback(Promise.resolve(generateKeySync(type, options)), callback);
}

export function diffieHellman({
  privateKey,
  publicKey,
}: {
  readonly privateKey: unknown;
  readonly publicKey: unknown;
}): Buffer {
  return toBuffer(
    ask('crypto', { op: 'diffieHellman' }, [keyOf('private', privateKey).material, keyOf('public', publicKey).material])
      .parts[0]!,
  );
}

const none = new Uint8Array(0);

/** Key agreement on a named curve. */
export class ECDH {
  readonly #curve: string;
  #private: Uint8Array = none;

  constructor(curve: string) {
    this.#curve = curve;
  }

  #ask(other: Uint8Array, format: string): readonly Uint8Array[] {
    return ask('crypto', { op: 'ecdh', curve: this.#curve, format }, [this.#private, other]).parts;
  }

  #made(): void {
    if (this.#private.byteLength === 0)
      throw Object.assign(new Error('Failed to get ECDH private key'), { code: 'ERR_CRYPTO_ECDH_INVALID_PRIVATE_KEY' });
  }

  generateKeys(encoding?: string, format = 'uncompressed'): Buffer | string {
    this.#private = none;
    const [own, shared] = this.#ask(none, format) as [Uint8Array, Uint8Array];
    this.#private = own;
    return encoded(shared, encoding);
  }

  computeSecret(other: unknown, inputEncoding?: string, outputEncoding?: string): Buffer | string {
    this.#made();
    return encoded(this.#ask(toBytes(other, inputEncoding, 'otherPublicKey'), 'uncompressed')[2]!, outputEncoding);
  }

  getPublicKey(encoding?: string, format = 'uncompressed'): Buffer | string {
    this.#made();
    return encoded(this.#ask(none, format)[1]!, encoding);
  }

  getPrivateKey(encoding?: string): Buffer | string {
    this.#made();
    return encoded(this.#private, encoding);
  }

  setPrivateKey(key: unknown, encoding?: string): void {
    this.#private = toBytes(key, encoding, 'privateKey').slice();
  }
}

export function createECDH(curve: string): ECDH {
  return new ECDH(curve);
}

export function getCurves(): string[] {
  return ['prime256v1', 'secp256k1', 'secp384r1', 'secp521r1'];
}
