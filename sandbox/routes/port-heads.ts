// Request and response headers of visits to exposed ports: authorization, the request as the server in the sandbox sees
// it, and the response as the visitor sees it. Visitors and servers are both untrusted. Pure; called by port-visits.ts.
import { PlatformError } from '#core/errors.ts';
import { PORT_TOKEN_HEADER, type PortVisit } from '#core/sandbox/exposed-port.ts';
import { RESPONSE_HEADER } from '#core/sandbox/operations.ts';

type Pairs = readonly (readonly [string, string])[];

/** A response's status and headers, as in the header `sandbox-response`. */
interface PortHead {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Pairs;
}

/** The query parameter with the token on the first visit. */
const PARAMETER = 'token';
const COOKIE_SECONDS = 7 * 24 * 60 * 60;
const TOKEN_CHARS_MAX = 512;
const HEADERS_MAX = 500;
/** Hop-by-hop headers; the length of a body is set separately. */
const HOP_HEADERS = /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/;
const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]{1,256}$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Headers that the platform sets itself, or does not forward. */
const OWN_HEADERS = /^(?:x-platform-.*|host)$/;
const NO_STORE: Pairs = [
  ['cache-control', 'no-store'],
  ['referrer-policy', 'no-referrer'],
];

/** The prefix of the name prevents other hosts from setting the cookie. */
const cookieOf = (origin: string): string => (origin.startsWith('https:') ? '__Host-platform-port' : 'platform-port');

/** Whether a visit is allowed: then the request for the server, otherwise a redirect that sets a cookie. */
export type Admission =
  | { readonly is: 'passed'; readonly visit: PortVisit }
  | { readonly is: 'sent on'; readonly head: PortHead };

/**
 * @param isToken checks the port's token; null if none is required.
 * @throws {PlatformError} `sandbox_port_locked`
 */
export function admit(visit: PortVisit, isToken: ((given: string) => boolean) | null): Admission {
  if (isToken === null) return { is: 'passed', visit };
  const isRight = (given: string): boolean => given.length <= TOKEN_CHARS_MAX && isToken(given);
  const { path, rest } = withoutToken(visit.path, isRight);
  if (path !== null) {
    if (visit.method !== 'GET' || !(valueOf(visit.headers, 'accept') ?? '').includes('text/html'))
      return { is: 'passed', visit: { ...visit, path } };
    // Keeps the URL with the token out of Referer headers and away from the server.
    const cookie = `${cookieOf(visit.origin)}=${rest}; Path=/; HttpOnly; Max-Age=${COOKIE_SECONDS}`;
    // Pages embed ports in frames, also across sites. A partitioned cookie is not sent with other sites' requests.
    const attributes = visit.origin.startsWith('https:') ? 'Secure; SameSite=None; Partitioned' : 'SameSite=Lax';
    const headers: Pairs = [...NO_STORE, ['location', path], ['set-cookie', `${cookie}; ${attributes}`]];
    return { is: 'sent on', head: { status: 307, statusText: '', headers } };
  }
  if (isRight(valueOf(visit.headers, PORT_TOKEN_HEADER) ?? '')) return { is: 'passed', visit };
  if (cookiesIn(visit).some(isRight)) return { is: 'passed', visit };
  throw new PlatformError('sandbox_port_locked', { header: PORT_TOKEN_HEADER });
}

/** Removes the token parameter from a path; `rest` is the token. `path` is null if the path has no token. */
function withoutToken(path: string, isRight: (given: string) => boolean): { path: string | null; rest: string } {
  const at = path.indexOf('?');
  if (at < 0 || !path.includes(`${PARAMETER}=`, at)) return { path: null, rest: '' };
  let token = '';
  const kept = path
    .slice(at + 1)
    .split('&')
    .filter((part) => {
      const value = part.startsWith(`${PARAMETER}=`) ? part.slice(PARAMETER.length + 1) : null;
      if (value === null || !isRight(value)) return true;
      token = value;
      return false;
    });
  if (token === '') return { path: null, rest: '' };
  // A path with two leading slashes would redirect to another host.
  const own = path.slice(0, at).replace(/^[/\\]+/, '/');
  return { path: kept.length === 0 ? own : `${own}?${kept.join('&')}`, rest: token };
}

