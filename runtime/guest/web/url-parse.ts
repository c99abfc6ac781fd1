// From a string to a serialised URL with the places of its components: the URL class and Request use nothing else of a
// URL. Ordinary URLs are found to be in serialised form already by one pass over their characters (about 10 million a
// second); all others go through the parser in url-record.ts.
import { encodeSets, setsOf } from './url-encode.ts';
import { parseRecord, type UrlRecord } from './url-record.ts';

/** A serialised URL and where its components are in it. */
export interface UrlPlaces {
  href: string;
  /** After the scheme's colon. */ schemeEnd: number;
  /** After user name and password; schemeEnd when there is no host. */ hostStart: number;
  /** Before the port's colon. */ hostEnd: number;
  pathStart: number;
  /** Of the question mark; the hash's place when there is no query. */ queryStart: number;
  /** Of the hash sign; the length when there is no fragment. */ hashStart: number;
  opaque: boolean;
}

const hostCharacter = 1;
const digit = 2;
const classes = new Uint8Array(128);
for (const character of 'abcdefghijklmnopqrstuvwxyz0123456789.-') classes[character.charCodeAt(0)]! |= hostCharacter;
for (const character of '0123456789') classes[character.charCodeAt(0)]! |= digit;

const pathStop = encodeSets.path;
const queryStop = encodeSets.specialQuery;

/**
 * Parses an absolute http or https URL that is already in serialised form.
 *
 * @returns null when it is anything else, valid or not.
 */
function parseSerialised(text: string): UrlPlaces | null {
  if (!text.startsWith('http')) return null;
  const schemeEnd = text.charCodeAt(4) === 58 ? 5 : text.charCodeAt(4) === 115 && text.charCodeAt(5) === 58 ? 6 : 0;
  if (schemeEnd === 0 || text.charCodeAt(schemeEnd) !== 47 || text.charCodeAt(schemeEnd + 1) !== 47) return null;
  const { length } = text;
  const hostStart = schemeEnd + 2;
  let at = hostStart;
  let labelStart = at;
  let unit = 0;
  for (; at < length; at++) {
    unit = text.charCodeAt(at);
    if (unit > 127 || (classes[unit]! & hostCharacter) === 0) break;
    if (unit === 46) labelStart = at + 1;
    // "xn--" needs the tables on the host.
    else if (unit === 45 && text.charCodeAt(at - 1) === 45 && text.charCodeAt(at - 2) === 110) return null;
  }
  const hostEnd = at;
  // A last label that starts with a digit or is empty may be an IPv4 address.
  if (hostEnd === labelStart || (classes[text.charCodeAt(labelStart)]! & digit) !== 0) return null;
  if (unit === 58) {
    let port = 0;
    const first = text.charCodeAt(++at);
    for (; at < length; at++) {
      unit = text.charCodeAt(at);
      if (unit > 127 || (classes[unit]! & digit) === 0) break;
      port = port * 10 + unit - 48;
    }
    if (at === hostEnd + 1 || first === 48 || port > 65535 || port === (schemeEnd === 5 ? 80 : 443)) return null;
  }
  if (unit !== 47 || at >= length) return null;
  const pathStart = at;
  for (; at < length; at++) {
    unit = text.charCodeAt(at);
    if (unit > 127) return null;
    if ((setsOf[unit]! & pathStop) !== 0) break;
    if (unit === 92) return null;
    if (unit === 47 && isDotAt(text, at + 1)) return null;
  }
  let queryStart = at;
  if (at < length && unit === 63) {
    for (at++; at < length; at++) {
      unit = text.charCodeAt(at);
      if (unit > 127) return null;
      if ((setsOf[unit]! & queryStop) !== 0) break;
    }
  }
  const hashStart = at;
  if (at < length) {
    if (unit !== 35) return null;
    for (at++; at < length; at++) {
      unit = text.charCodeAt(at);
      if (unit > 127 || (setsOf[unit]! & encodeSets.fragment) !== 0) return null;
    }
  }
  if (queryStart > hashStart) queryStart = hashStart;
  return { href: text, schemeEnd, hostStart, hostEnd, pathStart, queryStart, hashStart, opaque: false };
}

/** Whether a path segment begins with what may be a dot segment. */
function isDotAt(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  if (unit === 37) return text.charCodeAt(at + 1) === 50 && (text.charCodeAt(at + 2) | 32) === 101;
  if (unit !== 46) return false;
  const next = text.charCodeAt(at + 1);
  // ".well-known" and the like are names.
  return !(next > 47 && next !== 63 && next !== 92) && next !== 45;
}

const slash = 47;
// What may change the meaning of the segments around it: `%` begins an encoded dot, `:` may end a scheme.
const uncertain = new Set([37, 58, 92]);

