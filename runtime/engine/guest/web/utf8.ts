// UTF-8 in JavaScript, for short or ill-formed inputs and for chunks; V8's codec handles long inputs. Used by
// TextEncoder, TextDecoder, bodies and URLs.
import { host } from '../host.ts';

// Below these lengths, the loop in this file is cheaper than a native call; the second length is for texts beyond
// ASCII.
const ASCII_UNITS_MAX = 16;
const SHORT_UNITS_MAX = 12;

// Shorter texts are first encoded into this buffer. Only V8's own code can create an array of up to 64 bytes on V8's
// heap, at a quarter of the cost of an array outside it.
const SCRATCH_UNITS_MAX = 64;
let scratch: Uint8Array<ArrayBuffer> | null = null;

// The function is captured before any tenant code can replace it.
const Bytes = Uint8Array;

/** Encodes a string as UTF-8, lone surrogates as U+FFFD, into a new buffer. */
export function encodeUtf8(text: string): Uint8Array<ArrayBuffer> {
  const { length } = text;
  if (length > SCRATCH_UNITS_MAX) return host.utf8Encode(text) as Uint8Array<ArrayBuffer>;
  if (length > ASCII_UNITS_MAX) return encodeByHost(text);
  const ascii = new Bytes(length);
  for (let at = 0; at < length; at++) {
    const unit = text.charCodeAt(at);
    if (unit > 0x7f) return length > SHORT_UNITS_MAX ? encodeByHost(text) : encodeShort(text);
    ascii[at] = unit;
  }
  return ascii;
}

function encodeByHost(text: string): Uint8Array<ArrayBuffer> {
  scratch ??= new Bytes(SCRATCH_UNITS_MAX * 3 + 64);
  const written = host.utf8EncodeInto(text, scratch);
  // A view is copied, because `slice` would read the array's constructor, which a worker may replace.
  return new Bytes(new Bytes(scratch.buffer, 0, written));
}

function encodeShort(text: string): Uint8Array<ArrayBuffer> {
  scratch ??= new Bytes(SCRATCH_UNITS_MAX * 3 + 64);
  const { written } = encodeInto(text, scratch);
  const bytes = new Bytes(written);
  for (let at = 0; at < written; at++) bytes[at] = scratch[at]!;
  return bytes;
}

/** Writes as many whole characters as fit; returns the number of code units read and bytes written. */
export function encodeInto(text: string, target: Uint8Array): { read: number; written: number } {
  const { length } = text;
  const space = target.length;
  let read = 0;
  let written = 0;
  while (read < length) {
    let unit = text.charCodeAt(read);
    if (unit < 0x80) {
      if (written >= space) break;
      target[written++] = unit;
      read++;
      continue;
    }
    if (unit < 0x800) {
      if (written + 2 > space) break;
      target[written++] = 0xc0 | (unit >> 6);
      target[written++] = 0x80 | (unit & 0x3f);
      read++;
      continue;
    }
    if (unit >= 0xd800 && unit <= 0xdfff) {
      const next = unit <= 0xdbff && read + 1 < length ? text.charCodeAt(read + 1) : 0;
      if (next >= 0xdc00 && next <= 0xdfff) {
        if (written + 4 > space) break;
        const point = 0x10000 + ((unit - 0xd800) << 10) + (next - 0xdc00);
        target[written++] = 0xf0 | (point >> 18);
        target[written++] = 0x80 | ((point >> 12) & 0x3f);
        target[written++] = 0x80 | ((point >> 6) & 0x3f);
        target[written++] = 0x80 | (point & 0x3f);
        read += 2;
        continue;
      }
      unit = 0xfffd;
    }
    if (written + 3 > space) break;
    target[written++] = 0xe0 | (unit >> 12);
    target[written++] = 0x80 | ((unit >> 6) & 0x3f);
    target[written++] = 0x80 | (unit & 0x3f);
    read++;
  }
  return { read, written };
}

const CHUNK_UNITS = 4096;

