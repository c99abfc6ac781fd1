// Which of Node's modules exist and where a worker gets each from: builder/node/, unenv, or nowhere.
// Read by node-compat.ts and bundler-errors.ts. Pure.
import { builtinModules } from 'node:module';

/** Modules of builder/node/, whole: what unenv 2.0.0-rc.24 has as a stub or not at all. */
export const ownModules: readonly string[] = [
  'assert',
  'assert/strict',
  'async_hooks',
  'buffer',
  'console',
  'diagnostics_channel',
  'events',
  'module',
  'process',
  'stream',
  'stream/consumers',
  'stream/promises',
  'string_decoder',
  'sys',
  'timers',
  'timers/promises',
  'util',
  'util/types',
];

/** Modules of unenv that are used as they are. What is missing in them throws when it is called. */
export const unenvModules: readonly string[] = [
  'constants',
  'os',
  'path',
  'path/posix',
  'path/win32',
  'perf_hooks',
  'punycode',
  'querystring',
  'stream/web',
  'url',
];

/**
 * Every other module works in part or not at all in a worker: importing it is fine, and calling what is not named here
 * throws.
 */
export const realExports: Readonly<
  Record<
    string,
    {
      readonly from: 'own' | 'unenv';
      readonly names: readonly string[];
      /** Most of it is there: its default export is a plain object. */
      readonly whole?: true;
    }
  >
> = {
  crypto: {
    from: 'own',
    whole: true,
    names: [
      'Cipheriv',
      'Decipheriv',
      'ECDH',
      'Hash',
      'Hmac',
      'KeyObject',
      'Sign',
      'Verify',
      'constants',
      'createCipheriv',
      'createDecipheriv',
      'createECDH',
      'createHash',
      'createHmac',
      'createPrivateKey',
      'createPublicKey',
      'createSecretKey',
      'createSign',
      'createVerify',
      'diffieHellman',
      'generateKey',
      'generateKeyPair',
      'generateKeyPairSync',
      'generateKeySync',
      'getCipherInfo',
      'getCiphers',
      'getCurves',
      'getFips',
      'getHashes',
      'getRandomValues',
      'hash',
      'hkdf',
      'hkdfSync',
      'pbkdf2',
      'pbkdf2Sync',
      'privateDecrypt',
      'privateEncrypt',
      'publicDecrypt',
      'publicEncrypt',
      'randomBytes',
      'randomFill',
      'randomFillSync',
      'randomInt',
      'randomUUID',
      'scrypt',
      'scryptSync',
      'sign',
      'subtle',
      'timingSafeEqual',
      'verify',
      'webcrypto',
    ],
  },
  cluster: { from: 'unenv', names: ['isMaster', 'isPrimary', 'isWorker'] },
  fs: { from: 'unenv', names: ['constants', 'existsSync'] },
  http: {
    from: 'own',
    names: [
      'Agent',
      'ClientRequest',
      'IncomingMessage',
      'METHODS',
      'STATUS_CODES',
      'get',
      'globalAgent',
      'maxHeaderSize',
      'request',
      'validateHeaderName',
      'validateHeaderValue',
    ],
  },
  https: { from: 'own', names: ['Agent', 'get', 'globalAgent', 'request'] },
  net: { from: 'unenv', names: ['isIP', 'isIPv4', 'isIPv6'] },
  tty: { from: 'unenv', names: ['isatty'] },
  worker_threads: { from: 'unenv', names: ['isMainThread', 'parentPort', 'threadId', 'workerData'] },
  zlib: {
    from: 'own',
    whole: true,
    names: [
      'BrotliCompress',
      'BrotliDecompress',
      'Deflate',
      'DeflateRaw',
      'Gunzip',
      'Gzip',
      'Inflate',
      'InflateRaw',
      'Unzip',
      'brotliCompress',
      'brotliCompressSync',
      'brotliDecompress',
      'brotliDecompressSync',
      'constants',
      'crc32',
      'createBrotliCompress',
      'createBrotliDecompress',
      'createDeflate',
      'createDeflateRaw',
      'createGunzip',
      'createGzip',
      'createInflate',
      'createInflateRaw',
      'createUnzip',
      'deflate',
      'deflateRaw',
      'deflateRawSync',
      'deflateSync',
      'gunzip',
      'gunzipSync',
      'gzip',
      'gzipSync',
      'inflate',
      'inflateRaw',
      'inflateRawSync',
      'inflateSync',
      'unzip',
      'unzipSync',
    ],
  },
};

const names = new Set([
  ...builtinModules.map((name) => name.replace(/^node:/, '')),
  'sea',
  'sqlite',
  'test',
  'test/reporters',
]);

/** Whether Node has a module of this name (without `node:`). */
export function isNodeBuiltin(name: string): boolean {
  return names.has(name);
}

/** Whether the module is only reachable with its `node:` prefix: the bare name is a package. */
export function needsPrefix(name: string): boolean {
  return name === 'sqlite' || name === 'sea' || name.startsWith('test');
}
