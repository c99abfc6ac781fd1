// Percent-encoding of the URL Standard (section 1.3): encodes and decodes, with the code point sets as bits of one
// table.
import { decodeUtf8, encodeUtf8 } from './utf8.ts';

/** Sets of characters that get percent-encoded; everything above U+007E is in all of them. */
export const encodeSets = {
  control: 1,
  fragment: 2,
  query: 4,
  specialQuery: 8,
  path: 16,
  userinfo: 32,
  form: 64,
} as const;

/** The sets of each ASCII code. */
const setsOf = new Uint8Array(128);

function mark(sets: number, characters: string): void {
  for (let at = 0; at < characters.length; at++) setsOf[characters.charCodeAt(at)]! |= sets;
}
const { control, fragment, query, specialQuery, path, userinfo, form } = encodeSets;
for (let code = 0; code < 128; code++) if (code < 32 || code === 127) setsOf[code] = 127;
mark(fragment, ' "<>`');
mark(query | specialQuery, ' "#<>');
mark(specialQuery, "'");
mark(path, ' "#<>?^`{}');
mark(userinfo, ' "#<>?^`{}/:;=@[\\]|');
// Spaces are not encoded here: they are written as `+` afterwards.
mark(form, '"#<>?^`{}/:;=@[\\]|$%&+,!\'()~');
void control;

// The texts `%00` to `%FF`, created on first use.
let encodedBytes: readonly string[] | null = null;

function encodeByte(byte: number): string {
  encodedBytes ??= Array.from(
    { length: 256 },
    (_, value) => `%${value < 16 ? '0' : ''}${value.toString(16).toUpperCase()}`,
  );
  return encodedBytes[byte]!;
}

/**
 * Percent-encodes the characters of a set, as UTF-8. Lone surrogates become U+FFFD.
 *
 * @param spaceAsPlus whether a space is written as `+`; the set must then not contain the space.
 */
export function percentEncode(text: string, set: number, spaceAsPlus = false): string {
  let from = 0;
  let result = '';
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    let encoded: string;
    if (unit < 128) {
      if ((setsOf[unit]! & set) !== 0) encoded = encodeByte(unit);
      else if (unit === 32 && spaceAsPlus) encoded = '+';
      else continue;
      result += from === at ? encoded : text.slice(from, at) + encoded;
      from = at + 1;
      continue;
    }
    let end = at + 1;
    if (unit < 0x800) encoded = encodeByte(0xc0 | (unit >> 6)) + encodeByte(0x80 | (unit & 0x3f));
    else {
      while (end < text.length && text.charCodeAt(end) >= 128) end++;
      encoded = encodeURIComponent(text.slice(at, end).toWellFormed());
    }
    result += text.slice(from, at) + encoded;
    from = end;
    at = end - 1;
  }
  return from === 0 ? text : result + text.slice(from);
}

function hexValue(unit: number): number {
  if (unit >= 48 && unit <= 57) return unit - 48;
  const lower = unit | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}

/** Percent-decodes to bytes; a `%` without two hex digits is kept. */
export function percentDecodeBytes(text: string): Uint8Array {
  const bytes = encodeUtf8(text);
  let size = 0;
  for (let at = 0; at < bytes.length; at++, size++) {
    const byte = bytes[at]!;
    const high = byte === 37 && at + 2 < bytes.length ? hexValue(bytes[at + 1]!) : -1;
    const low = high < 0 ? -1 : hexValue(bytes[at + 2]!);
    if (low < 0) bytes[size] = byte;
    else {
      bytes[size] = high * 16 + low;
      at += 2;
    }
  }
  return bytes.subarray(0, size);
}

/** Percent-decodes to text; ill-formed UTF-8 becomes U+FFFD, and a byte order mark is kept. */
export function percentDecode(text: string): string {
  let at = text.indexOf('%');
  if (at < 0) return text;
  // Characters of one and two bytes are decoded here; V8's decoder costs more per call.
  let from = 0;
  let result = '';
  while (at >= 0) {
    const first = byteAt(text, at);
    let unit = first;
    let end = at + 3;
    if (first >= 0xc2 && first < 0xe0) {
      const second = text.charCodeAt(end) === 37 ? byteAt(text, end) : -1;
      if (second >> 6 !== 2) return percentDecodeWhole(text);
      unit = ((first & 0x1f) << 6) | (second & 0x3f);
      end += 3;
    } else if (first < 0 || first > 0x7f) return percentDecodeWhole(text);
    result += text.slice(from, at) + String.fromCharCode(unit);
    from = end;
    at = text.indexOf('%', end);
  }
  return result + text.slice(from);
}

/** The byte of a `%` and two digits; below 0 if they are not hex. */
function byteAt(text: string, at: number): number {
  const high = hexValue(text.charCodeAt(at + 1));
  const low = hexValue(text.charCodeAt(at + 2));
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

function percentDecodeWhole(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // The slow path handles a single `%`, ill-formed UTF-8, or a lone surrogate.
    return decodeUtf8(percentDecodeBytes(text));
  }
}
