import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import ivm from 'isolated-vm';
import { loadNative } from '#runtime/isolates/native.ts';

const folder = join(import.meta.dirname, '../../../../runtime/isolates/native');

test('the prebuilt binaries are built from the source beside them', () => {
  const hash = createHash('sha256');
  for (const name of ['codecs.h', 'guest.cc', 'snapshot.cc']) hash.update(readFileSync(join(folder, name)));
  assert.equal(
    readFileSync(join(folder, 'prebuilt/source.sha256'), 'utf8').trim(),
    hash.digest('hex'),
    'run `node runtime/isolates/native/build.ts`',
  );
});

/** Calls a function of the native half inside an isolate with a string. */
function caller(name: string): (text: string) => string | undefined {
  const context = new ivm.Isolate({ memoryLimit: 32 }).createContextSync();
  const functions = loadNative().createSync(context) as ivm.Reference<Record<string, unknown>>;
  const reference = functions.getSync(name, { reference: true }) as unknown as ivm.Reference<(text: string) => string | undefined>;
  return (text) => reference.applySync(undefined, [text]) as string | undefined;
}

test('btoa and atob agree with Node on random texts of every length', () => {
  const btoaNative = caller('btoa');
  const atobNative = caller('atob');
  const seed = Math.floor(Math.random() * 2 ** 31);
  let state = seed;
  const random = (): number => (state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff) >> 8;
  for (let length = 0; length < 200; length++) {
    const text = String.fromCharCode(...Array.from({ length }, () => random() & 255));
    const encoded = btoa(text);
    assert.equal(btoaNative(text), encoded, `seed ${seed}`);
    assert.equal(atobNative(encoded), text, `seed ${seed}`);
    assert.equal(atobNative(` ${encoded.replace(/=+$/, '')}\n`), text, `seed ${seed}`);
  }
});

test('what is no base64, or no text of bytes, is refused', () => {
  const atobNative = caller('atob');
  for (const text of ['a', 'ab=', 'abc==', 'ab=c', '====', 'a===', 'ab\u00e9d', 'ab-_', '\u{1F600}', 'abcd='])
    assert.equal(atobNative(text), undefined, text);
  assert.equal(caller('btoa')('\u0100'), undefined);
});

test('UTF-8 is encoded and decoded as the Encoding Standard says', () => {
  const context = new ivm.Isolate({ memoryLimit: 32 }).createContextSync();
  const functions = loadNative().createSync(context) as ivm.Reference<object>;
  context.global.setSync('native', functions.derefInto());
  const check = context.evalClosureSync(
    `const out = [];
    const decode = (...bytes) => native.utf8Decode(new Uint8Array(bytes));
    out.push([...native.utf8Encode('a\\u00e9\\u20ac\\u{1f600}\\ud800b')].join(' '));
    out.push(decode(0x61, 0xff, 0x62), decode(0xe2, 0x82), decode(0xf0, 0x9f, 0x98), decode(0xed, 0xa0, 0x80), decode(0xc0, 0x80), decode(0xef, 0xbb, 0xbf, 0x61));
    return JSON.stringify(out);`,
  ) as string;
  assert.deepEqual(JSON.parse(check), [
    '97 195 169 226 130 172 240 159 152 128 239 191 189 98',
    'a\ufffdb',
    '\ufffd',
    '\ufffd',
    '\ufffd\ufffd\ufffd',
    '\ufffd\ufffd',
    '\ufeffa',
  ]);
});

test('utf8Decode agrees with TextDecoder on random bytes, well-formed and not', () => {
  const context = new ivm.Isolate({ memoryLimit: 64 }).createContextSync();
  const functions = loadNative().createSync(context) as ivm.Reference<Record<string, unknown>>;
  const decode = functions.getSync('utf8Decode', { reference: true }) as unknown as ivm.Reference<(bytes: Uint8Array) => string>;
  const seed = Math.floor(Math.random() * 2 ** 31);
  let state = seed;
  const random = (below: number): number => ((state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff) >> 8) % below;
  const texts = ['a', 'plain text ', 'gr\u00fc\u00dfe', '\u20ac\u4f60\u597d', '\u{1F600}\u{10FFFF}', '\ufeff', '\u07ff\u0800\uffff\u0080'];
  const expected = new TextDecoder('utf-8', { ignoreBOM: true });
  for (let round = 0; round < 3000; round++) {
    const bytes = Buffer.from(Array.from({ length: random(12) }, () => texts[random(texts.length)]).join(''));
    for (let changes = round % 3 === 0 ? 0 : random(4); changes > 0 && bytes.length > 0; changes--)
      bytes[random(bytes.length)] = random(256);
    const view = new Uint8Array(bytes.subarray(0, bytes.length - (round % 5 === 0 ? random(3) : 0)));
    assert.equal(
      decode.applySync(undefined, [view], { arguments: { copy: true } }),
      expected.decode(view),
      `seed ${seed}: ${Buffer.from(view).toString('hex')}`,
    );
  }
});

test('digest agrees with Node for every length around a block', () => {
  const context = new ivm.Isolate({ memoryLimit: 32 }).createContextSync();
  const functions = loadNative().createSync(context) as ivm.Reference<Record<string, unknown>>;
  const digest = functions.getSync('digest', { reference: true }) as unknown as ivm.Reference<
    (bytes: Uint8Array, bits: number) => ArrayBuffer
  >;
  for (const [name, bits] of [
    ['sha1', 160],
    ['sha256', 256],
    ['sha384', 384],
    ['sha512', 512],
  ] as const) {
    for (let length = 0; length < 300; length++) {
      const bytes = Uint8Array.from({ length }, (_, at) => (at * 31 + length) & 255);
      const made = digest.applySync(undefined, [bytes, bits], { arguments: { copy: true }, result: { copy: true } }) as ArrayBuffer;
      assert.equal(Buffer.from(made).toString('hex'), createHash(name).update(bytes).digest('hex'), `${name} of ${length} bytes`);
    }
  }
});

test('texts that V8 keeps in two bytes a character are encoded and decoded too', () => {
  const context = new ivm.Isolate({ memoryLimit: 32 }).createContextSync();
  context.global.setSync('native', (loadNative().createSync(context) as ivm.Reference<object>).derefInto());
  const check = context.evalClosureSync(
    `const wide = (text) => ('\\u4e00' + text).slice(1);
    return JSON.stringify([native.btoa(wide('a fairly long text, so that a slice is kept: \\xff')), native.atob(wide('YWJj ZGVmZ2hpamtsbW5vcA==')), String(native.atob(wide('YWJj\\u0100')))]);`,
  ) as string;
  assert.deepEqual(JSON.parse(check), [
    'YSBmYWlybHkgbG9uZyB0ZXh0LCBzbyB0aGF0IGEgc2xpY2UgaXMga2VwdDog/w==',
    'abcdefghijklmnop',
    'undefined',
  ]);
});
