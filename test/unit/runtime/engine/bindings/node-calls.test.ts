// node.crypto and node.zlib as a hostile worker would call them: every field wrong, every size too large.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { createNodeCryptoCalls } from '#runtime/engine/bindings/node-crypto.ts';
import { createNodeZlibCalls } from '#runtime/engine/bindings/node-zlib.ts';
import { PlatformError } from '#core/errors.ts';
import { defaultLimits } from '#core/limits.ts';
import { HandleTable } from '#runtime/engine/bridge/handle-table.ts';
import { EngineMemory } from '#runtime/engine/bridge/host-memory.ts';
import { HostWork } from '#runtime/engine/work/host-work.ts';
import { freeOwner } from '#runtime/engine/bridge/free-owner.ts';
import type { CallScope, HostCall, HostReply } from '#runtime/engine/bridge/host-calls.ts';

const work = new HostWork();
const [nodeCryptoCalls, nodeZlibCalls] = [createNodeCryptoCalls(work), createNodeZlibCalls(work)];
after(() => work.close());
/** CPU that calls were charged. */
let chargedMs = 0;
const owner = { ...freeOwner, id: 1, settleCpu: (_reservedMs: number, usedMs: number) => void (chargedMs += usedMs) };
const none = new Uint8Array(0);
const memory = new EngineMemory(defaultLimits).open('test');
const handles = new HandleTable(3, memory);
const isolate = { handles, memory } as unknown as CallScope;

async function call(module: 'crypto' | 'zlib', args: unknown, parts: readonly unknown[] = []): Promise<HostReply> {
  const handler = module === 'crypto' ? nodeCryptoCalls['node.crypto']! : nodeZlibCalls['node.zlib']!;
  return handler({ args, parts, isolate, owner, signal: new AbortController().signal } as unknown as HostCall);
}

async function errorOf(module: 'crypto' | 'zlib', args: unknown, parts: readonly unknown[] = []): Promise<string> {
  const { value } = await call(module, args, parts);
  const { error } = (value ?? {}) as { error?: { name: string; message: string } };
  return error === undefined ? 'none' : `${error.name}: ${error.message}`;
}

test('operations that do not exist are refused', async () => {
  for (const args of [
    null,
    7,
    {},
    { op: 7 },
    { op: 'nope' },
    { op: 'constructor' },
    { op: '__proto__' },
    { op: 'toString' },
  ]) {
    assert.match(
      await errorOf('crypto', args),
      /^TypeError: (?:The operation is unknown|The arguments must be an object)$/,
    );
    assert.match(
      await errorOf('zlib', args),
      /^TypeError: (?:The operation is unknown|The arguments must be an object)$/,
    );
  }
});

test('key derivation is bounded in what it may cost, and says so', async () => {
  const scrypt = { op: 'scrypt', length: 32, N: 16_384, r: 8, p: 1, maxmem: 2 ** 40 };
  const pbkdf2 = { op: 'pbkdf2', length: 32, iterations: 10, digest: 'sha256' };
  assert.equal(
    await errorOf('crypto', { ...scrypt, N: 2 ** 20 }, [none, none]),
    'RangeError: N * r * p of scrypt is 8388608, but a worker may use at most 1048576',
  );
  assert.equal(
    await errorOf('crypto', { ...scrypt, N: 2 ** 30 }, [none, none]),
    'RangeError: N is 1073741824, but a worker may use 2 to 1048576',
  );
  assert.equal(
    await errorOf('crypto', { ...pbkdf2, iterations: 10_000_000 }, [none, none]),
    'RangeError: iterations is 10000000, but a worker may use 1 to 2000000',
  );
  assert.equal(
    await errorOf('crypto', { ...pbkdf2, iterations: 1_000_000, length: 320 }, [none, none]),
    'RangeError: iterations is 1000000, but a worker may use at most 200000 for a key of 320 bytes',
  );
  assert.equal(
    await errorOf('crypto', { ...pbkdf2, iterations: 1.5 }, [none, none]),
    'TypeError: iterations must be a whole number',
  );
  assert.match(
    await errorOf('crypto', { ...pbkdf2, digest: 'shake256' }, [none, none]),
    /^TypeError: digest must be one of md5,/,
  );
  assert.equal(await errorOf('crypto', pbkdf2, ['text', none]), 'TypeError: Bytes are missing');
});

test('what a derivation cost is charged to who asked for it', async () => {
  chargedMs = 0;
  await call('crypto', { op: 'pbkdf2', length: 32, iterations: 20_000, digest: 'sha256' }, [none, none]);
  assert.ok(chargedMs > 0);
});

test('what the budget has no room for is not begun', async () => {
  const refuse = (): never => {
    throw new PlatformError('cpu_limit_exceeded');
  };
  const poor = {
    args: { op: 'pbkdf2', length: 32, iterations: 20_000, digest: 'sha256' },
    parts: [none, none],
    isolate,
  };
  const asked = nodeCryptoCalls['node.crypto']!({
    ...poor,
    owner: { ...owner, reserveCpu: refuse },
  } as unknown as HostCall);
  await assert.rejects(async () => asked, { code: 'cpu_limit_exceeded' });
});