/** Converts code units to a string, in pieces that fit into the argument list of a call. */
export function fromUnits(units: Uint8Array | Uint16Array, length: number): string {
  const apply = String.fromCharCode.apply as (self: null, units: unknown) => string;
  if (length <= CHUNK_UNITS)
    return apply.call(String.fromCharCode, null, length === units.length ? units : units.subarray(0, length));
  let text = '';
  for (let at = 0; at < length; at += CHUNK_UNITS)
    text += apply.call(String.fromCharCode, null, units.subarray(at, Math.min(at + CHUNK_UNITS, length)));
  return text;
}

/** Index of the first byte that is not ASCII, or the length. */
function asciiLength(bytes: Uint8Array): number {
  const { length } = bytes;
  let at = 0;
  for (; at < length; at++) if (bytes[at]! > 0x7f) break;
  return at;
}

/** The unfinished sequence at the end of a chunk, which the next chunk continues. */
export interface Utf8Carry {
  /** Number of missing bytes; 0 if no sequence is unfinished. */
  needed: number;
  point: number;
  lower: number;
  upper: number;
}

export function createUtf8Carry(): Utf8Carry {
  return { needed: 0, point: 0, lower: 0x80, upper: 0xbf };
}

/**
 * Decodes UTF-8 like the decoder of the Encoding Standard, with one U+FFFD for each maximal ill-formed part.
 *
 * @param last whether an unfinished sequence at the end is an error, instead of continued by the next chunk.
 * @throws {TypeError} at the first ill-formed part when fatal.
 */
export function decodeUtf8(
  bytes: Uint8Array,
  fatal = false,
  carry: Utf8Carry = createUtf8Carry(),
  last = true,
): string {
  const { length } = bytes;
  const ascii = carry.needed === 0 ? asciiLength(bytes) : 0;
  if (ascii === length && carry.needed === 0) return fromUnits(bytes, length);
  // Each byte results in at most one code unit. A sequence from the previous chunk and an unfinished end may each add
  // one.
  const units = new Uint16Array(length + 2);
  let size = 0;
  for (; size < ascii; size++) units[size] = bytes[size]!;
  let { needed, point, lower, upper } = carry;
  for (let at = ascii; at < length; at++) {
    const byte = bytes[at]!;
    if (needed === 0) {
      if (byte < 0x80) units[size++] = byte;
      else if (byte >= 0xc2 && byte <= 0xdf) {
        needed = 1;
        point = byte & 0x1f;
      } else if (byte >= 0xe0 && byte <= 0xef) {
        if (byte === 0xe0) lower = 0xa0;
        else if (byte === 0xed) upper = 0x9f;
        needed = 2;
        point = byte & 0xf;
      } else if (byte >= 0xf0 && byte <= 0xf4) {
        if (byte === 0xf0) lower = 0x90;
        else if (byte === 0xf4) upper = 0x8f;
        needed = 3;
        point = byte & 0x7;
      } else units[size++] = illFormed(fatal);
      continue;
    }
    if (byte < lower || byte > upper) {
      needed = 0;
      lower = 0x80;
      upper = 0xbf;
      units[size++] = illFormed(fatal);
      at--;
      continue;
    }
    lower = 0x80;
    upper = 0xbf;
    point = (point << 6) | (byte & 0x3f);
    if (--needed > 0) continue;
    if (point > 0xffff) {
      units[size++] = 0xd7c0 + (point >> 10);
      units[size++] = 0xdc00 | (point & 0x3ff);
    } else units[size++] = point;
  }
  if (last && needed > 0) {
    needed = 0;
    lower = 0x80;
    upper = 0xbf;
    units[size++] = illFormed(fatal);
  }
  carry.needed = needed;
  carry.point = point;
  carry.lower = lower;
  carry.upper = upper;
  return fromUnits(units, size);
}

function illFormed(fatal: boolean): number {
  if (fatal) throw new TypeError('The encoded bytes are not valid UTF-8');
  return 0xfffd;
}