function valueOf(headers: Pairs, wanted: string): string | null {
  return headers.find(([name]) => name === wanted)?.[1] ?? null;
}

function cookiesIn({ headers, origin }: PortVisit): string[] {
  const name = `${cookieOf(origin)}=`;
  return headers.flatMap(([header, value]) =>
    header === 'cookie'
      ? value.split(';').flatMap((pair) => (pair.trim().startsWith(name) ? [pair.trim().slice(name.length)] : []))
      : [],
  );
}

/**
 * The request for the server in the sandbox: addressed to `localhost`, which dev servers expect, and without the
 * platform's authentication.
 */
export function requestHeaders({ headers, origin }: PortVisit, port: number): [string, string][] {
  const own = `http://localhost:${port}`;
  const cookie = `${cookieOf(origin)}=`;
  const kept = headers.flatMap(([name, value]): [string, string][] => {
    if (HOP_HEADERS.test(name) || OWN_HEADERS.test(name)) return [];
    if (name === 'origin' && value === origin) return [[name, own]];
    if (name === 'referer' && value.startsWith(`${origin}/`)) {
      const { path } = withoutToken(value.slice(origin.length), () => true);
      return [[name, own + (path ?? value.slice(origin.length))]];
    }
    if (name !== 'cookie') return [[name, value]];
    const pairs = value.split(';').filter((pair) => !pair.trim().startsWith(cookie));
    return pairs.length === 0 ? [] : [[name, pairs.join(';').trim()]];
  });
  return [['host', `localhost:${port}`], ...kept, ['x-platform-url', `${origin}/`]];
}

/**
 * The response for the visitor, from untrusted headers of the agent.
 *
 * @throws {PlatformError} `port_unreachable`
 */
export function answerHead(said: string | undefined, origin: string, port: number): PortHead {
  const refuse = (reason: string): PlatformError => new PlatformError('port_unreachable', { port, reason });
  const { status, headers } = headIn(said);
  if (!Number.isInteger(status) || (status as number) < 200 || (status as number) > 599)
    throw refuse('it sent an invalid status');
  if (!Array.isArray(headers) || headers.length > HEADERS_MAX) throw refuse('it answers with headers that are none');
  const own = new RegExp(`^https?://(?:localhost|127\\.0\\.0\\.1):${port}(?=/|$)`);
  const kept: [string, string][] = [];
  let hasLength = false;
  for (const pair of headers as unknown[]) {
    const [given, value] = Array.isArray(pair) ? (pair as unknown[]) : [];
    if (typeof given !== 'string' || typeof value !== 'string') throw refuse('it answers with headers that are none');
    const name = given.toLowerCase();
    if (!NAME.test(name) || !VALUE.test(value)) throw refuse('it sent headers that are not allowed');
    if (HOP_HEADERS.test(name) || (name === 'set-cookie' && value.trimStart().startsWith(cookieOf(origin)))) continue;
    if (name === 'content-length') {
      if (hasLength || !/^\d{1,15}$/.test(value)) throw refuse('it sent an invalid content length');
      hasLength = true;
    }
    kept.push([name, name === 'location' ? value.replace(own, origin) : value]);
  }
  // Prevents indexing by search engines.
  return { status: status as number, statusText: '', headers: [...kept, ['x-robots-tag', 'noindex']] };
}

function headIn(said: string | undefined): { readonly status?: unknown; readonly headers?: unknown } {
  try {
    return (JSON.parse(decodeURIComponent(said ?? '')) ?? {}) as object;
  } catch {
    return {};
  }
}

/** Encodes the header `sandbox-response`. */
export function writtenHead(head: PortHead): Record<string, string> {
  return { [RESPONSE_HEADER]: encodeURIComponent(JSON.stringify(head)) };
}