/**
 * A reference that begins with a path, on a base of which parseSerialised made places: the segments `.` and `..` resolved.
 *
 * @returns text that is to be checked by parseSerialised; null when it takes the whole parser to tell.
 */
function joinPlain({ href, pathStart, queryStart }: UrlPlaces, text: string): string | null {
  const { length } = text;
  let from = text.charCodeAt(0) === slash ? 1 : 0;
  if (from === length || (from === 1 && text.charCodeAt(1) === slash)) return null;
  // Ends with a slash, always.
  let joined = href.slice(0, from === 1 ? pathStart + 1 : href.lastIndexOf('/', queryStart - 1) + 1);
  for (let at = from; ; at++) {
    const unit = at < length ? text.charCodeAt(at) : 35;
    if (unit === slash || unit === 35 || unit === 63) {
      const size = at - from;
      const dots = size > 0 && size < 3 && text.charCodeAt(from) === 46 && text.charCodeAt(at - 1) === 46;
      if (!dots) joined += text.slice(from, unit === slash ? at + 1 : at);
      else if (size === 2 && joined.length > pathStart + 1) joined = joined.slice(0, joined.lastIndexOf('/', joined.length - 2) + 1);
      if (unit !== slash) return at === 0 ? null : joined + text.slice(at);
      from = at + 1;
    } else if (unit > 127 || uncertain.has(unit) || (setsOf[unit]! & pathStop) !== 0) return null;
  }
}

/** Parses a URL, relative to a base where one is given; null when it is not valid. */
export function parsePlaces(text: string, base?: string): UrlPlaces | null {
  const fast = parseSerialised(text);
  if (base === undefined) {
    if (fast !== null) return fast;
    const record = parseRecord(text, null);
    return record === null ? null : serialise(record);
  }
  const plainBase = parseSerialised(base);
  if (plainBase !== null) {
    if (fast !== null) return fast;
    // A path on an ordinary base is as ordinary as what the two give together.
    const together = joinPlain(plainBase, text);
    const joined = together === null ? null : parseSerialised(together);
    if (joined !== null) return joined;
  }
  const places = plainBase ?? parsePlaces(base);
  if (places === null) return null;
  if (fast !== null) return fast;
  const record = parseRecord(text, toRecord(places));
  return record === null ? null : serialise(record);
}

/** The components of a serialised URL. */
export function toRecord(places: UrlPlaces): UrlRecord {
  const { href, schemeEnd, hostStart, hostEnd, pathStart, queryStart, hashStart, opaque } = places;
  const hasHost = hasAuthority(places);
  const credentials = hasHost && hostStart > schemeEnd + 2 ? href.slice(schemeEnd + 2, hostStart - 1) : '';
  const colon = credentials.indexOf(':');
  return {
    scheme: href.slice(0, schemeEnd - 1),
    username: colon < 0 ? credentials : credentials.slice(0, colon),
    password: colon < 0 ? '' : credentials.slice(colon + 1),
    host: hasHost ? href.slice(hostStart, hostEnd) : null,
    port: hasHost && hostEnd < pathStart ? Number(href.slice(hostEnd + 1, pathStart)) : null,
    path: href.slice(pathStart, queryStart),
    opaque,
    query: queryStart < hashStart ? href.slice(queryStart + 1, hashStart) : null,
    fragment: hashStart < href.length ? href.slice(hashStart + 1) : null,
  };
}

/** Whether a URL has a host, be it empty. */
export function hasAuthority(places: UrlPlaces): boolean {
  return places.hostStart > places.schemeEnd;
}

/** Serialises components and notes their places. */
export function serialise(url: UrlRecord): UrlPlaces {
  let href = `${url.scheme}:`;
  const schemeEnd = href.length;
  let hostStart = schemeEnd;
  let hostEnd = schemeEnd;
  if (url.host !== null) {
    href += '//';
    if (url.username !== '' || url.password !== '') href += url.password === '' ? `${url.username}@` : `${url.username}:${url.password}@`;
    hostStart = href.length;
    href += url.host;
    hostEnd = href.length;
    if (url.port !== null) href += `:${url.port}`;
  } else if (!url.opaque && url.path.startsWith('//')) {
    // Two slashes would read as the start of a host.
    href += '/.';
  }
  const pathStart = href.length;
  href += url.path;
  const queryStart = href.length;
  if (url.query !== null) href += `?${url.query}`;
  const hashStart = href.length;
  if (url.fragment !== null) href += `#${url.fragment}`;
  return { href, schemeEnd, hostStart, hostEnd, pathStart, queryStart, hashStart, opaque: url.opaque };
}
