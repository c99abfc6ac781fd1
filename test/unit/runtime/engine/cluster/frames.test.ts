import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FRAME_BYTES_MAX, FrameReader, FrameWriter } from '#runtime/engine/cluster/frames.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

function read(bytes: Buffer): unknown[] {
  const frames: unknown[] = [];
  new FrameReader().push(bytes, (frame) =>
    frames.push([frame.kind, frame.exchange, frame.number(), frame.float(), frame.string(), frame.text()]),
  );
  return frames;
}

function write(count: number, text: string): Buffer {
  const writer = new FrameWriter();
  for (let i = 0; i < count; i++) {
    writer.begin(i % 200, i, 16 + text.length * 6);
    writer.number(i);
    writer.float(i / 4);
    writer.string(text);
    writer.text(`${text}${i}`);
    writer.end();
  }
  return Buffer.concat(writer.take());
}

test('frames are read as they were written, however they are cut', () => {
  const bytes = write(5, 'naïve \u{1f600} \0');
  const expected = [0, 1, 2, 3, 4].map((i) => [i, i, i, i / 4, 'naïve \u{1f600} \0', `naïve \u{1f600} \0${i}`]);
  assert.deepEqual(read(bytes), expected);
  const reader = new FrameReader();
  const kinds: number[] = [];
  for (let at = 0; at < bytes.length; at++) reader.push(bytes.subarray(at, at + 1), (frame) => kinds.push(frame.kind));
  assert.deepEqual(kinds, [0, 1, 2, 3, 4]);
});

test('what was taken is not written again, and large bytes are not copied', () => {
  const writer = new FrameWriter();
  const large = new Uint8Array(100_000).fill(7);
  writer.begin(1, 1);
  writer.end(large);
  const first = writer.take();
  assert.equal(first[1], large);
  const before = Buffer.concat(first);
  for (let i = 0; i < 10_000; i++) {
    writer.begin(2, i, 4);
    writer.number(i);
    writer.end();
  }
  assert.deepEqual(Buffer.concat(first), before);
  let count = 0;
  new FrameReader().push(Buffer.concat(writer.take()), (frame) => assert.equal(frame.number(), count++));
  assert.equal(count, 10_000);
});

test('a frame that is too long, too short or ends too soon is refused', () => {
  const frame = (length: number): Buffer => {
    const bytes = Buffer.alloc(16);
    bytes.writeUInt32LE(length);
    return bytes;
  };
  assert.throws(() => read(frame(FRAME_BYTES_MAX + 1)), /frame length out of bounds: \d+ bytes/);
  assert.throws(() => read(frame(4)), /frame length out of bounds: 4 bytes/);
  assert.throws(() => read(frame(9)), /frame truncated/);
});

test('random changes give other frames or an error, never anything else', (t) => {
  const random = createSeededRandom();
  t.diagnostic(`seed ${random.seed}`);
  const good = write(3, 'text');
  for (let round = 0; round < 3000; round++) {
    const bytes = Buffer.from(good);
    for (let change = 0; change < 1 + random.below(4); change++) bytes[random.below(bytes.length)] = random.below(256);
    try {
      for (const frame of read(bytes)) assert.ok(Array.isArray(frame));
    } catch (error) {
      assert.match((error as Error).message, /^(?:frame |unknown frame )/);
    }
  }
});
