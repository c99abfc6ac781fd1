// The host half of node:crypto: key derivation, ciphers, signatures and asymmetric keys, all of it off the main thread where it
// can take long. Keys come as DER with each call, so nothing but open ciphers is kept. Hashes are the guest's own work.
import {
  constants,
  createCipheriv,
  createDecipheriv,
  createECDH,
  createHash,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPair,
  getCurves,
  hkdf,
  pbkdf2,
  privateDecrypt,
  privateEncrypt,
  publicDecrypt,
  publicEncrypt,
  scrypt,
  sign,
  verify,
  type CipherGCM,
  type DecipherGCM,
  type KeyObject,
} from 'node:crypto';
import { promisify } from 'node:util';
import type { HostHandler, HostReply } from '../bridge/host-calls.ts';
import { costing, holding, operationsCall, tooMuch, type Fields, type Operation } from './node-reply.ts';

/** Iterations of all blocks of one derived key: about a second of a thread. */
const ITERATIONS_MAX = 2_000_000;
/** N * r * p of scrypt: OWASP's strongest parameters, about half a second of a thread. */
const SCRYPT_COST_MAX = 2 ** 20;
const SCRYPT_MEMORY_BYTES_MAX = 160 * 1024 * 1024;
const DERIVED_BYTES_MAX = 1024 * 1024;
/** Ciphers run on the main thread: a chunk of this takes a millisecond. The guest cuts longer ones. */
const CIPHER_CHUNK_BYTES_MAX = 1024 * 1024;
const SIGNED_BYTES_MAX = 32 * 1024 * 1024;
const KEY_BYTES_MAX = 64 * 1024;
const MODULUS_BITS_MAX = 4096;
/** Ciphers, signatures: what a millisecond of a thread does at least. */
const BYTES_PER_MS = 200_000;