test('keys are read, bounded and never encrypted', async () => {
  const read = (pem: string): Promise<string> =>
    errorOf('crypto', { op: 'importKey', kind: 'private', format: 'pem' }, [Buffer.from(pem)]);
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const sealed = privateKey.export({ format: 'pem', type: 'pkcs8', cipher: 'aes-256-cbc', passphrase: 'x' }) as string;
  assert.equal(await read(sealed), 'Error: Encrypted keys are not supported in a worker: decrypt the key first');
  assert.match(
    await read('x'.repeat(70_000)),
    /^RangeError: The key is 70000, but a worker may use at most 65536 bytes$/,
  );
  const dsa = generateKeyPairSync('dsa', { modulusLength: 1024, divisorLength: 160 }).privateKey.export({
    format: 'pem',
    type: 'pkcs8',
  }) as string;
  assert.match(await read(dsa), /^TypeError: Keys of type dsa are not supported in a worker/);
  assert.match(
    await errorOf('crypto', { op: 'generateKeyPair', type: 'rsa', modulusLength: 16_384 }),
    /^RangeError: modulusLength is 16384, but a worker may use 512 to 4096$/,
  );
  assert.match(await errorOf('crypto', { op: 'generateKeyPair', type: 'dh' }), /^TypeError: type must be one of rsa,/);
});

test('open ciphers and streams are bounded by the table of handles, and foreign handles name nothing', async () => {
  const key = new Uint8Array(32);
  const open = { op: 'cipher', handle: 0, algorithm: 'aes-256-ctr', decrypts: false };
  const parts = [key, new Uint8Array(16), none, none, new Uint8Array(4)];
  const taken = [
    await call('crypto', open, parts),
    await call('crypto', open, parts),
    await call('zlib', { op: 'push', handle: 0, method: 'gzip' }, [key, none]),
  ];
  assert.match(await errorOf('crypto', open, parts), /More than 3 keys and streams of one worker are open/);
  const [cipher, , codec] = taken.map(({ value }) => (value as { handle: number }).handle) as [number, number, number];
  assert.equal(await errorOf('crypto', { op: 'cipher', handle: codec, last: true }, parts), 'Error: Unsupported state');
  assert.equal(await errorOf('zlib', { op: 'push', handle: cipher }, [key, none]), 'Error: The stream is closed');
  assert.equal(
    await errorOf('crypto', { op: 'cipher', handle: -1 }, parts),
    'RangeError: handle is -1, but a worker may use 0 to 9007199254740991',
  );
  await call('crypto', { op: 'release', handle: codec });
  await call('zlib', { op: 'close', handle: cipher });
  assert.match(await errorOf('crypto', open, parts), /More than 3/);
  handles.closeAll();
  assert.equal(await errorOf('crypto', { ...open, last: true }, parts), 'none');
});

test('what is unpacked is bounded', async () => {
  const megabyte = gzipSync(Buffer.alloc(1024 * 1024));
  const bomb = Buffer.concat(Array.from({ length: 65 }, () => megabyte));
  assert.match(
    await errorOf('zlib', { op: 'whole', method: 'gunzip' }, [bomb, none]),
    /^RangeError: Cannot create a Buffer larger than 67108864 bytes/,
  );
  assert.match(
    await errorOf('zlib', { op: 'whole', method: 'brotliCompress' }, [new Uint8Array(5_000_000), none]),
    /^RangeError: The input is 5000000, but a worker may use at most 4194304 bytes at a Brotli quality above 9$/,
  );
  assert.match(
    await errorOf('zlib', { op: 'whole', method: 'gzip', level: 99 }, [none, none]),
    /^RangeError: level is 99/,
  );
  assert.match(
    await errorOf('zlib', { op: 'whole', method: 'constructor' }, [none, none]),
    /^TypeError: method must be one of gzip/,
  );
  const brotli = (method: string, params: object): Promise<string> =>
    errorOf('zlib', { op: 'whole', method, params }, [none, none]);
  assert.match(await brotli('brotliCompress', { 5: 1e99 }), /^RangeError: Brotli's parameter 5 is/);
  assert.match(
    await brotli('brotliCompress', { 2: 30 }),
    /^RangeError: Brotli's parameter 2 is 30, but a worker may use 0 to 24$/,
  );
  assert.equal(
    await brotli('brotliCompress', { 6: 1 }),
    "RangeError: Brotli's large window is 1, but a worker may use none",
  );
  assert.equal(
    await brotli('brotliDecompress', { 1: 1 }),
    "RangeError: Brotli's large window is 1, but a worker may use none",
  );
  assert.equal(await brotli('brotliCompress', { 1: 4, 2: 22 }), 'none');
});
