// Operations of node:crypto that block a thread: all except ciphers and hashes. These operations run on threads of
// host-work.ts; the main thread only computes their cost. Keys are passed as DER with each call, so no state is kept.
import {
  constants,
  createECDH,
  createHash,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  getCurves,
  hkdfSync,
  pbkdf2Sync,
  privateDecrypt,
  privateEncrypt,
  publicDecrypt,
  publicEncrypt,
  scryptSync,
  sign,
  verify,
  type KeyObject,
} from 'node:crypto';
import { checked, derOf, describe, keyOf, KEY_TYPES, MODULUS_BITS_MAX, privateKey, publicKey } from './crypto-keys.ts';
import { tooMuch, type Fields } from './fields.ts';
import type { ThreadReply } from './threads.ts';

/** An operation, on the thread that it blocks. */
type ThreadOperation = (fields: Fields) => ThreadReply;

/** Maximum number of iterations for all blocks of one derived key, which take about a second of a thread. */
const ITERATIONS_MAX = 2_000_000;
/** Maximum of N * r * p of scrypt, for OWASP's strongest parameters, which take about half a second of a thread. */
const SCRYPT_COST_MAX = 2 ** 20;
const SCRYPT_MEMORY_BYTES_MAX = 160 * 1024 * 1024;
const DERIVED_BYTES_MAX = 1024 * 1024;
const SIGNED_BYTES_MAX = 32 * 1024 * 1024;
const KEY_BYTES_MAX = 64 * 1024;
/** Number of bytes that are signed per millisecond. */
const BYTES_PER_MS = 500_000;

const DIGESTS = [
  'md5',
  'ripemd160',
  'sha1',
  'sha224',
  'sha256',
  'sha384',
  'sha512',
  'sha512-256',
  'sha3-256',
  'sha3-384',
  'sha3-512',
];

/** Parameters of `sign` and `verify` in addition to the key. */
function signing(fields: Fields): { digest: string | null; options: object } {
  const [padding, saltLength] = [fields.optional('padding', 1, 6), fields.optional('saltLength', -3, 512)];
  return {
    digest: fields.raw('digest') === null ? null : fields.text('digest', DIGESTS),
    options: {
      ...(padding === undefined ? {} : { padding }),
      ...(saltLength === undefined ? {} : { saltLength }),
      ...(fields.raw('dsaEncoding') === undefined
        ? {}
        : { dsaEncoding: fields.text('dsaEncoding', ['der', 'ieee-p1363']) }),
    },
  };
}

function bounded(bytes: Uint8Array, most: number, what: string): Uint8Array {
  if (bytes.byteLength > most) throw tooMuch(what, bytes.byteLength, `at most ${most} bytes`);
  return bytes;
}

const importKey: ThreadOperation = (fields) => {
  const as = fields.text('kind', ['private', 'public']);
  const format = fields.text('format', ['pem', 'der', 'jwk']);
  let key: string | Buffer | object;
  if (format === 'jwk') {
    key = fields.raw('jwk') as object;
    if (typeof key !== 'object' || key === null || JSON.stringify(key).length > KEY_BYTES_MAX)
      throw new TypeError('The JWK must be an object');
  } else {
    const bytes = Buffer.from(bounded(fields.bytes(0), KEY_BYTES_MAX, 'The key'));
    // Encrypted keys are refused, because the file itself determines how long its decryption takes.
    if (/ENCRYPTED/.test(bytes.toString('latin1')))
      throw new Error('Encrypted keys are not supported in a worker: decrypt the key first');
    key = format === 'pem' ? bytes.toString('latin1') : bytes;
  }
  const type = fields.raw('type') === undefined ? undefined : fields.text('type', ['pkcs1', 'pkcs8', 'spki', 'sec1']);
  const input = { key, format, ...(type === undefined ? {} : { type }) } as never;
  const made = checked(as === 'private' ? createPrivateKey(input) : createPublicKey(input));
  return { value: describe(made), parts: [derOf(made)] };
};

const exportKey: ThreadOperation = (fields) => {
  const key = keyOf(fields, 0);
  const format = fields.text('format', ['pem', 'der', 'jwk']);
  if (format === 'jwk') return { value: key.export({ format: 'jwk' }) };
  const type = fields.text('type', ['pkcs1', 'pkcs8', 'spki', 'sec1']);
  const exported = key.export({ format, type } as never) as unknown as string | Uint8Array;
  return typeof exported === 'string' ? { value: exported } : { parts: [exported] };
};

