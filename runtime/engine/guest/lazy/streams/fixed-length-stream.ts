// IdentityTransformStream and FixedLengthStream of Workers: bytes pass through unchanged. A FixedLengthStream fails if
// the number of bytes differs from the declared one.
import type { TransformStream } from 'web-streams-polyfill';
import type { LazyDeps } from '../../lazy.ts';

/** @param Transform the class of the streams. */
export function createByteTransforms(deps: LazyDeps, Transform: typeof TransformStream): Record<string, unknown> {
  const { encodeUtf8, isAnyArrayBuffer, toBytes } = deps;

  function chunkBytes(chunk: unknown): Uint8Array {
    if (typeof chunk === 'string') return encodeUtf8(chunk);
    if (ArrayBuffer.isView(chunk) || isAnyArrayBuffer(chunk)) return toBytes(chunk, 'A chunk');
    throw new TypeError('A chunk must be bytes or a string');
  }

  class IdentityTransformStream extends Transform<unknown, Uint8Array> {
    constructor() {
      super({
        transform(chunk, controller) {
          const bytes = chunkBytes(chunk);
          if (bytes.byteLength > 0) controller.enqueue(bytes);
        },
      });
    }
  }

  class FixedLengthStream extends Transform<unknown, Uint8Array> {
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
  return { FixedLengthStream, IdentityTransformStream };
}
