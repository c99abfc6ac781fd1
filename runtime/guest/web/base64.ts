// atob and btoa on V8's base64 codec, which exists at run time only (behind a flag), so it is looked up when called; the
// plain one serves where it is missing.
import { DOMException } from './dom-exception.ts';
import { fromUnits } from './utf8.ts';
import { requireArguments, toDomString } from './webidl.ts';

interface Base64Codec {
  fromBase64?(text: string): Uint8Array;
}
interface Base64Bytes {
  toBase64?(): string;
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

function invalidCharacter(message: string): DOMException {
  return new DOMException(message, 'InvalidCharacterError');
}

/** The global `atob`: base64 to one character a byte. */
export function atob(data: string): string {
  requireArguments(arguments.length, 1, 'atob');
  const text = toDomString(data);
  const codec = Uint8Array as Base64Codec;
  let bytes: Uint8Array;
  if (codec.fromBase64 === undefined) bytes = decode(text);
  else {
    try {
      bytes = codec.fromBase64(text);
    } catch {
      throw invalidCharacter('The string to decode is not base64');
    }
  }
  return fromUnits(bytes, bytes.length);
}

/** The global `btoa`: one character a byte to base64. */
export function btoa(data: string): string {
  requireArguments(arguments.length, 1, 'btoa');
  const text = toDomString(data);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit > 0xff) throw invalidCharacter('The string to encode holds a character above U+00FF');
    bytes[at] = unit;
  }
  return (bytes as Base64Bytes).toBase64?.() ?? encode(bytes);
}

function encode(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 3) {
    const group = (bytes[at]! << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    const left = bytes.length - at;
    text += alphabet[group >> 18]! + alphabet[(group >> 12) & 63]!;
    text += left > 1 ? alphabet[(group >> 6) & 63]! : '=';
    text += left > 2 ? alphabet[group & 63]! : '=';
  }
  return text;
}

function decode(input: string): Uint8Array {
  let text = input.replace(/[\t\n\f\r ]+/g, '');
  if (text.length % 4 === 0) text = text.replace(/==?$/, '');
  if (text.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(text)) throw invalidCharacter('The string to decode is not base64');
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4));
  let bits = 0;
  let held = 0;
  let size = 0;
  for (const character of text) {
    bits = ((bits << 6) | alphabet.indexOf(character)) & 0xffffff;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes[size++] = (bits >> held) & 0xff;
  }
  return bytes;
}
