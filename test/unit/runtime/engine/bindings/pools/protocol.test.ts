// What a pool reads of Postgres' protocol and of the URLs of servers: borders of messages, parameters, authentication.
import assert from 'node:assert/strict';
import { createHash, createHmac, pbkdf2Sync } from 'node:crypto';
import { test } from 'node:test';
import { authenticate } from '#runtime/engine/bindings/pools/authentication.ts';
import {
  codeOf,
  errorField,
  errorMessage,
  int32,
  message,
  MessageReader,
  readParameters,
  startupMessage,
} from '#runtime/engine/bindings/pools/messages.ts';
import { parseServerAddress } from '#runtime/engine/bindings/pools/server-address.ts';

test('messages are found whole, in bytes, and in pieces of any length', () => {
  const bytes = Buffer.concat([
    message('Q', 'SELECT 1\0'),
    message('S'),
    message('D', Buffer.alloc(300)),
    message('Z', 'I'),
  ]);
  for (const size of [1, 2, 3, 5, 7, 64, bytes.length]) {
    const found: [string, number | null][] = [];
    const reader = new MessageReader(
      (type, body) => found.push([String.fromCharCode(type), body?.length ?? null]),
      (type) => (type === codeOf('D') ? 0 : 10),
    );
    for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
    assert.deepEqual(
      found,
      [
        ['Q', 9],
        ['S', 0],
        ['D', null],
        ['Z', 1],
      ],
      String(size),
    );
    assert.equal(reader.isBetween, true);
  }
});

test('a message that has begun is not between messages, and an impossible length is refused', () => {
  const reader = (): MessageReader =>
    new MessageReader(
      () => {},
      () => 0,
    );
  const half = reader();
  half.push(message('Q', 'SELECT 1\0').subarray(0, 8));
  assert.equal(half.isBetween, false);
  for (const length of [0, 3, -1, 0x8000_0000])
    assert.throws(() => reader().push(Buffer.concat([Buffer.from('Q'), int32(length)])), /impossible length/);
});

test('a type can stop the reader before its message', () => {
  const reader = new MessageReader(
    () => {},
    () => 0,
    (type) => type !== codeOf('X'),
  );
  assert.equal(reader.push(Buffer.concat([message('S'), message('X'), message('S')])), 5);
});

test('parameters of a startup message are pairs, and errors have fields', () => {
  assert.deepEqual(
    { ...readParameters(startupMessage({ user: 'a', options: '-c x=1' }).subarray(8)) },
    {
      user: 'a',
      options: '-c x=1',
    },
  );
  for (const text of ['', 'user\0a', 'user\0a\0', 'user\0a\0b\0\0'])
    assert.equal(readParameters(Buffer.from(text)), null, JSON.stringify(text));
  const body = errorMessage('53300', 'too many').subarray(5);
  assert.deepEqual([errorField(body, 'C'), errorField(body, 'M'), errorField(body, 'X')], ['53300', 'too many', null]);
});

const account = { user: 'ada', password: 'secret' };
const ask = (kind: number, ...parts: readonly (Uint8Array | string)[]): Buffer =>
  message('R', int32(kind), ...parts).subarray(5);

test('clear text and MD5 are answered as the protocol says', async () => {
  const plain = authenticate(account, () => {});
  assert.equal(String((await plain.next(ask(3)))!.subarray(5)), 'secret\0');
  const salt = Buffer.from([1, 2, 3, 4]);
  const md5 = (...parts: readonly (string | Uint8Array)[]): string => {
    const hash = createHash('md5');
    for (const part of parts) hash.update(part);
    return hash.digest('hex');
  };
  const hashed = authenticate(account, () => {});
  assert.equal(String((await hashed.next(ask(5, salt)))!.subarray(5)), `md5${md5(md5('secretada'), salt)}\0`);
  assert.equal(await hashed.next(ask(0)), null);
  assert.equal(hashed.isDone, true);
  await assert.rejects(hashed.next(ask(7)), /not supported/);
});

/** The server's half of SCRAM. @param forged its proof is another one. */
async function scram(rounds: number, forged: boolean): Promise<{ isDone: boolean; chargedMs: number }> {
  let chargedMs = 0;
  const client = authenticate(account, (ms) => (chargedMs += ms));
  const first = (await client.next(ask(10, 'SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0')))!.subarray(5);
  const bare = String(first).split('n,,')[1]!;
  const salt = Buffer.alloc(16, 7);
  const challenge = `r=${bare.split('r=')[1]}server,s=${salt.toString('base64')},i=${rounds}`;
  const last = String((await client.next(ask(11, challenge)))!.subarray(5));
  const hmac = (key: Uint8Array, text: string): Buffer => createHmac('sha256', key).update(text).digest();
  const salted = pbkdf2Sync('secret', salt, rounds, 32, 'sha256');
  const signed = `${bare},${challenge},${last.split(',p=')[0]}`;
  const clientKey = hmac(salted, 'Client Key');
  const stored = createHash('sha256').update(clientKey).digest();
  const proof = clientKey.map((byte, at) => byte ^ hmac(stored, signed)[at]!);
  assert.equal(last.split(',p=')[1], Buffer.from(proof).toString('base64'));
  const own = hmac(hmac(salted, 'Server Key'), signed).map((byte) => (forged ? byte ^ 1 : byte));
  await client.next(ask(12, `v=${Buffer.from(own).toString('base64')}`));
  await client.next(ask(0));
  return { isDone: client.isDone, chargedMs };
}

test('SCRAM proves the password to the server, and asks it for its own proof', async () => {
  const { isDone, chargedMs } = await scram(4096, false);
  assert.equal(isDone, true);
  assert.ok(chargedMs > 1);
  await assert.rejects(scram(4096, true), /did not prove/);
  const early = authenticate(account, () => {});
  await early.next(ask(10, 'SCRAM-SHA-256\0\0'));
  await assert.rejects(early.next(ask(0)), /did not prove/);
  await assert.rejects(early.next(ask(11, 'r=other,s=AAAA,i=1')), /not valid/);
});

test('URLs say where a server is, and a problem never contains their text', () => {
  const found = parseServerAddress(
    'postgresql://a%40b:p%3Aw@DB.example:6432/shop?sslmode=verify-full&application_name=x&options=endpoint%3D1',
  );
  assert.ok(!('problem' in found));
  const { id, ...address } = found;
  assert.match(id, /^[\w-]{43}$/);
  assert.deepEqual(address, {
    host: 'db.example',
    port: 6432,
    user: 'a@b',
    password: 'p:w',
    database: 'shop',
    tls: 'verify-full',
    parameters: { application_name: 'x', options: 'endpoint=1' },
  });
  for (const text of [
    'hidden',
    'mysql://a:hidden@x/y',
    'https://a:hidden@x/y',
    'postgres://:hidden@x/y',
    'postgres://a:hidden@/y',
    'postgres://a:hidden@x/y?host=/run',
    'postgres://a:hidden@x/y?sslmode=hidden',
    'postgres://a:hidden@x/y?sslrootcert=/hidden',
    'postgres://a:hidden%00@x/y',
    'postgres://a:hidden%zz@x/y',
    `postgres://a:${'hidden'.repeat(2000)}@x/y`,
  ]) {
    const { problem } = parseServerAddress(text) as { problem: string };
    assert.equal(typeof problem, 'string', text);
    assert.doesNotMatch(problem, /hidden/, text);
  }
});
