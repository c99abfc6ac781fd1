// One request of the platform to an address that somebody gave it: without following redirects, and to public addresses
// alone unless the operator named it. A name is looked up once, and the connection goes to the addresses that were
// checked, so that it cannot lead inside by answering differently. Used by webhooks, drains and alerts;
// the AI gateway has its own connections and takes the checks of addresses from here.
import { lookup } from 'node:dns/promises';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { createOwnAddresses, mayConnect, type EgressPolicy } from '../egress.ts';

/** What is sent. */
export interface Outbound {
  readonly url: string;
  /** POST by default. */
  readonly method?: 'POST' | 'PUT';
  /** Beside the length of the body. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  /** Whether it may lead to a private address. */
  readonly isPrivate: boolean;
}

/** What came of it. */
export interface AttemptResult {
  /** Null: there was no answer. */
  readonly status: number | null;
  /** Null: it arrived. One line for whoever gave the address, with nothing of what was answered. */
  readonly error: string | null;
}

/** Looks a name up. */
export type Resolve = (name: string) => Promise<readonly { readonly address: string; readonly family: number }[]>;

const ATTEMPT_MS_MAX = 10_000;
const FORBIDDEN = 'EGRESS_FORBIDDEN';
const isOwn = createOwnAddresses();
const bySystem: Resolve = (name) => lookup(name, { all: true });

const policyOf = (isPrivate: boolean): EgressPolicy =>
  isPrivate ? { loopback: true, private: true } : { loopback: false, private: false, isOwn };

/**
 * What is wrong with a URL to send to; null when nothing is. Whether its name leads somewhere private is seen when
 * it is connected to.
 */
export function urlProblem(text: string, isPrivate: boolean): string | null {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'https:' && !(isPrivate && url.protocol === 'http:')))
    return 'must begin with https://';
  if (url.username !== '' || url.password !== '') return 'must not hold a user or a password';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0 && !mayConnect(host, policyOf(isPrivate))) return 'must not lead to a private address';
  return null;
}

/** Sends it. Never throws. @param resolve for tests. */
export async function post(
  { url: text, method = 'POST', headers, body, isPrivate }: Outbound,
  resolve: Resolve = bySystem,
): Promise<AttemptResult> {
  const problem = urlProblem(text, isPrivate);
  if (problem !== null) return { status: null, error: `The URL ${problem}` };
  const url = new URL(text);
  const open = url.protocol === 'https:' ? requestHttps : requestHttp;
  const { promise, resolve: done } = Promise.withResolvers<AttemptResult>();
  try {
    const request = open(url, {
      method,
      agent: false,
      lookup: checkedLookup(resolve, policyOf(isPrivate)),
      signal: AbortSignal.timeout(ATTEMPT_MS_MAX),
      headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    });
    request.on('response', (response) => {
      const status = response.statusCode!;
      done({ status, error: errorOf(status) });
      // Whatever else it says does not count.
      request.destroy();
    });
    request.on('error', (error) => done({ status: null, error: reasonOf(error) }));
    request.end(body);
  } catch (error) {
    done({ status: null, error: reasonOf(error as Error) });
  }
  return promise;
}

/** A lookup that gives the addresses alone that may be connected to; by the system's resolver. */
export const guardedLookup = (isPrivate: boolean): LookupFunction => checkedLookup(bySystem, policyOf(isPrivate));

function checkedLookup(resolve: Resolve, policy: EgressPolicy): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const allowed = addresses.filter(({ address }) => mayConnect(address, policy));
        const [first] = allowed;
        if (first === undefined) callback(Object.assign(new Error('private address'), { code: FORBIDDEN }), '');
        else if (options.all === true) callback(null, [...allowed]);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    );
  };
}

function errorOf(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400) return `It answered ${status}: redirects are not followed`;
  return `It answered ${status}`;
}

function reasonOf(error: Error & { code?: string }): string {
  if (error.code === FORBIDDEN) return 'The URL must not lead to a private address';
  if (error.name === 'TimeoutError' || error.code === 'ABORT_ERR' || error.code === 'ETIMEDOUT')
    return `No answer within ${ATTEMPT_MS_MAX / 1000} s`;
  const { code = '' } = error;
  return /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? `No connection: ${code}` : 'No answer that could be read';
}