const generate: ThreadOperation = (fields) => {
  const type = fields.text('type', KEY_TYPES);
  const options: Record<string, unknown> = {};
  if (type.startsWith('rsa')) {
    options['modulusLength'] = fields.whole('modulusLength', 512, MODULUS_BITS_MAX);
    options['publicExponent'] = fields.optional('publicExponent', 3, 0xffffffff) ?? 65537;
  }
  if (type === 'rsa-pss') {
    if (fields.raw('hashAlgorithm') !== undefined) options['hashAlgorithm'] = fields.text('hashAlgorithm', DIGESTS);
    if (fields.raw('mgf1HashAlgorithm') !== undefined)
      options['mgf1HashAlgorithm'] = fields.text('mgf1HashAlgorithm', DIGESTS);
    const saltLength = fields.optional('saltLength', 0, 512);
    if (saltLength !== undefined) options['saltLength'] = saltLength;
  }
  if (type === 'ec') options['namedCurve'] = fields.text('namedCurve', [...getCurves(), 'P-256', 'P-384', 'P-521']);
  const made = generateKeyPairSync(type as 'rsa', options as never) as unknown as {
    publicKey: KeyObject;
    privateKey: KeyObject;
  };
  return {
    value: [describe(made.publicKey), describe(made.privateKey)],
    parts: [derOf(made.publicKey), derOf(made.privateKey)],
  };
};

const transform: ThreadOperation = (fields) => {
  const direction = fields.text('direction', ['publicEncrypt', 'privateDecrypt', 'privateEncrypt', 'publicDecrypt']);
  const key =
    direction === 'publicEncrypt' || direction === 'publicDecrypt'
      ? publicKey(fields.bytes(0))
      : privateKey(fields.bytes(0));
  const data = bounded(fields.bytes(1), MODULUS_BITS_MAX / 8, 'The data');
  const label = fields.bytes(2);
  const secret = direction === 'publicEncrypt' || direction === 'privateDecrypt';
  const padding =
    fields.optional('padding', 1, 6) ?? (secret ? constants.RSA_PKCS1_OAEP_PADDING : constants.RSA_PKCS1_PADDING);
  const options = {
    key,
    padding,
    ...(fields.raw('oaepHash') === undefined ? {} : { oaepHash: fields.text('oaepHash', DIGESTS) }),
    ...(label.byteLength === 0 ? {} : { oaepLabel: label }),
  };
  const run = { publicEncrypt, privateDecrypt, privateEncrypt, publicDecrypt }[direction as 'publicEncrypt'];
  return { parts: [run(options, data)] };
};

/** Parameters of a derived key. @throws {RangeError} when the cost exceeds a worker's limit. */
function checkedDerivation(fields: Fields): { digest: string; iterations: number; length: number; rounds: number } {
  const digest = fields.text('digest', DIGESTS);
  const iterations = fields.whole('iterations', 1, ITERATIONS_MAX);
  const length = fields.whole('length', 0, DERIVED_BYTES_MAX);
  const blocks = Math.max(1, Math.ceil(length / createHash(digest).digest().byteLength));
  if (iterations * blocks > ITERATIONS_MAX)
    throw tooMuch(
      'iterations',
      iterations,
      `at most ${Math.floor(ITERATIONS_MAX / blocks)} for a key of ${length} bytes`,
    );
  return { digest, iterations, length, rounds: iterations * blocks };
}

function checkedScrypt(fields: Fields): { N: number; r: number; p: number; length: number; maxmem: number } {
  const length = fields.whole('length', 0, DERIVED_BYTES_MAX);
  const N = fields.whole('N', 2, 2 ** 20);
  const r = fields.whole('r', 1, 1024);
  const p = fields.whole('p', 1, 1024);
  const maxmem = Math.min(fields.whole('maxmem', 0, Number.MAX_SAFE_INTEGER), SCRYPT_MEMORY_BYTES_MAX);
  if (N * r * p > SCRYPT_COST_MAX) throw tooMuch('N * r * p of scrypt', N * r * p, `at most ${SCRYPT_COST_MAX}`);
  return { N, r, p, length, maxmem };
}

