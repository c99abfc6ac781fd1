import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { test } from 'node:test';
import { crypto } from '#runtime/engine/guest/lazy/crypto.ts';
import type { CryptoKey as GuestKey } from '#runtime/engine/guest/lazy/crypto/key.ts';
import { structuredClone as clone } from '#runtime/engine/guest/lazy/messages/structured-clone.ts';
import { connectGuestHost } from '#test/setup/guest-host.ts';

const handles = connectGuestHost();
const { subtle } = crypto;
const bytes = (text: string) => new TextEncoder().encode(text);

test('digests as Node does, the data as it was when called', async () => {
  const data = bytes('hello');
  const digest = subtle.digest('sha-256', data);
  data.fill(0);
  assert.equal(Buffer.from(await digest).toString('hex'), createHash('sha256').update('hello').digest('hex'));
  const large = new Uint8Array(100_000);
  assert.equal(
    Buffer.from(await subtle.digest({ name: 'SHA-512' }, large)).toString('hex'),
    createHash('sha512').update(large).digest('hex'),
  );
  for (const name of ['MD5', 'md5'])
    assert.equal(
      Buffer.from(await subtle.digest({ name }, bytes('hello'))).toString('hex'),
      '5d41402abc4b2a76b9719d911017c592',
    );
  await assert.rejects(subtle.digest('MD4', data), { name: 'NotSupportedError' });
  await assert.rejects(subtle.digest('SHA-256', 'text'), { name: 'TypeError' });
});

test('signs and verifies with an imported HMAC key', async () => {
  const key = await subtle.importKey('raw', bytes('secret'), { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
    'verify',
  ]);
  assert.deepEqual([key.type, key.extractable, key.usages], ['secret', false, ['sign', 'verify']]);
  assert.deepEqual(key.algorithm, { name: 'HMAC', hash: { name: 'SHA-256' }, length: 48 });
  const signature = await subtle.sign('HMAC', key, bytes('data'));
  assert.equal(Buffer.from(signature).toString('hex'), createHmac('sha256', 'secret').update('data').digest('hex'));
  assert.equal(await subtle.verify('HMAC', key, signature, bytes('data')), true);
  assert.equal(await subtle.verify('HMAC', clone(key), signature, bytes('other')), false);
  await assert.rejects(subtle.exportKey('raw', key), { name: 'InvalidAccessError' });
  await assert.rejects(subtle.encrypt({ name: 'AES-GCM', iv: new Uint8Array(12) }, key, bytes('x')), {
    name: 'InvalidAccessError',
  });
});

