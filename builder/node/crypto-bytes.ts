// Inputs and outputs of node:crypto's functions as bytes. Bundled into workers by node-compat.ts.
import { Buffer } from './buffer.ts';
import { KeyObject } from './crypto-key-object.ts';

let text: InstanceType<typeof TextEncoder> | undefined;

/** Bytes as node:crypto accepts them; text is UTF-8 unless an encoding is given. */
export function toBytes(value: unknown, encoding: string | undefined, name: string): Uint8Array {
  // A shortcut for the common case, which is seven times as fast.
  if (typeof value === 'string' && (encoding === undefined || encoding === 'utf8'))
    return (text ??= new TextEncoder()).encode(value);
  if (typeof value === 'string') return Buffer.from(value, (encoding === 'buffer' ? 'utf8' : encoding) as 'utf8');
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (value instanceof KeyObject && value.type === 'secret') return value.material;
  throw invalidType(name, 'of type string or an instance of ArrayBuffer, Buffer, TypedArray, or DataView', value);
}

export function invalidType(name: string, wanted: string, value: unknown): TypeError {
  const got = value === null || value === undefined ? String(value) : `type ${typeof value}`;
  return Object.assign(new TypeError(`The "${name}" argument must be ${wanted}. Received ${got}`), {
    code: 'ERR_INVALID_ARG_TYPE',
  });
}

/** A Buffer over the same memory. */
export function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
}

/** A Buffer, or text if an encoding is given. */
export function encoded(bytes: Uint8Array, encoding: string | undefined): Buffer | string {
  const buffer = toBuffer(bytes);
  return encoding === undefined || encoding === null || encoding === 'buffer'
    ? buffer
    : buffer.toString(encoding as 'hex');
}

/** `RSA-SHA256`, `SHA256` and `sha-256` are the same digest. */
export function digestName(name: unknown, argument = 'algorithm'): string {
  if (typeof name !== 'string') throw invalidType(argument, 'of type string', name);
  return name
    .toLowerCase()
    .replace(/^rsa-/, '')
    .replace(/^sha-(?=\d)/, 'sha')
    .replace('rmd160', 'ripemd160');
}
