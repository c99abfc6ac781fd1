// Frames between engines and the database service.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerFrame, FrameReader, readAnswer, readRequest, requestFrame } from '#runtime/databases/protocol/frames.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

test('a frame comes out as it went in', () => {
  const request = requestFrame(7, 2, 'shop/main', 99, '["ü"]', 1500);
  const { payload, ...head } = readRequest(request.subarray(4));
  assert.deepEqual(
    [head, payload.toString()],
    [{ id: 7, op: 2, name: 'shop/main', transaction: 99, cpuLeftMs: 1500 }, '["ü"]'],
  );
  const answer = readAnswer(answerFrame(0xffff_ffff, 1, new Uint8Array([1, 2]), 2.5).subarray(4));
  assert.deepEqual([answer.id, answer.kind, answer.cpuMs, [...answer.payload]], [0xffff_ffff, 1, 2.5, [1, 2]]);
});

test('frames are the same however their stream is cut', () => {
  const random = createSeededRandom();
  for (let round = 0; round < 200; round++) {
    const payloads = Array.from({ length: 1 + random.below(6) }, () => 'x'.repeat(random.below(300)));
    const stream = Buffer.concat(payloads.map((payload, id) => answerFrame(id, 0, payload)));
    const reader = new FrameReader(1000);
    const seen: string[] = [];
    for (let at = 0; at < stream.length;) {
      const end = at + 1 + random.below(64);
      reader.push(stream.subarray(at, end), (frame) => seen.push(readAnswer(frame).payload.toString()));
      at = end;
    }
    assert.deepEqual(seen, payloads, `seed ${random.seed}`);
  }
});

test('bytes that are no frame are refused', () => {
  assert.throws(() => new FrameReader(100).push(Buffer.from([255, 255, 255, 255]), () => {}), /longer than 100/);
  assert.throws(() => readRequest(Buffer.from([1, 2, 3])), /too short/);
  assert.throws(() => readRequest(requestFrame(1, 1, 'name', 0, '').subarray(4, 16)), /too short/);
  assert.throws(() => readAnswer(Buffer.from([1])), /too short/);
});
