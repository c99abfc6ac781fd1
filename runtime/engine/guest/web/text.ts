// TextEncoder and TextDecoder. UTF-8, UTF-16 and windows-1252 are decoded here, and long UTF-8 by V8's own decoder. The
// tables of the other encodings are on the host.
import { host } from '../host.ts';
import { encodingOf } from './text-labels.ts';
import { createUtf8Carry, decodeUtf8, encodeInto, encodeUtf8, fromUnits, type Utf8Carry } from './utf8.ts';
import { finishInterface, toDictionary, toDomString, toUsvString } from './webidl.ts';

// U+FFFD, created so that no minifier writes the character itself into the source (see windows1252High).
const replacement = fromUnits(new Uint16Array([0xfffd]), 1);

// Below this size, calling V8's decoder costs more than the loop in utf8.ts.
const NATIVE_BYTES_MIN = 16;

export class TextEncoder {
  #brand = true;
  get encoding(): string {
    return this.#brand ? 'utf-8' : '';
  }
  encode(input: unknown = ''): Uint8Array<ArrayBuffer> {
    void this.#brand;
    return encodeUtf8(toDomString(input));
  }
  encodeInto(source: unknown, destination: Uint8Array): { read: number; written: number } {
    void this.#brand;
    const text = toUsvString(source);
    if (!(destination instanceof Uint8Array)) throw new TypeError('encodeInto needs a Uint8Array to write to');
    return encodeInto(text, destination);
  }
}
finishInterface(TextEncoder);

/** The bytes of a BufferSource, not copied; empty when it is detached. */
export function toBytes(source: unknown, what: string): Uint8Array {
  if (source instanceof Uint8Array) return source;
  if (ArrayBuffer.isView(source)) {
    return source.buffer.byteLength === 0
      ? new Uint8Array(0)
      : new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  }
  if (isAnyArrayBuffer(source)) return source.byteLength === 0 ? new Uint8Array(0) : new Uint8Array(source);
  throw new TypeError(`${what} must be an ArrayBuffer or a view of one`);
}

const byteLengthGetter = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength')!.get!;

/** Whether a value is an ArrayBuffer or SharedArrayBuffer, of any realm. */
export function isAnyArrayBuffer(value: unknown): value is ArrayBuffer {
  if (typeof value !== 'object' || value === null) return false;
  if (value instanceof ArrayBuffer || isUnshared(value)) return true;
  const shared = (globalThis as { SharedArrayBuffer?: new () => object }).SharedArrayBuffer;
  return shared !== undefined && value instanceof shared;
}

function isUnshared(value: unknown): boolean {
  try {
    byteLengthGetter.call(value);
    return true;
  } catch {
    return false;
  }
}

/** Whether a value is a BufferSource over unshared memory, as WebIDL requires without [AllowShared]. */
export function isUnsharedBufferSource(value: unknown): boolean {
  return isUnshared(ArrayBuffer.isView(value) ? value.buffer : value);
}

/** The text of a whole body: UTF-8 with an optional byte order mark. */
export function decodeBody(bytes: Uint8Array): string {
  const start = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  return decodeWhole(start === 0 ? bytes : bytes.subarray(start), false);
}

/** Decodes complete UTF-8; a byte order mark is kept. */
export function decodeWhole(bytes: Uint8Array, fatal: boolean): string {
  if (bytes.length < NATIVE_BYTES_MIN) return decodeUtf8(bytes, fatal);
  const text = host.utf8Decode(bytes);
  // The native decoder only replaces errors; the slow decoder determines whether a U+FFFD was already in the input.
  return fatal && text.includes(replacement) ? decodeUtf8(bytes, true) : text;
}

/**
 * Up to this size, the host decodes synchronously; longer input is decoded in pieces of the second size
 * (bindings/text.ts).
 */
const SHORT_BYTES_MAX = 4096;
const PIECE_BYTES_MAX = 256 * 1024;

/**
 * Decodes new input with a legacy encoding's decoder on the host. @param handle the handle of the decoder; 0 opens a
 * new decoder.
 */
function convertOnHost(
  handle: number,
  label: string,
  fatal: boolean,
  bytes: Uint8Array,
  last: boolean,
): { handle: number; text: string } {
  let text = '';
  let open = handle;
  for (let at = 0; at === 0 || at < bytes.length; at += PIECE_BYTES_MAX) {
    const isLast = last && at + PIECE_BYTES_MAX >= bytes.length;
    const { value, parts } = host.callWaiting('text.convert', { handle: open, label, fatal, last: isLast }, [
      bytes.slice(at, at + PIECE_BYTES_MAX),
    ]);
    open = (value as { handle: number }).handle;
    text += host.utf8Decode(parts[0] as Uint8Array);
  }
  return { handle: open, text };
}

export class TextDecoder {
  readonly #encoding: string;
  #fatal = false;
  #ignoreBom = false;
  #streaming = false;
  #bomSeen = false;
  #carry: Utf8Carry | null = null;
  #utf16Tail: Uint8Array | null = null;
  // The host's decoder that holds the state of a legacy encoding between chunks.
  #hostDecoder: number | null = null;