/** Node's own operations, each on the thread that it blocks. */
export const cryptoOperations: Readonly<Record<string, ThreadOperation>> = {
  pbkdf2: (fields) => {
    const { digest, iterations, length } = checkedDerivation(fields);
    return { parts: [pbkdf2Sync(fields.bytes(0), fields.bytes(1), iterations, length, digest)] };
  },
  scrypt: (fields) => {
    const { length, ...options } = checkedScrypt(fields);
    return { parts: [scryptSync(fields.bytes(0), fields.bytes(1), length, options)] };
  },
  hkdf: (fields) => {
    const digest = fields.text('digest', DIGESTS);
    const length = fields.whole('length', 0, DERIVED_BYTES_MAX);
    const info = bounded(fields.bytes(2), 1024, 'info');
    return { parts: [new Uint8Array(hkdfSync(digest, fields.bytes(0), fields.bytes(1), info, length))] };
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
    return { parts: [sign(digest, data, { key, ...options })] };
  },
  verify: (fields) => {
    const key = publicKey(fields.bytes(0));
    const data = bounded(fields.bytes(1), SIGNED_BYTES_MAX, 'The data');
    const { digest, options } = signing(fields);
    return { value: verify(digest, data, { key, ...options }, fields.bytes(2)) };
  },
  transform,
  diffieHellman: (fields) => {
    const [own, other] = [privateKey(fields.bytes(0)), publicKey(fields.bytes(1))];
    return { parts: [diffieHellman({ privateKey: own, publicKey: other })] };
  },
  ecdh: (fields) => {
    const ecdh = createECDH(fields.text('curve', getCurves()));
    const [own, other] = [fields.bytes(0), fields.bytes(1)];
    if (own.byteLength > 0) ecdh.setPrivateKey(own);
    else ecdh.generateKeys();
    const secret = other.byteLength > 0 ? ecdh.computeSecret(other) : new Uint8Array(0);
    const format = fields.text('format', ['uncompressed', 'compressed', 'hybrid']) as 'uncompressed';
    return { parts: [ecdh.getPrivateKey(), ecdh.getPublicKey(null, format) as unknown as Uint8Array, secret] };
  },
};

/** Milliseconds per 1000 iterations of PBKDF2; other hashes are as fast as SHA-256. */
const iterationCosts: Readonly<Record<string, number>> = {
  sha384: 0.25,
  sha512: 0.25,
  'sha512-256': 0.25,
  ripemd160: 0.3,
};

/**
 * The cost of RSA grows with the cube of the modulus. The DER of a private key is about five times as long as the
 * modulus.
 */
function rsaCostMs(modulusBits: number): number {
  return Math.max(0.1, (modulusBits / 4096) ** 3 * 2);
}

/**
 * The minimum cost of an operation in milliseconds, computed from its arguments. It decides whether the operation
 * begins; the measured time is charged.
 *
 * @throws {RangeError} when the cost exceeds a worker's limit.
 */
export function cryptoCostMs(op: string, fields: Fields): number {
  switch (op) {
    case 'pbkdf2': {
      const { digest, rounds } = checkedDerivation(fields);
      return (rounds / 1000) * (iterationCosts[digest] ?? (digest.startsWith('sha3') ? 0.4 : 0.1));
    }
    case 'scrypt': {
      const { N, r, p } = checkedScrypt(fields);
      return N * r * p * 0.00015;
    }
    case 'generateKeyPair': {
      const bits = fields.text('type').startsWith('rsa') ? fields.whole('modulusLength', 512, MODULUS_BITS_MAX) : 0;
      return Math.max(0.1, (bits / 2048) ** 4 * 15);
    }
    case 'transform':
    case 'sign':
    case 'verify':
      return (
        (fields.bytes(0).byteLength > 500 ? rsaCostMs(fields.bytes(0).byteLength * 1.6) : 0.1) +
        fields.bytes(1).byteLength / BYTES_PER_MS
      );
    default:
      return 0.1;
  }
}

/** Memory of an operation in addition to its arguments. */
export function cryptoBytes(op: string, fields: Fields): number {
  if (op !== 'scrypt') return 0;
  const { N, r, p } = checkedScrypt(fields);
  return 128 * r * (N + p);
}
