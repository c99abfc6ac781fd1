// Parses a string to a serialized URL with the offsets of its components, which is all that the URL class and Request
// use. Native code detects ordinary URLs that are already serialized (isolates/native/codecs/url.h), in one pass over
// their characters. The parser in url-record.ts handles all other URLs.
import { host } from '../host.ts';
import { parseRecord, type UrlRecord } from './url-record.ts';

/** A serialized URL and the offsets of its components. */
export interface UrlPlaces {
  href: string;
  /** The position after the scheme's colon. */
  schemeEnd: number;
  /** The position after user name and password; equals schemeEnd if there is no host. */
  hostStart: number;
  /** The position before the port's colon. */
  hostEnd: number;
  pathStart: number;
  /** Offset of the question mark; if there is no query, offset of the hash sign. */
  queryStart: number;
  /** Offset of the hash sign; the length of the URL if there is no fragment. */
  hashStart: number;
  opaque: boolean;
}

const plain = new Uint32Array(6);

/** Parses a URL, relative to a base if given; null when it is not valid. */
export function parsePlaces(text: string, base?: string): UrlPlaces | null {
  const href = host.plainUrl(text, base, plain);
  if (href !== undefined) {
    return {
      href,
      schemeEnd: plain[0]!,
      hostStart: plain[1]!,
      hostEnd: plain[2]!,
      pathStart: plain[3]!,
      queryStart: plain[4]!,
      hashStart: plain[5]!,
      opaque: false,
    };
  }
  const places = base === undefined ? null : parsePlaces(base);
  if (base !== undefined && places === null) return null;
  const record = parseRecord(text, places === null ? null : toRecord(places));
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

/** Whether a URL has a host, even an empty one. */
export function hasAuthority(places: UrlPlaces): boolean {
  return places.hostStart > places.schemeEnd;
}

/** Serializes components and records their offsets. */
export function serialise(url: UrlRecord): UrlPlaces {
  let href = `${url.scheme}:`;
  const schemeEnd = href.length;
  let hostStart = schemeEnd;
  let hostEnd = schemeEnd;
  if (url.host !== null) {
    href += '//';
    if (url.username !== '' || url.password !== '')
      href += url.password === '' ? `${url.username}@` : `${url.username}:${url.password}@`;
    hostStart = href.length;
    href += url.host;
    hostEnd = href.length;
    if (url.port !== null) href += `:${url.port}`;
  } else if (!url.opaque && url.path.startsWith('//')) {
    // Without this, two slashes would be parsed as the start of a host.
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
