// Percent-encoding of the URL Standard (section 1.3): the code point sets as bits of one table, encode and decode.
import { decodeUtf8, encodeUtf8 } from './utf8.ts';

/** Sets of characters that get percent-encoded; everything above U+007E is in all of them. */
export const encodeSets = { control: 1, fragment: 2, query: 4, specialQuery: 8, path: 16, userinfo: 32, form: 64 } as const;

/** For every ASCII code, the sets it belongs to. */
export const setsOf = new Uint8Array(128);

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
// A space is left alone here and written as `+` afterwards.
mark(form, '"#<>?^`{}/:;=@[\\]|$%&+,!\'()~');
void control;

const hexDigits = '0123456789ABCDEF';

function encodeByte(byte: number): string {
  return `%${hexDigits[byte >> 4]!}${hexDigits[byte & 15]!}`;
}

/** Percent-encodes the characters of a set, as UTF-8. Lone surrogates become U+FFFD. */
export function percentEncode(text: string, set: number): string {
  let from = 0;
  let result = '';
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 128) {
      if ((setsOf[unit]! & set) === 0) continue;
      result += text.slice(from, at) + encodeByte(unit);
      from = at + 1;
      continue;
    }
    let end = at + 1;
    while (end < text.length && text.charCodeAt(end) >= 128) end++;
    result += text.slice(from, at) + encodeURIComponent(text.slice(at, end).toWellFormed());
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

/** Percent-decodes to bytes; a `%` without two hex digits stays as it is. */
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

/** Percent-decodes to text, ill-formed UTF-8 as U+FFFD; a byte order mark stays. */
export function percentDecode(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    // A stray `%`, ill-formed UTF-8 or a lone surrogate: the slow way.
    return decodeUtf8(percentDecodeBytes(text));
  }
}
