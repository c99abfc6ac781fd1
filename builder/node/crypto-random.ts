// Random values and constant-time comparison of node:crypto, using Web Crypto. Bundled into workers by node-compat.ts.
import { Buffer } from './buffer.ts';

type Callback<T> = (error: Error | null, value: T) => void;

/** Maximum bytes per call of getRandomValues. */
const FILL_BYTES_MAX = 65_536;

export const webcrypto = /* @__PURE__ */ (() => globalThis.crypto)();
export const subtle = /* @__PURE__ */ (() => globalThis.crypto?.subtle)();
export const constants = {
  RSA_PKCS1_PADDING: 1,
  RSA_NO_PADDING: 3,
  RSA_PKCS1_OAEP_PADDING: 4,
  RSA_PKCS1_PSS_PADDING: 6,
  RSA_PSS_SALTLEN_DIGEST: -1,
  RSA_PSS_SALTLEN_MAX_SIGN: -2,
  RSA_PSS_SALTLEN_AUTO: -2,
  POINT_CONVERSION_COMPRESSED: 2,
  POINT_CONVERSION_UNCOMPRESSED: 4,
  POINT_CONVERSION_HYBRID: 6,
};

export function getRandomValues<T extends ArrayBufferView<ArrayBuffer>>(array: T): T {
  return crypto.getRandomValues(array as never) as T;
}

export function randomUUID(): string {
  return crypto.randomUUID();
}

export function randomFillSync<T extends ArrayBufferView<ArrayBuffer>>(
  target: T,
  offset = 0,
  size = target.byteLength - offset,
): T {
  const bytes = new Uint8Array(target.buffer, target.byteOffset + offset, size);
  for (let at = 0; at < size; at += FILL_BYTES_MAX)
    crypto.getRandomValues(bytes.subarray(at, Math.min(size, at + FILL_BYTES_MAX)));
  return target;
}

export function randomFill<T extends ArrayBufferView<ArrayBuffer>>(
  target: T,
  ...rest: [...number[], Callback<T>]
): void {
  const callback = rest.pop() as Callback<T>;
  randomFillSync(target, ...(rest as number[]));
  queueMicrotask(() => callback(null, target));
}

export function randomBytes(size: number, callback?: Callback<Buffer>): Buffer | undefined {
  const bytes = randomFillSync(Buffer.alloc(size) as never) as Buffer;
  if (callback === undefined) return bytes;
  queueMicrotask(() => callback(null, bytes));
  return undefined;
}

/** An unbiased random integer from `min` up to, but not including, `max`. The range is at most 2^48, as in Node. */
export function randomInt(
  min: number,
  max?: number | Callback<number>,
  callback?: Callback<number>,
): number | undefined {
  if (typeof max !== 'number') return randomInt(0, min, max);
  const range = max - min;
  if (!(range > 0) || range > 2 ** 48)
    throw new RangeError(`"max" must be above "min" by at most 2^48, got ${min} and ${max}`);
  const limit = 2 ** 48 - (2 ** 48 % range);
  let drawn = limit;
  while (drawn >= limit) {
    const [low = 0, high = 0] = crypto.getRandomValues(new Uint32Array(2));
    drawn = (high % 2 ** 16) * 2 ** 32 + low;
  }
  const value = min + (drawn % range);
  if (callback === undefined) return value;
  queueMicrotask(() => callback(null, value));
  return undefined;
}

/** Compares in constant time, so that the duration does not reveal where two values differ. */
export function timingSafeEqual(
  a: ArrayBufferView<ArrayBuffer> | ArrayBuffer,
  b: ArrayBufferView<ArrayBuffer> | ArrayBuffer,
): boolean {
  const [left, right] = [a, b].map((value) =>
    ArrayBuffer.isView(value)
      ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
      : new Uint8Array(value),
  ) as [Uint8Array, Uint8Array];
  if (left.length !== right.length) {
    throw Object.assign(new RangeError('Input buffers must have the same byte length'), {
      code: 'ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH',
    });
  }
  let difference = 0;
  for (let index = 0; index < left.length; index++) difference |= left[index]! ^ right[index]!;
  return difference === 0;
}
