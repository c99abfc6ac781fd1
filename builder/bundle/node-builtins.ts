// Node's built-in modules and where a worker gets each: from builder/node/, from unenv, or not at all. Used by
// node-compat.ts and bundler-errors.ts. Pure.
import { builtinModules } from 'node:module';

/** Modules implemented in builder/node/, which unenv 2.0.0-rc.24 lacks or only stubs. */
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

/** Modules of unenv used unchanged. Missing functions throw when called. */
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
 * All other modules work partly or not at all in a worker: they can be imported, and functions not listed here throw
 * when called.
 */
export const realExports: Readonly<
  Record<
    string,
    {
      readonly from: 'own' | 'unenv';
      readonly names: readonly string[];
      /** Mostly complete modules, whose default export is a plain object. */
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
  dns: {
    from: 'own',
    names: [
      'ADDRCONFIG',
      'ALL',
      'CANCELLED',
      'NODATA',
      'NOTFOUND',
      'REFUSED',
      'SERVFAIL',
      'TIMEOUT',
      'V4MAPPED',
      'getDefaultResultOrder',
      'getServers',
      'lookup',
      'promises',
      'resolve4',
      'resolve6',
      'setDefaultResultOrder',
      'setServers',
    ],
  },
  'dns/promises': { from: 'own', names: ['lookup', 'resolve4', 'resolve6'] },
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
  net: {
    from: 'own',
    names: [
      'Socket',
      'Stream',
      'connect',
      'createConnection',
      'getDefaultAutoSelectFamily',
      'getDefaultAutoSelectFamilyAttemptTimeout',
      'isIP',
      'isIPv4',
      'isIPv6',
      'setDefaultAutoSelectFamily',
      'setDefaultAutoSelectFamilyAttemptTimeout',
    ],
  },
  tls: {
    from: 'own',
    names: [
      'DEFAULT_CIPHERS',
      'DEFAULT_ECDH_CURVE',
      'DEFAULT_MAX_VERSION',
      'DEFAULT_MIN_VERSION',
      'SecureContext',
      'TLSSocket',
      'checkServerIdentity',
      'connect',
      'createSecureContext',
      'getCiphers',
      'rootCertificates',
    ],
  },
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

/** Whether Node has a module with this name (without `node:`). */
export function isNodeBuiltin(name: string): boolean {
  return names.has(name);
}

/** Whether the module requires the `node:` prefix: the bare name is a package. */
export function needsPrefix(name: string): boolean {
  return name === 'sqlite' || name === 'sea' || name.startsWith('test');
}
