// The basic URL parser of the URL Standard (section 4.4) over a record of components, with its serializer. The parser
// works by component rather than by character, because few states look at more than one component. The setters of the
// URL class are in url-setters.ts, and the shortcut for ordinary URLs is in url-parse.ts.
import { encodeSets, percentEncode } from './url-encode.ts';
import { parseHost } from './url-host.ts';

export interface UrlRecord {
  /** Without the colon. */
  scheme: string;
  username: string;
  password: string;
  /** The serialized host; null means no host, '' the empty host. */
  host: string | null;
  /** Null means no port, or the default port of the scheme. */
  port: number | null;
  /**
   * An opaque path, or segments that each follow a slash: a path without segments is '', a path with one empty segment
   * is '/'.
   */
  path: string;
  opaque: boolean;
  query: string | null;
  fragment: string | null;
}

const defaultPorts: Record<string, number | null> = { http: 80, https: 443, ws: 80, wss: 443, ftp: 21, file: null };

export function isSpecial(scheme: string): boolean {
  return Object.hasOwn(defaultPorts, scheme);
}

export function defaultPort(scheme: string): number | null {
  return Object.hasOwn(defaultPorts, scheme) ? defaultPorts[scheme]! : null;
}

const schemePattern = /^[a-zA-Z][a-zA-Z0-9+\-.]*:/;
const driveLetter = /^[a-zA-Z][:|]$/;
const startsWithDrive = /^[a-zA-Z][:|](?:$|[/\\?#])/;
const singleDot = /^(?:\.|%2e)$/i;
const doubleDot = /^(?:\.|%2e){2}$/i;

function blank(scheme: string): UrlRecord {
  return {
    scheme,
    username: '',
    password: '',
    host: null,
    port: null,
    path: '',
    opaque: false,
    query: null,
    fragment: null,
  };
}

/** Parses a URL; null when it is not valid. */
export function parseRecord(input: string, base: UrlRecord | null): UrlRecord | null {
  // oxlint-disable-next-line no-control-regex
  const text = input.replace(/^[\0-\x20]+|[\0-\x20]+$/g, '').replace(/[\t\n\r]+/g, '');
  const match = schemePattern.exec(text);
  if (match === null) return base === null ? null : parseRelative(text, base);
  const scheme = match[0].slice(0, -1).toLowerCase();
  const rest = text.slice(match[0].length);
  const url = blank(scheme);
  if (scheme === 'file') return parseFile(url, rest, base?.scheme === 'file' ? base : null);
  if (isSpecial(scheme)) {
    if (base !== null && base.scheme === scheme && !rest.startsWith('//')) return parseRelativePath(url, rest, base);
    return parseAuthority(url, rest.replace(/^[/\\]+/, ''));
  }
  if (rest.startsWith('//')) return parseAuthority(url, rest.slice(2));
  if (rest.startsWith('/')) return parsePath(url, rest.slice(1));
  url.opaque = true;
  return finishOpaque(url, rest);
}

function finishOpaque(url: UrlRecord, rest: string): UrlRecord {
  const end = endOfPath(rest);
  let path = rest.slice(0, end);
  // A trailing space would be trimmed when the URL is parsed again.
  if (end < rest.length && path.endsWith(' ')) path = `${path.slice(0, -1)}%20`;
  url.path = percentEncode(path, encodeSets.control);
  return parseQuery(url, rest.slice(end));
}

function parseRelative(text: string, base: UrlRecord): UrlRecord | null {
  if (base.opaque) {
    if (!text.startsWith('#')) return null;
    return parseQuery({ ...base, fragment: null }, text);
  }
  const url = blank(base.scheme);
  return base.scheme === 'file' ? parseFile(url, text, base) : parseRelativePath(url, text, base);
}

function isSlash(character: string | undefined, special: boolean): boolean {
  return character === '/' || (special && character === '\\');
}

function parseRelativePath(url: UrlRecord, rest: string, base: UrlRecord): UrlRecord | null {
  const special = isSpecial(url.scheme);
  if (isSlash(rest[0], special)) {
    if (isSlash(rest[1], special)) return parseAuthority(url, special ? rest.replace(/^[/\\]+/, '') : rest.slice(2));
    return parsePath(
      { ...url, username: base.username, password: base.password, host: base.host, port: base.port },
      rest.slice(1),
    );
  }
  const merged: UrlRecord = { ...base, fragment: null };
  return continuePath(merged, rest);
}

/** Continues a relative reference inside the path, at the query, at the fragment or nowhere. */
function continuePath(url: UrlRecord, rest: string): UrlRecord {
  if (rest === '' || rest[0] === '#') return parseQuery(url, rest);
  url.query = null;
  if (rest[0] === '?') return parseQuery(url, rest);
  shorten(url);
  return parsePath(url, rest);
}

function parseFile(url: UrlRecord, rest: string, base: UrlRecord | null): UrlRecord | null {
  url.host = '';
  if (isSlash(rest[0], true)) {
    if (isSlash(rest[1], true)) return parseFileHost(url, rest.slice(2));
    const after = rest.slice(1);
    if (base !== null) {
      url.host = base.host;
      if (!startsWithDrive.test(after) && /^\/[a-zA-Z]:(?:\/|$)/.test(base.path)) url.path = base.path.slice(0, 3);
    }
    return parsePath(url, after);
  }
  if (base === null) return parsePath(url, rest);
  const merged: UrlRecord = { ...base, fragment: null };
  if (!startsWithDrive.test(rest)) return continuePath(merged, rest);
  merged.query = null;
  merged.path = '';
  return parsePath(merged, rest);
}

function parseFileHost(url: UrlRecord, rest: string): UrlRecord | null {
  const end = rest.search(/[/\\?#]|$/);
  const name = rest.slice(0, end);
  if (driveLetter.test(name)) return parsePath(url, rest);
  if (name !== '') {
    const host = parseHost(name, true);
    if (host === null) return null;
    url.host = host === 'localhost' ? '' : host;
  }
  return parsePathStart(url, rest.slice(end));
}

function parseAuthority(url: UrlRecord, rest: string): UrlRecord | null {
  const special = isSpecial(url.scheme);
  const end = rest.search(special ? /[/\\?#]|$/ : /[/?#]|$/);
  const authority = rest.slice(0, end);
  const at = authority.lastIndexOf('@');
  if (at >= 0) {
    if (at === authority.length - 1) return null;
    setCredentials(url, authority.slice(0, at));
  }
  return parseHostAndPort(url, authority.slice(at + 1)) ? parsePathStart(url, rest.slice(end)) : null;
}

function setCredentials(url: UrlRecord, text: string): void {
  const colon = text.indexOf(':');
  url.username = percentEncode(colon < 0 ? text : text.slice(0, colon), encodeSets.userinfo);
  if (colon >= 0) url.password = percentEncode(text.slice(colon + 1), encodeSets.userinfo);
}

/** Offset of the port's colon, outside of brackets; -1 if there is none. */
export function portColon(text: string): number {
  let inBrackets = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '[') inBrackets = true;
    else if (character === ']') inBrackets = false;
    else if (character === ':' && !inBrackets) return at;
  }
  return -1;
}

function parseHostAndPort(url: UrlRecord, text: string): boolean {
  const special = isSpecial(url.scheme);
  const colon = portColon(text);
  const name = colon < 0 ? text : text.slice(0, colon);
  if (name === '' && (special || colon >= 0)) return false;
  const host = name === '' ? '' : parseHost(name, special);
  if (host === null) return false;
  url.host = host;
  if (colon < 0) return true;
  const digits = text.slice(colon + 1);
  if (!/^[0-9]*$/.test(digits)) return false;
  return digits === '' || setPort(url, digits);
}

/** Sets the port from digits; false when it is too large. */
export function setPort(url: UrlRecord, digits: string): boolean {
  const port = Number(digits);
  if (port > 65535) return false;
  url.port = port === defaultPort(url.scheme) ? null : port;
  return true;
}

/** Parses the path after an authority. Special URLs always have a path. */
function parsePathStart(url: UrlRecord, rest: string): UrlRecord {
  const special = isSpecial(url.scheme);
  if (isSlash(rest[0], special)) return parsePath(url, rest.slice(1));
  return special ? parsePath(url, rest) : parseQuery(url, rest);
}

function endOfPath(rest: string): number {
  for (let at = 0; at < rest.length; at++) {
    const unit = rest.charCodeAt(at);
    if (unit === 63 || unit === 35) return at;
  }
  return rest.length;
}

function parsePath(url: UrlRecord, rest: string): UrlRecord {
  const end = endOfPath(rest);
  appendSegments(url, rest.slice(0, end));
  return parseQuery(url, rest.slice(end));
}

/** Appends path segments, resolving dots; the text starts after a slash. */
export function appendSegments(url: UrlRecord, text: string): void {
  const segments = text.split(isSpecial(url.scheme) ? /[/\\]/ : '/');
  const last = segments.length - 1;
  for (const [index, raw] of segments.entries()) {
    if (doubleDot.test(raw)) {
      shorten(url);
      if (index === last) url.path += '/';
    } else if (singleDot.test(raw)) {
      if (index === last) url.path += '/';
    } else {
      const isDrive = url.scheme === 'file' && url.path === '' && driveLetter.test(raw);
      url.path += `/${isDrive ? `${raw[0]!}:` : percentEncode(raw, encodeSets.path)}`;
    }
  }
}

function shorten(url: UrlRecord): void {
  if (url.scheme === 'file' && /^\/[a-zA-Z]:$/.test(url.path)) return;
  url.path = url.path.slice(0, Math.max(0, url.path.lastIndexOf('/')));
}

function parseQuery(url: UrlRecord, rest: string): UrlRecord {
  const hash = rest.indexOf('#');
  if (rest[0] === '?') url.query = encodeQuery(url.scheme, hash < 0 ? rest.slice(1) : rest.slice(1, hash));
  if (hash >= 0) url.fragment = percentEncode(rest.slice(hash + 1), encodeSets.fragment);
  return url;
}

export function encodeQuery(scheme: string, text: string): string {
  return percentEncode(text, isSpecial(scheme) ? encodeSets.specialQuery : encodeSets.query);
}