const digests = ['md5', 'ripemd160', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512', 'sha512-256', 'sha3-256', 'sha3-384', 'sha3-512'];
const keyTypes = ['rsa', 'rsa-pss', 'ec', 'ed25519', 'ed448', 'x25519', 'x448'];
const ciphers = ['128', '192', '256'].flatMap((bits) => ['cbc', 'ctr', 'ecb', 'gcm', 'cfb', 'ofb'].map((mode) => `aes-${bits}-${mode}`));
ciphers.push('chacha20-poly1305');
const authenticated = /gcm|poly1305/;

class OpenCipher {
  readonly cipher: CipherGCM & DecipherGCM;
  readonly tagged: boolean;
  readonly decrypts: boolean;
  constructor(cipher: CipherGCM & DecipherGCM, tagged: boolean, decrypts: boolean) {
    this.cipher = cipher;
    this.tagged = tagged;
    this.decrypts = decrypts;
  }
}

function checked(key: KeyObject): KeyObject {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  if (type === undefined || !keyTypes.includes(type))
    throw new TypeError(`Keys of type ${type ?? 'secret'} are not supported in a worker: use one of ${keyTypes.join(', ')}`);
  if ((details?.modulusLength ?? 0) > MODULUS_BITS_MAX)
    throw tooMuch('modulusLength', details!.modulusLength!, `at most ${MODULUS_BITS_MAX}`);
  if ((details?.publicExponent ?? 0n) > 0xffffffffn) throw new RangeError('publicExponent must be below 2^32');
  return key;
}

function privateKey(der: Uint8Array): KeyObject {
  return checked(createPrivateKey({ key: Buffer.from(der), format: 'der', type: 'pkcs8' }));
}

function publicKey(der: Uint8Array): KeyObject {
  return checked(createPublicKey({ key: Buffer.from(der), format: 'der', type: 'spki' }));
}

function keyOf(fields: Fields, index: number): KeyObject {
  const der = fields.bytes(index);
  return fields.text('kind', ['private', 'public']) === 'private' ? privateKey(der) : publicKey(der);
}

function derOf(key: KeyObject): Uint8Array {
  return key.type === 'private' ? key.export({ format: 'der', type: 'pkcs8' }) : key.export({ format: 'der', type: 'spki' });
}

function describe(key: KeyObject): object {
  const { publicExponent, ...details } = key.asymmetricKeyDetails ?? {};
  return {
    kind: key.type,
    type: key.asymmetricKeyType,
    details: { ...details, ...(publicExponent === undefined ? {} : { publicExponent: String(publicExponent) }) },
  };
}

/** What `sign` and `verify` take beside the key. */
function signing(fields: Fields): { digest: string | null; options: object } {
  const [padding, saltLength] = [fields.optional('padding', 1, 6), fields.optional('saltLength', -3, 512)];
  return {
    digest: fields.raw('digest') === null ? null : fields.text('digest', digests),
    options: {
      ...(padding === undefined ? {} : { padding }),
      ...(saltLength === undefined ? {} : { saltLength }),
      ...(fields.raw('dsaEncoding') === undefined ? {} : { dsaEncoding: fields.text('dsaEncoding', ['der', 'ieee-p1363']) }),
    },
  };
}

function bounded(bytes: Uint8Array, most: number, what: string): Uint8Array {
  if (bytes.byteLength > most) throw tooMuch(what, bytes.byteLength, `at most ${most} bytes`);
  return bytes;
}

/** Milliseconds of a private operation: RSA grows with the cube of the modulus. */
function privateCostMs(key: KeyObject, bytes = 0): number {
  return Math.max(0.2, ((key.asymmetricKeyDetails?.modulusLength ?? 0) / 2048) ** 3 * 2) + bytes / BYTES_PER_MS;
}

const derive = { pbkdf2: promisify(pbkdf2), hkdf: promisify(hkdf) };
const deriveScrypt = promisify<Uint8Array, Uint8Array, number, object, Buffer>(scrypt);
const signLater = promisify(sign) as unknown as (digest: string | null, data: Uint8Array, key: object) => Promise<Buffer>;
const verifyLater = promisify(verify) as unknown as (
  digest: string | null,
  data: Uint8Array,
  key: object,
  signature: Uint8Array,
) => Promise<boolean>;
const generateLater = promisify(generateKeyPair) as unknown as (
  type: string,
  options: object,
) => Promise<{ publicKey: KeyObject; privateKey: KeyObject }>;

function openCipher(fields: Fields): OpenCipher {
  const algorithm = fields.text('algorithm').toLowerCase();
  if (!ciphers.includes(algorithm)) throw Object.assign(new Error(`Unknown cipher: ${algorithm}`), { code: 'ERR_CRYPTO_UNKNOWN_CIPHER' });
  const decrypts = fields.raw('decrypts') === true;
  const tagged = authenticated.test(algorithm);
  const tagBytes = fields.optional('tagBytes', 4, 16);
  const iv = fields.bytes(1);
  const create = decrypts ? createDecipheriv : createCipheriv;
  const options = tagged && tagBytes !== undefined ? { authTagLength: tagBytes } : undefined;
  const cipher = (create as typeof createCipheriv)(
    algorithm as 'aes-256-gcm',
    bounded(fields.bytes(0), 64, 'The key'),
    algorithm.endsWith('ecb') ? null : bounded(iv, 128, 'The iv'),
    options as never,
  );
  if (fields.raw('autoPadding') === false) cipher.setAutoPadding(false);
  return new OpenCipher(cipher as CipherGCM & DecipherGCM, tagged, decrypts);
}

/** Parts of one step: key, iv, additional data, tag to check, data. The first step opens, the last one closes. */
const cipherStep: Operation = (fields) => {
  const { handles } = fields.isolate;
  let handle = fields.whole('handle', 0, Number.MAX_SAFE_INTEGER);
  const open = handle === 0 ? openCipher(fields) : handles.get(handle);
  if (!(open instanceof OpenCipher)) throw Object.assign(new Error('Unsupported state'), { code: 'ERR_CRYPTO_INVALID_STATE' });
  const { cipher, tagged, decrypts } = open;
  const last = fields.raw('last') === true;
  try {
    const [aad, tag, data] = [fields.bytes(2), fields.bytes(3), bounded(fields.bytes(4), CIPHER_CHUNK_BYTES_MAX, 'The chunk')];
    if (aad.byteLength > 0)
      cipher.setAAD(bounded(aad, CIPHER_CHUNK_BYTES_MAX, 'The additional data'), { plaintextLength: data.byteLength });
    if (tag.byteLength > 0 && decrypts) cipher.setAuthTag(tag);
    const output = data.byteLength === 0 ? new Uint8Array(0) : cipher.update(data);
    const rest = last ? cipher.final() : new Uint8Array(0);
    const made = last && tagged && !decrypts ? cipher.getAuthTag() : new Uint8Array(0);
    if (last) handles.delete(handle);
    else if (handle === 0) handle = handles.add(open, fields.owner);
    return { value: { handle }, parts: [output, rest, made], cpuMs: data.byteLength / BYTES_PER_MS };
  } catch (error) {
    handles.delete(handle);
    throw error;
  }
};

const importKey: Operation = (fields) => {
  const as = fields.text('kind', ['private', 'public']);
  const format = fields.text('format', ['pem', 'der', 'jwk']);
  let key: string | Buffer | object;
  if (format === 'jwk') {
    key = fields.raw('jwk') as object;
    if (typeof key !== 'object' || key === null || JSON.stringify(key).length > KEY_BYTES_MAX)
      throw new TypeError('The JWK must be an object');
  } else {
    const bytes = Buffer.from(bounded(fields.bytes(0), KEY_BYTES_MAX, 'The key'));
    // How long a password takes to try is the file's choice.
    if (/ENCRYPTED/.test(bytes.toString('latin1'))) throw new Error('Encrypted keys are not supported in a worker: decrypt the key first');
    key = format === 'pem' ? bytes.toString('latin1') : bytes;
  }
  const type = fields.raw('type') === undefined ? undefined : fields.text('type', ['pkcs1', 'pkcs8', 'spki', 'sec1']);
  const input = { key, format, ...(type === undefined ? {} : { type }) } as never;
  const made = checked(as === 'private' ? createPrivateKey(input) : createPublicKey(input));
  return { value: describe(made), parts: [derOf(made)] };
};

const exportKey: Operation = (fields) => {
  const key = keyOf(fields, 0);
  const format = fields.text('format', ['pem', 'der', 'jwk']);
  if (format === 'jwk') return { value: key.export({ format: 'jwk' }) };
  const type = fields.text('type', ['pkcs1', 'pkcs8', 'spki', 'sec1']);
  const exported = key.export({ format, type } as never) as unknown as string | Uint8Array;
  return typeof exported === 'string' ? { value: exported } : { parts: [exported] };
};

const generate: Operation = (fields) => {
  const type = fields.text('type', keyTypes);
  const options: Record<string, unknown> = {};
  if (type.startsWith('rsa')) {
    options['modulusLength'] = fields.whole('modulusLength', 512, MODULUS_BITS_MAX);
    options['publicExponent'] = fields.optional('publicExponent', 3, 0xffffffff) ?? 65537;
  }
  if (type === 'rsa-pss') {
    if (fields.raw('hashAlgorithm') !== undefined) options['hashAlgorithm'] = fields.text('hashAlgorithm', digests);
    if (fields.raw('mgf1HashAlgorithm') !== undefined) options['mgf1HashAlgorithm'] = fields.text('mgf1HashAlgorithm', digests);
    const saltLength = fields.optional('saltLength', 0, 512);
    if (saltLength !== undefined) options['saltLength'] = saltLength;
  }
  if (type === 'ec') options['namedCurve'] = fields.text('namedCurve', [...getCurves(), 'P-256', 'P-384', 'P-521']);
  return costing(type.startsWith('rsa') ? ((options['modulusLength'] as number) / 2048) ** 4 * 500 : 1, async () => {
    const made = await generateLater(type, options);
    return { value: [describe(made.publicKey), describe(made.privateKey)], parts: [derOf(made.publicKey), derOf(made.privateKey)] };
  });
};

const transform: Operation = (fields) => {
  const direction = fields.text('direction', ['publicEncrypt', 'privateDecrypt', 'privateEncrypt', 'publicDecrypt']);
  const key = direction === 'publicEncrypt' || direction === 'publicDecrypt' ? publicKey(fields.bytes(0)) : privateKey(fields.bytes(0));
  const data = bounded(fields.bytes(1), MODULUS_BITS_MAX / 8, 'The data');
  const label = fields.bytes(2);
  const secret = direction === 'publicEncrypt' || direction === 'privateDecrypt';
  const padding = fields.optional('padding', 1, 6) ?? (secret ? constants.RSA_PKCS1_OAEP_PADDING : constants.RSA_PKCS1_PADDING);
  const options = {
    key,
    padding,
    ...(fields.raw('oaepHash') === undefined ? {} : { oaepHash: fields.text('oaepHash', digests) }),
    ...(label.byteLength === 0 ? {} : { oaepLabel: label }),
  };
  const run = { publicEncrypt, privateDecrypt, privateEncrypt, publicDecrypt }[direction as 'publicEncrypt'];
  return { parts: [run(options, data)], cpuMs: privateCostMs(key) };
};

const operations: Readonly<Record<string, Operation>> = {
  pbkdf2: (fields) => {
    const digest = fields.text('digest', digests);
    const iterations = fields.whole('iterations', 1, ITERATIONS_MAX);
    const length = fields.whole('length', 0, DERIVED_BYTES_MAX);
    const blocks = Math.max(1, Math.ceil(length / createHash(digest).digest().byteLength));
    if (iterations * blocks > ITERATIONS_MAX)
      throw tooMuch('iterations', iterations, `at most ${Math.floor(ITERATIONS_MAX / blocks)} for a key of ${length} bytes`);
    return costing(iterations * blocks * 0.001, async () => ({
      parts: [await derive.pbkdf2(fields.bytes(0), fields.bytes(1), iterations, length, digest)],
    }));
  },
  scrypt: (fields) => {
    const length = fields.whole('length', 0, DERIVED_BYTES_MAX);
    const N = fields.whole('N', 2, 2 ** 20);
    const r = fields.whole('r', 1, 1024);
    const p = fields.whole('p', 1, 1024);
    const maxmem = fields.whole('maxmem', 0, Number.MAX_SAFE_INTEGER);
    if (N * r * p > SCRYPT_COST_MAX) throw tooMuch('N * r * p of scrypt', N * r * p, `at most ${SCRYPT_COST_MAX}`);
    return holding(fields, 128 * r * (N + p), 'scrypt', () =>
      costing(N * r * p * 0.001, async () => ({
        parts: [
          await deriveScrypt(fields.bytes(0), fields.bytes(1), length, { N, r, p, maxmem: Math.min(maxmem, SCRYPT_MEMORY_BYTES_MAX) }),
        ],
      })),
    );
  },
  hkdf: async (fields) => {
    const digest = fields.text('digest', digests);
    const length = fields.whole('length', 0, DERIVED_BYTES_MAX);
    const info = bounded(fields.bytes(2), 1024, 'info');
    return { parts: [new Uint8Array(await derive.hkdf(digest, fields.bytes(0), fields.bytes(1), info, length))] };
  },
  cipher: cipherStep,
  release: (fields) => {
    const handle = fields.raw('handle');
    if (fields.isolate.handles.get(handle) instanceof OpenCipher) fields.isolate.handles.delete(handle);
    return {};
  },
  importKey,
  exportKey,
  publicOf: (fields) => {
    const key = createPublicKey(privateKey(fields.bytes(0)));
    return { value: describe(key), parts: [derOf(key)] };
  },
  generateKeyPair: generate,
  sign: (fields) => {
    const key = privateKey(fields.bytes(0));
    const data = bounded(fields.bytes(1), SIGNED_BYTES_MAX, 'The data');
    const { digest, options } = signing(fields);
    return costing(privateCostMs(key, data.byteLength), async () => ({ parts: [await signLater(digest, data, { key, ...options })] }));
  },
  verify: (fields) => {
    const key = publicKey(fields.bytes(0));
    const data = bounded(fields.bytes(1), SIGNED_BYTES_MAX, 'The data');
    const { digest, options } = signing(fields);
    return costing(privateCostMs(key, data.byteLength), async () => ({
      value: await verifyLater(digest, data, { key, ...options }, fields.bytes(2)),
    }));
  },
  transform,
  diffieHellman: (fields): HostReply => {
    const [own, other] = [privateKey(fields.bytes(0)), publicKey(fields.bytes(1))];
    return { parts: [diffieHellman({ privateKey: own, publicKey: other })], cpuMs: 1 };
  },
  ecdh: (fields): HostReply => {
    const ecdh = createECDH(fields.text('curve', getCurves()));
    const [own, other] = [fields.bytes(0), fields.bytes(1)];
    if (own.byteLength > 0) ecdh.setPrivateKey(own);
    else ecdh.generateKeys();
    const secret = other.byteLength > 0 ? ecdh.computeSecret(other) : new Uint8Array(0);
    const format = fields.text('format', ['uncompressed', 'compressed', 'hybrid']) as 'uncompressed';
    return { parts: [ecdh.getPrivateKey(), ecdh.getPublicKey(null, format) as unknown as Uint8Array, secret], cpuMs: 1 };
  },
};

/** The call `node.crypto`. */
export const nodeCryptoCalls: Readonly<Record<string, HostHandler>> = { 'node.crypto': operationsCall(operations) };
