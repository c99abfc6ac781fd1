// Redirects of the requests that workers send: fetch.ts, web-socket.ts and service.ts follow them.
import type { Readable } from 'node:stream';
import { PlatformError } from '#core/errors.ts';
import type { FetchedResponse } from './fetched-response.ts';

const REDIRECTS_MAX = 20;
/** Headers that are not sent to another origin. */
export const SECRET_HEADERS = /^(?:authorization|cookie|host|proxy-authorization)$/;
const CONTENT_HEADERS = /^content-(?:encoding|language|location|type|length)$/;

/** The request after a redirect. */
interface Request {
  readonly verb: string;
  readonly body: Uint8Array | string | Readable | null;
  /** Names and values, alternating. */
  readonly list: string[];
}

/** The target of a redirect; null if the response is not one. */
export function redirectTarget(response: FetchedResponse, from: URL): URL | null {
  if (![301, 302, 303, 307, 308].includes(response.statusCode)) return null;
  const { headers } = response;
  for (let at = 0; at < headers.length; at += 2) {
    if ((headers[at] as string).toLowerCase() !== 'location') continue;
    const location = URL.parse(headers[at + 1] as string, from.href);
    if (location === null)
      throw new PlatformError('fetch_failed', { reason: 'The location of a redirect is not a valid URL' });
    if (location.hash === '') location.hash = from.hash;
    return location;
  }
  return null;
}

/** @throws {PlatformError} `fetch_failed` if a redirect is not allowed, or the limit of redirects is exceeded. */
export function checkRedirect(location: URL, mode: string, redirects: number): void {
  if (mode === 'error')
    throw new PlatformError('fetch_failed', { reason: `Redirect to ${location.href} while redirect is "error"` });
  if (redirects >= REDIRECTS_MAX)
    throw new PlatformError('fetch_failed', { reason: `More than ${REDIRECTS_MAX} redirects` });
}

/** Returns the request after a redirect. @throws {PlatformError} `fetch_failed` if its body cannot be sent again. */
export function redirected(status: number, request: Request): Request {
  const { verb, body, list } = request;
  if (changesToGet(status, verb)) return { verb: 'GET', body: null, list: without(list, CONTENT_HEADERS) };
  if (body !== null && typeof body === 'object' && !(body instanceof Uint8Array))
    throw new PlatformError('fetch_failed', { reason: 'A redirect requires the body again, but it was a stream' });
  return request;
}

function changesToGet(status: number, method: string): boolean {
  return (
    ((status === 301 || status === 302) && method === 'POST') ||
    (status === 303 && method !== 'GET' && method !== 'HEAD')
  );
}

export function without(list: readonly string[], names: RegExp): string[] {
  const kept: string[] = [];
  for (let at = 0; at < list.length; at += 2)
    if (!names.test(list[at] as string)) kept.push(list[at] as string, list[at + 1] as string);
  return kept;
}