  constructor(label: unknown = 'utf-8', options: unknown = undefined) {
    const name = toDomString(label);
    const encoding = encodingOf(name);
    if (encoding === undefined || encoding === 'replacement')
      throw new RangeError(`The encoding label "${name}" is unknown`);
    this.#encoding = encoding;
    if (options === undefined) return;
    const { fatal, ignoreBOM } = toDictionary(options, 'TextDecoder options');
    this.#fatal = Boolean(fatal);
    this.#ignoreBom = Boolean(ignoreBOM);
  }

  get encoding(): string {
    return this.#encoding;
  }
  get fatal(): boolean {
    return this.#fatal;
  }
  get ignoreBOM(): boolean {
    return this.#ignoreBom;
  }

  decode(input: unknown = undefined, options: unknown = undefined): string {
    const bytes = input === undefined ? new Uint8Array(0) : toBytes(input, 'What TextDecoder decodes');
    const stream = options !== undefined && Boolean(toDictionary(options, 'TextDecoder options')['stream']);
    if (!this.#streaming) {
      this.#bomSeen = false;
      this.#carry = null;
      this.#utf16Tail = null;
    }
    this.#streaming = stream;
    let text: string;
    try {
      text = this.#decode(bytes, stream);
    } catch (error) {
      // After an error, the next call starts from the beginning.
      this.#streaming = false;
      throw error;
    }
    if (this.#bomSeen || text === '') return text;
    this.#bomSeen = true;
    const unicode = this.#encoding === 'utf-8' || this.#encoding === 'utf-16le' || this.#encoding === 'utf-16be';
    return unicode && !this.#ignoreBom && text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  }

  #decode(bytes: Uint8Array, stream: boolean): string {
    switch (this.#encoding) {
      case 'utf-8':
        if (!stream && this.#carry === null) return decodeWhole(bytes, this.#fatal);
        return decodeUtf8(bytes, this.#fatal, (this.#carry ??= createUtf8Carry()), !stream);
      case 'utf-16le':
        return this.#decodeUtf16(bytes, stream, 0);
      case 'utf-16be':
        return this.#decodeUtf16(bytes, stream, 1);
      case 'windows-1252':
        return decodeSingleByte(bytes, windows1252);
      case 'x-user-defined':
        return decodeSingleByte(bytes, (byte) => (byte < 0x80 ? byte : 0xf700 + byte));
      default:
        return this.#decodeLegacy(bytes, stream);
    }
  }

  #decodeUtf16(bytes: Uint8Array, stream: boolean, big: 0 | 1): string {
    const input = joinBytes(this.#utf16Tail, bytes);
    const units = new Uint16Array((input.length >> 1) + 1);
    let size = 0;
    for (let at = 0; at + 1 < input.length; at += 2) units[size++] = input[at + (1 - big)]! * 256 + input[at + big]!;
    let keep = input.length % 2;
    // A high surrogate at the end may be completed by the next chunk.
    if (stream && size > 0 && isHigh(units[size - 1]!)) {
      size--;
      keep += 2;
    }
    this.#utf16Tail = stream && keep > 0 ? input.slice(input.length - keep) : null;
    if (!stream && keep > 0) {
      // An unfinished unit and a pending high surrogate before it are one error.
      if (size > 0 && isHigh(units[size - 1]!)) size--;
      units[size++] = 0xd800;
    }
    const text = fromUnits(units, size);
    if (text.isWellFormed()) return text;
    if (this.#fatal) throw new TypeError(`The encoded bytes are not valid ${this.#encoding}`);
    return text.toWellFormed();
  }

  #decodeLegacy(bytes: Uint8Array, stream: boolean): string {
    const label = this.#encoding;
    const fatal = this.#fatal;
    const before = this.#hostDecoder ?? 0;
    if (!stream && before === 0 && bytes.length <= SHORT_BYTES_MAX)
      return host.callSync('text.decode', { label, fatal }, bytes) as string;
    // The host discards a decoder that has finished or failed.
    this.#hostDecoder = null;
    const { handle, text } = convertOnHost(before, label, fatal, bytes, !stream);
    if (stream) this.#hostDecoder = handle;
    return text;
  }
}
finishInterface(TextDecoder);

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function joinBytes(before: Uint8Array | null, bytes: Uint8Array): Uint8Array {
  if (before === null) return bytes;
  const joined = new Uint8Array(before.length + bytes.length);
  joined.set(before);
  joined.set(bytes, before.length);
  return joined;
}

// Bytes 0x80 to 0x9f. The characters are written in hex, because one character beyond Latin-1 would double the size of
// the guest's source.
const windows1252High = new Uint16Array(
  '20ac 81 201a 192 201e 2026 2020 2021 2c6 2030 160 2039 152 8d 17d 8f 90 2018 2019 201c 201d 2022 2013 2014 2dc 2122 161 203a 153 9d 17e 178'
    .split(' ')
    .map((unit) => Number.parseInt(unit, 16)),
);

function windows1252(byte: number): number {
  return byte >= 0x80 && byte < 0xa0 ? windows1252High[byte - 0x80]! : byte;
}

function decodeSingleByte(bytes: Uint8Array, unitOf: (byte: number) => number): string {
  const units = new Uint16Array(bytes.length);
  for (let at = 0; at < bytes.length; at++) units[at] = unitOf(bytes[at]!);
  return fromUnits(units, units.length);
}
