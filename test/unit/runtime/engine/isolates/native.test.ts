import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import ivm from 'isolated-vm';
import { loadNative } from '#runtime/engine/isolates/native.ts';
import { shownWords } from '#runtime/engine/isolates/stuck-entry.ts';
import { createSeededRandom, fuzzRounds } from '#test/setup/seeded-random.ts';

/** An isolate with the functions of the native half as `native`. */
function nativeContext(memoryLimit: number): ivm.Context {
  const context = new ivm.Isolate({ memoryLimit }).createContextSync();
  context.global.setSync('native', (loadNative().createSync(context) as ivm.Reference<object>).derefInto());
  return context;
}

/** Calls a function of the native half inside an isolate with a string. */
function caller(name: string): (text: string) => string | undefined {
  const context = new ivm.Isolate({ memoryLimit: 32 }).createContextSync();
  const functions = loadNative().createSync(context) as ivm.Reference<Record<string, unknown>>;
  const reference = functions.getSync(name, { reference: true }) as unknown as ivm.Reference<
    (text: string) => string | undefined
  >;
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

test('in a long text every character is taken or refused as in Node, wherever it stands', () => {
  const atobNative = caller('atob');
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const base = letters.slice(0, 48);
  for (let at = 0; at < base.length; at++) {
    for (let unit = 0; unit < 256; unit++) {
      const character = String.fromCharCode(unit);
      const text = base.slice(0, at) + character + base.slice(at + 1);
      const isSpace = ' \t\n\f\r'.includes(character);
      const isEnd = character === '=' && at === base.length - 1;
      // Without one of its 48 letters it has 47, which is one that may be left out at the end.
      const expected = isSpace || isEnd || letters.includes(character) ? atob(text) : undefined;
      assert.equal(atobNative(text), expected, `${unit} at ${at}`);
    }
  }
});

test('UTF-8 is encoded and decoded as the Encoding Standard says', () => {
  const context = nativeContext(32);
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

const pieces = [
  'a',
  'plain text ',
  'gr\u00fc\u00dfe',
  '\u20ac\u4f60\u597d',
  '\u{1F600}\u{10FFFF}',
  '\ufeff',
  '\u07ff\u0800\uffff\u0080',
  'only ASCII for a while, so that it is skipped',
];

test('utf8Decode agrees with TextDecoder on random bytes, well-formed and not', () => {
  const context = new ivm.Isolate({ memoryLimit: 64 }).createContextSync();
  const functions = loadNative().createSync(context) as ivm.Reference<Record<string, unknown>>;
  const decode = functions.getSync('utf8Decode', { reference: true }) as unknown as ivm.Reference<
    (bytes: Uint8Array) => string
  >;
  const random = createSeededRandom();
  const expected = new TextDecoder('utf-8', { ignoreBOM: true });
  for (let round = 0; round < fuzzRounds(600); round++) {
    const bytes = Buffer.from(random.text(pieces, round % 2 === 0 ? 12 : 60));
    for (let changes = round % 3 === 0 ? 0 : random.below(4); changes > 0 && bytes.length > 0; changes--)
      bytes[random.below(bytes.length)] = random.below(256);
    const view = new Uint8Array(bytes.subarray(0, Math.max(0, bytes.length - (round % 5 === 0 ? random.below(3) : 0))));
    assert.equal(
      decode.applySync(undefined, [view], { arguments: { copy: true } }),
      expected.decode(view),
      `seed ${random.seed}: ${Buffer.from(view).toString('hex')}`,
    );
  }
});

test('a long text of one byte a character is what a short one is', () => {
  const context = nativeContext(64);
  for (const length of [131071, 131072, 131073, 200_000, 1024 * 1024, 5_000_000]) {
    const found = context.evalClosureSync(
      `const bytes = new Uint8Array($0);
      for (let at = 0; at < bytes.length; at++) bytes[at] = 32 + (at * 7 + (at >> 8)) % 90;
      const text = native.utf8Decode(bytes);
      // What is made of it has to last when it is gone, and its memory is used again.
      const later = [text.slice(1000, 1100), text + '!', { [text.slice(0, 200)]: 1 }];
      native.utf8Decode(bytes.fill(33));
      let same = text.length === $0;
      for (let at = 0; at < text.length; at += 997) same &&= text.charCodeAt(at) === 32 + (at * 7 + (at >> 8)) % 90;
      const back = native.utf8Encode(text);
      for (let at = 0; at < back.length; at += 991) same &&= back[at] === 32 + (at * 7 + (at >> 8)) % 90;
      return JSON.stringify([same, back.length, later[0], later[1].length, Object.keys(later[2])[0].length, /!$/.test(later[1])]);`,
      [length],
    ) as string;
    const slice = Array.from({ length: 100 }, (_, n) => 32 + (((n + 1000) * 7 + ((n + 1000) >> 8)) % 90));
    assert.deepEqual(JSON.parse(found), [true, length, String.fromCharCode(...slice), length + 1, 200, true]);
  }
  // Latin-1 in two bytes each, a text of one byte a character too.
  assert.equal(
    context.evalClosureSync(
      `const bytes = new Uint8Array(400000);
      for (let at = 0; at < bytes.length; at += 2) { bytes[at] = 0xc3; bytes[at + 1] = 0xa9; }
      return native.utf8Decode(bytes) === '\u00e9'.repeat(200000);`,
    ),
    true,
  );
  // Base64 of a long text comes as one.
  const encoded = context.evalClosureSync(`return native.btoa('abc'.repeat(100000)) === 'YWJj'.repeat(100000);`);
  assert.equal(encoded, true);
});

test('long texts that nobody holds are collected, and their memory is used again', async () => {
  const context = nativeContext(128);
  const decode = `const bytes = new Uint8Array(1024 * 1024).fill(97);
    let length = 0;
    for (let round = 0; round < $0; round++) length += native.utf8Decode(bytes).length;
    return length;`;
  await context.evalClosure(decode, [100]);
  const before = process.memoryUsage.rss();
  assert.equal(await context.evalClosure(decode, [600]), 600 * 1024 * 1024);
  const grown = process.memoryUsage.rss() - before;
  assert.ok(grown < 64 * 1024 * 1024, `600 texts of 1 MB took ${Math.round(grown / 1024 / 1024)} MB`);
});

test('every character is decoded and encoded at every place of a block', () => {
  const context = new ivm.Isolate({ memoryLimit: 64 }).createContextSync();
  const functions = loadNative().createSync(context) as ivm.Reference<Record<string, unknown>>;
  const decode = functions.getSync('utf8Decode', { reference: true }) as unknown as ivm.Reference<
    (bytes: Uint8Array) => string
  >;
  const encode = functions.getSync('utf8Encode', { reference: true }) as unknown as ivm.Reference<
    (text: string) => Uint8Array
  >;
  let code = 0;
  for (let before = 0; code <= 0x10ffff; before = (before + 1) % 67) {
    let text = 'x'.repeat(before);
    for (let count = 0; count < 2000 && code <= 0x10ffff; code++, count++)
      if (code < 0xd800 || code > 0xdfff) text += String.fromCodePoint(code);
    const bytes = new Uint8Array(Buffer.from(text));
    assert.ok(
      decode.applySync(undefined, [bytes], { arguments: { copy: true } }) === text,
      `decoded before U+${code.toString(16)}`,
    );
    const made = encode.applySync(undefined, [text], { result: { copy: true } }) as Uint8Array;
    assert.ok(Buffer.from(made).equals(bytes), `encoded before U+${code.toString(16)}`);
  }
});

test('utf8Encode agrees with TextEncoder on random texts, with halves of surrogate pairs too', () => {
  const context = new ivm.Isolate({ memoryLimit: 64 }).createContextSync();
  const functions = loadNative().createSync(context) as ivm.Reference<Record<string, unknown>>;
  const encode = functions.getSync('utf8Encode', { reference: true }) as unknown as ivm.Reference<
    (text: string) => Uint8Array
  >;
  const random = createSeededRandom();
  const expected = new TextEncoder();
  for (let round = 0; round < fuzzRounds(600); round++) {
    const from =
      round % 3 === 0
        ? ['a', 'gr\u00fc\u00dfe', '\xff\x80', 'plain text ']
        : [...pieces, '\ud800', '\udbff', '\udc00', '\udfff'];
    const text = random.text(from, round % 2 === 0 ? 8 : 60);
    const made = encode.applySync(undefined, [text], { result: { copy: true } }) as Uint8Array;
    assert.equal(
      Buffer.from(made).toString('hex'),
      Buffer.from(expected.encode(text)).toString('hex'),
      `seed ${random.seed}: ${JSON.stringify(text)}`,
    );
  }
});

test('utf8EncodeInto writes what utf8Encode gives, and nothing where three bytes for each unit and 64 more do not fit', () => {
  const context = new ivm.Isolate({ memoryLimit: 64 }).createContextSync();
  context.global.setSync('native', (loadNative().createSync(context) as ivm.Reference<object>).derefInto());
  const encode = context.evalClosureSync(
    `const target = new Uint8Array(300);
    return (text) => [...target.subarray(0, native.utf8EncodeInto(text, target))].join(' ');`,
    [],
    { result: { reference: true } },
  ) as ivm.Reference<(text: string) => string>;
  const random = createSeededRandom();
  for (let round = 0; round < fuzzRounds(200); round++) {
    const from =
      round % 3 === 0
        ? ['a', 'gr\u00fc\u00dfe', '\xff\x80', 'text ']
        : [...pieces, '\ud800', '\udbff', '\udc00', '\udfff'];
    const text = random.text(from, 24).slice(0, 78);
    const expected = [...new TextEncoder().encode(text)].join(' ');
    assert.equal(encode.applySync(undefined, [text]), expected, `seed ${random.seed}: ${JSON.stringify(text)}`);
  }
  const refused = `return [['x'.repeat(79), 300], ['x', 66], ['x', 10], [1, 300], ['x', null]]
    .map(([text, size]) => native.utf8EncodeInto(text, size === null ? {} : new Uint8Array(size))).join(' ');`;
  assert.equal(context.evalClosureSync(refused), '0 0 0 0 0');
});

test('clone copies what an object owns by definition and privately, and neither changes with the other', () => {
  const context = new ivm.Isolate({ memoryLimit: 32 }).createContextSync();
  context.global.setSync('native', (loadNative().createSync(context) as ivm.Reference<object>).derefInto());
  const seen = context.evalClosureSync(`
    class Owner {
      #name = '';
      #time = null;
      constructor() { Object.defineProperty(this, 'mark', { get: () => 'marked', enumerable: true }); }
      set(name, time) { this.#name = name; this.#time = time; return this; }
      get all() { return this.#name + ' ' + this.#time; }
    }
    const pattern = new Owner();
    const copies = [1, 2.5, 1.7e12].map((time, index) => native.clone(pattern).set('copy' + index, time));
    const { configurable, get } = Object.getOwnPropertyDescriptor(copies[2], 'mark');
    return [pattern.all, ...copies.map((one) => one.all), copies[0] instanceof Owner, copies[1].mark, configurable, typeof get,
      native.clone(1)].join(', ');`);
  assert.equal(seen, ' null, copy0 1, copy1 2.5, copy2 1700000000000, true, marked, false, function, ');
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
    for (const length of [...Array(300).keys(), 4096, 65_537]) {
      const bytes = Uint8Array.from({ length }, (_, at) => (at * 31 + length) & 255);
      const made = digest.applySync(undefined, [bytes, bits], {
        arguments: { copy: true },
        result: { copy: true },
      }) as ArrayBuffer;
      assert.equal(
        Buffer.from(made).toString('hex'),
        createHash(name).update(bytes).digest('hex'),
        `${name} of ${length} bytes`,
      );
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

test('a text whose memory is shared stays what it was, in this isolate and in the next; another text keeps its own', () => {
  const read = (letter: string): unknown => {
    const context = new ivm.Isolate({ memoryLimit: 32 }).createContextSync();
    context.global.setSync('native', (loadNative().createSync(context) as ivm.Reference<object>).derefInto());
    return context.evalClosureSync(
      `const make = () => JSON.parse('"' + '${letter}bcdefgh'.repeat(25000) + '"');
      const text = make();
      const slice = text.slice(1000, 190000);
      native.shareSource(text);
      const garbage = [];
      for (let i = 0; i < 50; i++) garbage.push('y'.repeat(100000) + i);
      return [text === make(), slice === make().slice(1000, 190000), text.length].join(' ');`,
    );
  };
  assert.equal(read('a'), 'true true 200000');
  assert.equal(read('a'), 'true true 200000');
  assert.equal(read('z'), 'true true 200000');
});

test('scripts that were provided for a snapshot are evaluated in all isolates of it, and nothing can be provided once they are complete', () => {
  const isolate = (): ((code: string) => unknown) => {
    const context = new ivm.Isolate({ memoryLimit: 32 }).createContextSync();
    context.global.setSync('native', (loadNative().createSync(context) as ivm.Reference<object>).derefInto());
    return (code) => context.evalSync(code);
  };
  const first = isolate();
  assert.equal(
    first(`native.provideScript('key', 'one', '(41 + 1)', ''); native.evaluateShared('key', 'one', 'label')`),
    undefined,
  );
  first(
    `native.provideScript('other', 'one', '(1)', ''); native.provideScript('key', 'n'.repeat(100), '(1)', ''); native.provideScript('key')`,
  );
  const second = isolate();
  second(`native.provideScript('key', 'two', '(2)', ''); native.provideScript('key', 'one', '(3)', '')`);
  for (const run of [first, second]) {
    assert.equal(run(`native.evaluateShared('key', 'one', 'label')`), 42);
    assert.equal(run(`native.evaluateShared('key', 'two', 'label')`), undefined);
    assert.equal(run(`native.evaluateShared('other', 'one', 'label')`), undefined);
    assert.equal(run(`native.evaluateShared('key', 'n'.repeat(100), 'label')`), undefined);
    assert.equal(run(`native.evaluateShared()`), undefined);
  }
});

test('a text whose encoding finds no memory is refused with a RangeError', async () => {
  const context = new ivm.Isolate({ memoryLimit: 32 }).createContextSync();
  context.global.setSync('native', (loadNative().createSync(context) as ivm.Reference<object>).derefInto());
  const said = await context.evalClosure(
    `const text = 'a\\u00e9'.repeat(3e6);
    const kept = [];
    try { while (kept.length < 20) kept.push(native.utf8Encode(text)); } catch (error) { return error.name + ': ' + error.message; }
    return 'all fitted';`,
  );
  assert.equal(said, 'RangeError: Array buffer allocation failed');
});

test('the host sees the thread of a running entry, its CPU, and the CPU after it was told to end', async () => {
  const shown = new Int32Array(new SharedArrayBuffer(shownWords.count * 4));
  const most = [0, 0, 0, 0];
  const context = nativeContext(32);
  context.global.setSync('memory', new ivm.ExternalCopy(shown.buffer).copyInto());
  // What it sees when it begins, and the limit of the account that has broken it.
  async function run(code: string): Promise<unknown> {
    let isOver = false;
    const ran = context
      .evalClosure(
        `const words = new Int32Array(memory);
        const seen = [];
        native.show(memory);
        native.bind(() => { seen.push(...words); ${code} }, (cpuMs, unchargedMs, breached) => seen.push(breached?.limit), () => {}, () => {});
        native.stretch(30);
        native.run();
        return JSON.stringify(seen);`,
      )
      .finally(() => (isOver = true)) as Promise<string>;
    while (!isOver) {
      for (const [at, word] of shown.entries()) most[at] = Math.max(most[at]!, word);
      await new Promise(setImmediate);
    }
    return JSON.parse(await ran);
  }
  // V8 lets nobody interrupt it, for 300 ms.
  const seen = (await run('const list = []; list[2 ** 23] = 1; String(list);')) as number[];
  const [thread] = seen;
  if (process.platform === 'linux') assert.ok(existsSync(`/proc/self/task/${thread}`), String(thread));
  else assert.equal(thread, -1);
  // Below 0: V8 no longer says whose code it was.
  assert.deepEqual(seen, [thread, 0, 0, 0, -1]);
  const [, usedMs, overdueMs] = most as [number, number, number];
  assert.ok(overdueMs > 0 && overdueMs <= usedMs - 30, String(most));
  assert.equal(shown[shownWords.thread], 0);
  assert.deepEqual(await run(''), [thread, 0, 0, 0, null]);
});
