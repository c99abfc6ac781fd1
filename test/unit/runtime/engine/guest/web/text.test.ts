import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TextDecoder as GuestDecoder, TextEncoder as GuestEncoder } from '#runtime/engine/guest/web/text.ts';
import { encodingOf } from '#runtime/engine/guest/web/text-labels.ts';
import { connectGuestHost } from '#test/setup/guest-host.ts';
import { createSeededRandom, fuzzRounds, type SeededRandom } from '#test/setup/seeded-random.ts';

const handles = connectGuestHost();

const pieces = [
  'a',
  'xyz',
  '\0',
  '\u007f',
  '\u0080',
  '\u07ff',
  '\u0800',
  '\uffff',
  '\ufeff',
  '\ud800',
  '\udfff',
  '\u{10000}',
  '\u{10ffff}',
  'text '.repeat(40),
];
const bytePieces = [
  0, 0x41, 0x7f, 0x80, 0xbf, 0xc0, 0xc2, 0xdf, 0xe0, 0xa0, 0xed, 0x9f, 0xef, 0xbb, 0xf0, 0x90, 0xf4, 0x8f, 0xf5, 0xff,
  0xfe, 0xd8, 0xdc,
];

function randomBytes(random: SeededRandom, most: number): Uint8Array {
  return Uint8Array.from({ length: random.below(most) }, () => random.pick(bytePieces));
}

function attempt(run: () => string): string {
  try {
    return run();
  } catch (error) {
    return (error as Error).name;
  }
}

test('encodes random texts as Node does', () => {
  const random = createSeededRandom();
  for (let round = 0; round < fuzzRounds(500); round++) {
    const text = random.text(pieces, 10);
    const note = JSON.stringify({ seed: random.seed, text });
    assert.deepEqual(new GuestEncoder().encode(text), new TextEncoder().encode(text), note);
    const space = random.below(20);
    const ours = new Uint8Array(space);
    const theirs = new Uint8Array(space);
    assert.deepEqual(new GuestEncoder().encodeInto(text, ours), new TextEncoder().encodeInto(text, theirs), note);
    assert.deepEqual(ours, theirs, note);
  }
});

for (const label of ['utf-8', 'utf-16le', 'utf-16be', 'windows-1252', 'shift_jis', 'gb18030', 'iso-8859-2']) {
  test(`decodes random bytes in random chunks as Node does: ${label}`, () => {
    const random = createSeededRandom();
    for (let round = 0; round < fuzzRounds(150); round++) {
      const bytes = randomBytes(random, random.below(10) === 0 ? 400 : 24);
      const options = { fatal: random.below(3) === 0, ignoreBOM: random.below(2) === 0 };
      const cuts = [random.below(bytes.length + 1), random.below(bytes.length + 1)].sort((a, b) => a - b);
      const note = JSON.stringify({ seed: random.seed, bytes: [...bytes], options, cuts });
      assert.equal(
        attempt(() => new GuestDecoder(label, options).decode(bytes)),
        attempt(() => new TextDecoder(label, options).decode(bytes)),
        note,
      );
      if (options.fatal) continue;
      const inChunks = (decoder: { decode(bytes?: Uint8Array, options?: object): string }) => {
        const chunks = [bytes.subarray(0, cuts[0]), bytes.subarray(cuts[0], cuts[1]), bytes.subarray(cuts[1])];
        return chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join('') + decoder.decode();
      };
      assert.equal(inChunks(new GuestDecoder(label, options)), inChunks(new TextDecoder(label, options)), note);
    }
  });
}

test('starts afresh after the end of a stream and after an error', () => {
  const decoder = new GuestDecoder('utf-8', { fatal: true });
  assert.equal(decoder.decode(new Uint8Array([0xe2, 0x82]), { stream: true }), '');
  assert.throws(() => decoder.decode(), { name: 'TypeError' });
  assert.equal(decoder.decode(new Uint8Array([0xef, 0xbb, 0xbf, 0x41])), 'A');
});

test('frees the decoder on the host with the last chunk', () => {
  const decoder = new GuestDecoder('euc-jp');
  decoder.decode(new Uint8Array([0xa4]), { stream: true });
  assert.equal(decoder.decode(new Uint8Array([0xa2])), '\u3042');
  assert.equal(handles.get(1e9), undefined);
});

test('knows the labels that Node knows by the same names', () => {
  for (const label of [
    'UTF-8',
    ' utf8\n',
    'latin1',
    'ascii',
    'us-ascii',
    'iso-8859-1',
    'utf-16',
    'unicode',
    'sjis',
    'gb2312',
    'big5',
    'ks_c_5601-1987',
    'koi8',
    'cp1251',
    'x-sjis',
    'l2',
    'dos-874',
    'macintosh',
    'iso-8859-8-i',
  ]) {
    assert.equal(new GuestDecoder(label).encoding, new TextDecoder(label).encoding, label);
  }
  assert.equal(encodingOf('no-such'), undefined);
  assert.throws(() => new GuestDecoder('no-such'), { name: 'RangeError' });
  assert.throws(() => new GuestDecoder('hz-gb-2312'), { name: 'RangeError' });
});