test('imports a key again that the host has forgotten', async () => {
  const importHmac = () => subtle.importKey('raw', bytes('secret'), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const first = await importHmac();
  const signature = await subtle.sign('HMAC', first, bytes('data'));
  for (let index = 0; index < 200; index++) await importHmac();
  assert.deepEqual(await subtle.sign('HMAC', first, bytes('data')), signature);
});

test('encrypts with AES-GCM and wraps keys', async () => {
  const key = (await subtle.generateKey({ name: 'AES-GCM', length: 256 }, true, [
    'encrypt',
    'decrypt',
    'wrapKey',
    'unwrapKey',
  ])) as GuestKey;
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const sealed = await subtle.encrypt(
    { name: 'AES-GCM', iv, additionalData: bytes('more') },
    key,
    bytes('secret text'),
  );
  assert.equal(
    Buffer.from(await subtle.decrypt({ name: 'AES-GCM', iv, additionalData: bytes('more') }, key, sealed)).toString(),
    'secret text',
  );
  await assert.rejects(subtle.decrypt({ name: 'AES-GCM', iv }, key, sealed), { name: 'OperationError' });
  const wrapped = await subtle.wrapKey('raw', key, key, { name: 'AES-GCM', iv });
  const unwrapped = await subtle.unwrapKey('raw', wrapped, key, { name: 'AES-GCM', iv }, 'AES-GCM', true, ['decrypt']);
  assert.deepEqual(await subtle.exportKey('raw', unwrapped), await subtle.exportKey('raw', key));
});

test('makes, exports, imports and uses key pairs', async () => {
  const pair = (await subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify'])) as {
    publicKey: GuestKey;
    privateKey: GuestKey;
  };
  const jwk = (await subtle.exportKey('jwk', pair.publicKey)) as Record<string, unknown>;
  assert.equal(jwk['crv'], 'P-256');
  const imported = await subtle.importKey('jwk', jwk, { name: 'ECDSA', namedCurve: 'P-256' }, true, ['verify']);
  const signature = await subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, pair.privateKey, bytes('x'));
  assert.equal(
    await subtle.verify({ name: 'ECDSA', hash: { name: 'SHA-256' } }, imported, signature, bytes('x')),
    true,
  );
  const rsa = (await subtle.generateKey(
    { name: 'RSA-PSS', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' },
    false,
    ['sign', 'verify'],
  )) as { publicKey: GuestKey };
  assert.deepEqual(rsa.publicKey.algorithm['publicExponent'], new Uint8Array([1, 0, 1]));
});

test('derives bits and keys', async () => {
  const password = await subtle.importKey('raw', bytes('password'), 'PBKDF2', false, ['deriveBits', 'deriveKey']);
  const algorithm = { name: 'PBKDF2', hash: 'SHA-256', salt: bytes('salt'), iterations: 2 };
  assert.equal(
    Buffer.from(await subtle.deriveBits(algorithm, password, 256)).toString('hex'),
    'ae4d0c95af6b46d32d0adff928f06dd02a303f8ef3c251dfd6e2d85a95474c43',
  );
  const key = await subtle.deriveKey(algorithm, password, { name: 'AES-CBC', length: 128 }, true, ['encrypt']);
  assert.equal(((await subtle.exportKey('raw', key)) as ArrayBuffer).byteLength, 16);
  await assert.rejects(subtle.deriveBits({ ...algorithm, iterations: 50_000_000 }, password, 256), {
    name: 'NotSupportedError',
  });
  const mine = (await subtle.generateKey({ name: 'X25519' }, true, ['deriveBits'])) as {
    publicKey: GuestKey;
    privateKey: GuestKey;
  };
  const theirs = (await subtle.generateKey({ name: 'X25519' }, true, ['deriveBits'])) as {
    publicKey: GuestKey;
    privateKey: GuestKey;
  };
  assert.deepEqual(
    await subtle.deriveBits({ name: 'X25519', public: theirs.publicKey }, mine.privateKey, 256),
    await subtle.deriveBits({ name: 'X25519', public: mine.publicKey }, theirs.privateKey, 256),
  );
});

test('refuses wrong arguments with the error the standard names', async () => {
  await assert.rejects(subtle.importKey('raw', bytes('x'), 'AES-GCM', false, ['encrypt']), { name: 'DataError' });
  await assert.rejects(subtle.importKey('raw', bytes('x'), { name: 'HMAC', hash: 'SHA-256' }, false, []), {
    name: 'SyntaxError',
    code: 12,
  });
  await assert.rejects(subtle.importKey('nonsense', bytes('x'), 'AES-GCM', false, ['encrypt']), { name: 'TypeError' });
  await assert.rejects(subtle.sign('HMAC', {}, bytes('x')), { name: 'TypeError' });
  await assert.rejects(
    subtle.generateKey(
      { name: 'RSA-PSS', modulusLength: 16384, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' },
      false,
      ['sign'],
    ),
    { name: 'NotSupportedError' },
  );
  await assert.rejects(Reflect.apply(Object.getPrototypeOf(subtle).digest, {}, ['SHA-256', bytes('x')]), {
    name: 'TypeError',
  });
});

test('lets go of every key with the isolate', () => {
  handles.closeAll();
  assert.equal(handles.get(1), undefined);
});

test('draws random values and identifiers', () => {
  const values = crypto.getRandomValues(new Uint32Array(8));
  assert.ok(values.some((value) => value !== 0));
  assert.throws(() => crypto.getRandomValues(new Float32Array(1)), { name: 'TypeMismatchError' });
  assert.throws(() => crypto.getRandomValues(new Uint8Array(65_537)), { name: 'QuotaExceededError', code: 22 });
  const identifiers = new Set(Array.from({ length: 500 }, () => crypto.randomUUID()));
  assert.equal(identifiers.size, 500);
  for (const one of identifiers)
    assert.match(one, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test('compares in constant time and refuses unequal lengths', () => {
  assert.equal(subtle.timingSafeEqual(bytes('same'), bytes('same')), true);
  assert.equal(subtle.timingSafeEqual(bytes('same'), bytes('Same')), false);
  assert.throws(() => subtle.timingSafeEqual(bytes('a'), bytes('ab')), { name: 'TypeError' });
});
