// node:buffer: the npm package `buffer` plus the functions that it lacks (base64url, isUtf8, isAscii). Bundled by
// node-compat.ts.
import * as npm from 'buffer/';
import { unavailable } from './unavailable.ts';

type Method = (...args: unknown[]) => unknown;

export const { Buffer } = npm;
export const { INSPECT_MAX_BYTES, SlowBuffer, kMaxLength } = npm as unknown as {
  INSPECT_MAX_BYTES: number;
  SlowBuffer: Method;
  kMaxLength: number;
};
export type Buffer = npm.Buffer;

// The package decodes base64url as base64; it does not have the name and cannot encode it.
const { isEncoding, from, byteLength } = Buffer as unknown as Record<string, Method>;
const { toString, write, fill } = Buffer.prototype as unknown as {
  readonly toString: Method;
  readonly write: Method;
  readonly fill: Method;
};
const isUrl = (encoding: unknown): boolean => typeof encoding === 'string' && encoding.toLowerCase() === 'base64url';
const plain = (args: unknown[]): unknown[] =>
  args.map((value, index) => (index > 0 && isUrl(value) ? 'base64' : value));

Object.assign(Buffer, {
  isEncoding: (encoding: unknown) => isUrl(encoding) || isEncoding!(encoding),
  from: (...args: unknown[]) => from!.apply(Buffer, plain(args)),
  copyBytesFrom(view: ArrayBufferView & ArrayLike<unknown>, offset = 0, length?: number) {
    const {
      buffer,
      byteOffset,
      byteLength: size,
    } = (view as unknown as Uint16Array).subarray(offset, length === undefined ? undefined : offset + length);
    return (from as (bytes: Uint8Array) => unknown).call(Buffer, new Uint8Array(buffer, byteOffset, size));
  },
  byteLength: (...args: unknown[]) => byteLength!.apply(Buffer, plain(args)),
});
Object.assign(Buffer.prototype, {
  write(...args: unknown[]) {
    return write.apply(this, plain(args));
  },
  fill(...args: unknown[]) {
    return fill.apply(this, plain(args));
  },
  toString(encoding?: unknown, start?: unknown, end?: unknown) {
    if (!isUrl(encoding)) return toString.call(this, encoding, start, end);
    const text = toString.call(this, 'base64', start, end) as string;
    return text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
  },
});

type Bytes = ArrayBuffer | ArrayBufferView<ArrayBuffer>;

function view(input: Bytes): Uint8Array {
  return ArrayBuffer.isView(input)
    ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength)
    : new Uint8Array(input);
}

export function isUtf8(input: Bytes): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(view(input));
    return true;
  } catch {
    return false;
  }
}

export function isAscii(input: Bytes): boolean {
  return view(input).every((byte) => byte < 128);
}

export const Blob = globalThis.Blob;
export const File = (globalThis as Record<string, unknown>)['File'];
export const atob = (text: string): string => globalThis.atob(text);
export const btoa = (text: string): string => globalThis.btoa(text);
export const K_STRING_MAX_LENGTH = 2 ** 29 - 24;
export const constants = { MAX_LENGTH: kMaxLength, MAX_STRING_LENGTH: K_STRING_MAX_LENGTH };

/** Converts bytes between encodings; unsupported characters become `?`. */
export function transcode(source: Uint8Array, from: string, to: string): Buffer {
  const text = Buffer.from(source).toString(from as 'utf8');
  const most = /^(?:ascii)$/i.test(to) ? 0x7f : /^(?:latin1|binary)$/i.test(to) ? 0xff : Infinity;
  return Buffer.from(
    [...text].map((character) => (character.codePointAt(0)! > most ? '?' : character)).join(''),
    to as 'utf8',
  );
}

export const resolveObjectURL = /* @__PURE__ */ unavailable('buffer.resolveObjectURL');

export default {
  Buffer,
  SlowBuffer,
  INSPECT_MAX_BYTES,
  kMaxLength,
  kStringMaxLength: K_STRING_MAX_LENGTH,
  constants,
  Blob,
  File,
  atob,
  btoa,
  isUtf8,
  isAscii,
  transcode,
  resolveObjectURL,
};
