// IdentityTransformStream and FixedLengthStream as workers know them: bytes pass through unchanged; the second fails when
// more or fewer bytes pass than were announced.
import { TransformStream } from './streams.ts';
import { isAnyArrayBuffer, toBytes } from './text.ts';
import { encodeUtf8 } from './utf8.ts';

function chunkBytes(chunk: unknown): Uint8Array {
  if (typeof chunk === 'string') return encodeUtf8(chunk);
  if (ArrayBuffer.isView(chunk) || isAnyArrayBuffer(chunk)) return toBytes(chunk, 'A chunk');
  throw new TypeError('A chunk must be bytes or a string');
}

export class IdentityTransformStream extends TransformStream<unknown, Uint8Array> {
  constructor() {
    super({
      transform(chunk, controller) {
        const bytes = chunkBytes(chunk);
        if (bytes.byteLength > 0) controller.enqueue(bytes);
      },
    });
  }
}

export class FixedLengthStream extends TransformStream<unknown, Uint8Array> {
  constructor(length: number | bigint) {
    const expected = Number(length);
    if (!Number.isSafeInteger(expected) || expected < 0)
      throw new TypeError('The length of a FixedLengthStream must be a whole number that is not negative');
    let left = expected;
    super({
      transform(chunk, controller) {
        const bytes = chunkBytes(chunk);
        left -= bytes.byteLength;
        if (left < 0) throw new TypeError(`More than the announced ${expected} bytes were written`);
        if (bytes.byteLength > 0) controller.enqueue(bytes);
      },
      flush() {
        if (left > 0) throw new TypeError(`Only ${expected - left} of the announced ${expected} bytes were written`);
      },
    });
  }
}
