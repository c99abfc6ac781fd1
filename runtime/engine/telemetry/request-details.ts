// Stored details of a request: the query, some headers, the client, and the sizes of the bodies. recorder.ts calls this
// for requests that are stored, on the main thread: all work here is limited. Secrets must not leave the engine, so
// only harmless headers are stored, and values of the query that may be secret are replaced.
import type { RequestDetails } from '#core/telemetry.ts';
import type { Exchange } from '../http/listener.ts';

/** Headers whose values are stored. */
const STORED = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'cache-control',
  'content-encoding',
  'content-length',
  'content-type',
  'host',
  'if-modified-since',
  'if-none-match',
  'origin',
  'range',
  'referer',
  'upgrade',
  'user-agent',
  'x-requested-with',
]);
/** Headers whose values are not stored, but only their names. */
const SECRET = new Set(['authorization', 'cookie']);
/** Maximum number of headers that are examined. */
const SCANNED_MAX = 64;
const VALUE_CHARS_MAX = 256;
/** Maximum total length of all values. */
const HEADERS_CHARS_MAX = 1024;
const QUERY_CHARS_MAX = 1024;
const HIDDEN = '***';

const SECRET_NAME =
  /pass|secret|token|auth(?!or)|session|credential|signature|jwt|bypass|(?:key|code|sig|otp|pin|sid|hash)$/i;
/** Matches long random values, which are usually tokens. */
const LONG_RUN = /[\w.~=-]{24,}/g;

/** @param client the address of the client; empty if unknown. */
export function requestDetails(exchange: Exchange, status: number, client: string): RequestDetails {
  const { target, headerBlock, bodyBytes, sentBytes } = exchange;
  return {
    query: storedQuery(target),
    headers: storedHeaders(headerBlock),
    client,
    requestBytes: bodyBytes < 0 ? null : bodyBytes,
    responseBytes: status === 101 ? null : sentBytes,
  };
}

/** @example storedQuery('/search?q=tea&token=abc') // 'q=tea&token=***' */
export function storedQuery(target: string): string {
  const at = target.indexOf('?');
  if (at < 0) return '';
  return target
    .slice(at + 1, at + 1 + QUERY_CHARS_MAX)
    .split('&')
    .map((field) => {
      const nameEnd = field.indexOf('=');
      if (nameEnd < 0) return isSecretValue(field) ? HIDDEN : field;
      const name = field.slice(0, nameEnd);
      return SECRET_NAME.test(name) || isSecretValue(field.slice(nameEnd + 1)) ? `${name}=${HIDDEN}` : field;
    })
    .join('&');
}

/** The first value of each header. @param block the header block of the request (http/listener.ts). */
export function storedHeaders(block: string): RequestDetails['headers'] {
  const headers = new Map<string, string | null>();
  let charsLeft = HEADERS_CHARS_MAX;
  for (let at = 0, scanned = 0; at < block.length && scanned < SCANNED_MAX; scanned++) {
    const nameEnd = block.indexOf('\0', at);
    const valueEnd = block.indexOf('\0', nameEnd + 1);
    if (nameEnd < 0 || valueEnd < 0) break;
    const name = block.slice(at, nameEnd);
    at = valueEnd + 1;
    if (SECRET.has(name)) headers.set(name, null);
    else if (STORED.has(name) && !headers.has(name) && charsLeft > 0) {
      const value = block.slice(
        nameEnd + 1,
        Math.min(valueEnd, nameEnd + 1 + VALUE_CHARS_MAX, nameEnd + 1 + charsLeft),
      );
      // The URL of a referrer is stored without its query.
      const stored = name === 'referer' ? value.replace(/[?#].*$/, '') : value;
      headers.set(name, stored);
      charsLeft -= stored.length;
    }
  }
  return [...headers];
}

const isSecretValue = (value: string): boolean => value.match(LONG_RUN)?.some((run) => /\d/.test(run)) ?? false;
