// The setters of the URL class (section 6.1 of the URL Standard), which the standard defines as the parser with a state
// override. Each setter changes a record and returns whether it may have changed.
import { percentEncode, encodeSets } from './url-encode.ts';
import { parseHost } from './url-host.ts';
import {
  appendSegments,
  defaultPort,
  encodeQuery,
  isSpecial,
  portColon,
  setPort,
  type UrlRecord,
} from './url-record.ts';

function withoutBreaks(text: string): string {
  return text.replace(/[\t\n\r]+/g, '');
}

export function setScheme(url: UrlRecord, value: string): boolean {
  const match = /^[a-zA-Z][a-zA-Z0-9+\-.]*(?=:|$)/.exec(withoutBreaks(value));
  if (match === null) return false;
  const scheme = match[0].toLowerCase();
  if (isSpecial(scheme) !== isSpecial(url.scheme)) return false;
  if (scheme === 'file' && (url.username !== '' || url.password !== '' || url.port !== null)) return false;
  if (url.scheme === 'file' && url.host === '') return false;
  url.scheme = scheme;
  if (url.port === defaultPort(scheme)) url.port = null;
  return true;
}

function cannotHaveCredentials(url: UrlRecord): boolean {
  return url.host === null || url.host === '' || url.scheme === 'file';
}

export function setUsername(url: UrlRecord, value: string): boolean {
  if (cannotHaveCredentials(url)) return false;
  url.username = percentEncode(value, encodeSets.userinfo);
  return true;
}

export function setPassword(url: UrlRecord, value: string): boolean {
  if (cannotHaveCredentials(url)) return false;
  url.password = percentEncode(value, encodeSets.userinfo);
  return true;
}

export function setHost(url: UrlRecord, value: string, withPort: boolean): boolean {
  if (url.opaque) return false;
  const special = isSpecial(url.scheme);
  const text = withoutBreaks(value);
  const end = text.search(special ? /[/\\?#]|$/ : /[/?#]|$/);
  const authority = text.slice(0, end);
  const colon = url.scheme === 'file' ? -1 : portColon(authority);
  const name = colon < 0 ? authority : authority.slice(0, colon);
  if (colon >= 0 && (name === '' || !withPort)) return false;
  if (name === '') {
    if (special && url.scheme !== 'file') return false;
    if (url.username !== '' || url.password !== '' || url.port !== null) return false;
    url.host = '';
    return true;
  }
  const host = parseHost(name, special);
  if (host === null) return false;
  url.host = url.scheme === 'file' && host === 'localhost' ? '' : host;
  if (colon >= 0) setPortFrom(url, authority.slice(colon + 1));
  return true;
}

/** Only leading digits are used; all following characters are ignored. */
function setPortFrom(url: UrlRecord, text: string): boolean {
  const digits = /^[0-9]*/.exec(text)![0];
  return digits !== '' && setPort(url, digits);
}

export function setPortText(url: UrlRecord, value: string): boolean {
  if (cannotHaveCredentials(url)) return false;
  const text = withoutBreaks(value);
  if (value !== '') return setPortFrom(url, text);
  url.port = null;
  return true;
}

export function setPath(url: UrlRecord, value: string): boolean {
  if (url.opaque) return false;
  const special = isSpecial(url.scheme);
  // In a setter, `?` and `#` are part of the path, which encodes them.
  const text = withoutBreaks(value);
  url.path = '';
  if (special) appendSegments(url, /^[/\\]/.test(text) ? text.slice(1) : text);
  else if (text.startsWith('/')) appendSegments(url, text.slice(1));
  else if (text !== '') appendSegments(url, text);
  else if (url.host === null) url.path = '/';
  return true;
}

export function setSearch(url: UrlRecord, value: string): boolean {
  if (value === '') url.query = null;
  else url.query = encodeQuery(url.scheme, withoutBreaks(value.startsWith('?') ? value.slice(1) : value));
  return true;
}

export function setHash(url: UrlRecord, value: string): boolean {
  if (value === '') url.fragment = null;
  else url.fragment = percentEncode(withoutBreaks(value.startsWith('#') ? value.slice(1) : value), encodeSets.fragment);
  return true;
}
