// Validates and normalizes the names and values of headers, with a cache. Used by headers.ts.
import { toByteString } from './webidl.ts';

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const beyondText = /[^\t\x20-\x7e\x80-\xff]/;
const edgeSpace = /^[\t\n\r ]+|[\t\n\r ]+$/g;

/** Validation result of a header name in its original spelling, with the last value sent under it. */
interface KnownName {
  readonly lower: string;
  value: string;
  piece: string;
}

// Workers send the same few headers with every response, so validation and serialization are cached.
const knownNames = new Map<string, KnownName>();
const KNOWN_NAMES_MAX = 500;

function knownName(name: string): KnownName {
  const known = knownNames.get(name);
  if (known !== undefined) return known;
  if (!token.test(name)) throw new TypeError(`"${toByteString(name)}" is not a valid header name`);
  const lower = name.toLowerCase();
  const fresh: KnownName = { lower, value: '', piece: `${lower}\0\0` };
  if (knownNames.size >= KNOWN_NAMES_MAX) knownNames.clear();
  if (name.length <= 100) knownNames.set(name, fresh);
  return fresh;
}

/** A valid header name in lower case. */
export function normalName(name: unknown): string {
  return knownName(typeof name === 'string' ? name : toByteString(name)).lower;
}

/** Trims HTTP whitespace and refuses characters that no header value may contain: NUL, CR, LF. */
export function normalValue(value: unknown): string {
  let text = typeof value === 'string' ? value : `${value as string}`;
  const first = text.charCodeAt(0);
  const last = text.charCodeAt(text.length - 1);
  if (first <= 32 || last <= 32) text = text.replace(edgeSpace, '');
  if (beyondText.test(text)) {
    toByteString(text);
    if (/[\0\r\n]/.test(text)) throw new TypeError('A header value contains a line break or a NUL');
  }
  return text;
}

/** The header block with one header. */
export function pieceOf(name: string, value: unknown): string {
  const known = knownName(name);
  if (known.value === value) return known.piece;
  const normal = normalValue(value);
  refuseControls(normal);
  const piece = `${known.lower}\0${normal}\0`;
  if (normal.length <= 200) {
    known.value = normal;
    known.piece = piece;
  }
  return piece;
}

/** Control characters are legal in the Headers class but in no HTTP message, and they delimit the bridge's records. */
export function refuseControls(value: string): void {
  if (beyondText.test(value)) throw new TypeError('A header value contains a control character, which cannot be sent');
}
