// Reading server-sent events: any split of the bytes gives the same events.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SseReader } from '#gateway/streams/sse-reader.ts';
import type { SseEvent } from '#gateway/contract/wire.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

const MAX = 10_000;

function read(chunks: readonly Uint8Array[]): SseEvent[] {
  const reader = new SseReader(MAX);
  const events = chunks.flatMap((chunk) => reader.push(chunk));
  const last = reader.end();
  return last === null ? events : [...events, last];
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const data = (text: string): SseEvent[] => read([bytes(text)]);

test('lines end in LF, CRLF or CR, and a comment, an id and a retry time are passed over', () => {
  const expected = [
    { event: '', data: 'a' },
    { event: 'x', data: 'b\nc' },
  ];
  const text = ': hi\nid: 1\nretry: 5\ndata: a\n\nevent: x\ndata:b\ndata: c\n\n';
  for (const end of ['\n', '\r\n', '\r']) assert.deepEqual(data(text.replaceAll('\n', end)), expected);
});

test('an event without data is none, one space behind the colon does not count, a second one does', () => {
  assert.deepEqual(data('event: x\n\ndata:  a\n\ndata\n\n'), [
    { event: '', data: ' a' },
    { event: '', data: '' },
  ]);
});

test('what stands at the end without its blank line is given by end()', () => {
  const reader = new SseReader(MAX);
  assert.deepEqual(reader.push(bytes('data: a\n\ndata: {"ha')), [{ event: '', data: 'a' }]);
  assert.deepEqual(reader.end(), { event: '', data: '{"ha' });
  assert.equal(new SseReader(MAX).end(), null);
});

test('a line that never ends, and an event of lines without end, are refused at the bound', () => {
  const long = new SseReader(100);
  long.push(bytes('data: '));
  assert.throws(
    () => {
      for (let n = 0; n < 100; n += 1) long.push(bytes('xx'));
    },
    { kind: 'unreadable_answer' },
  );
  const many = new SseReader(100);
  assert.throws(
    () => {
      for (let n = 0; n < 101; n += 1) many.push(bytes('data:\n'));
    },
    { kind: 'unreadable_answer' },
  );
});

test('any split of any stream gives the events of the stream', () => {
  const random = createSeededRandom();
  const pieces = ['a', '🌍', 'é', ':', ' ', 'data: ', '{"x":1}', '\u2028', '[DONE]'];
  for (let round = 0; round < 400; round += 1) {
    const expected: SseEvent[] = [];
    let text = random.below(4) === 0 ? '\uFEFF' : '';
    const end = random.pick(['\n', '\r\n', '\r']);
    for (let count = 1 + random.below(6); count > 0; count -= 1) {
      const lines = Array.from({ length: 1 + random.below(3) }, () => random.text(pieces, 6));
      const event = random.below(3) === 0 ? random.text(['x', 'é'], 3) : '';
      if (random.below(3) === 0) text += `: ${random.text(pieces, 3)}${end}`;
      if (event !== '') text += `event: ${event}${end}`;
      text += lines.map((line) => `data: ${line}${end}`).join('') + end;
      expected.push({ event, data: lines.join('\n') });
    }
    const all = bytes(text);
    const chunks: Uint8Array[] = [];
    for (let from = 0; from < all.length;) {
      const size = 1 + random.below(random.pick([1, 3, 40]));
      chunks.push(all.subarray(from, from + size));
      from += size;
    }
    assert.deepEqual(read(chunks), expected, `FUZZ_SEED=${random.seed}, round ${round}`);
  }
});
