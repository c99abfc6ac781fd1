// Sends one request to a URL that a user or the operator configured, without following redirects. Private addresses are
// allowed only if the operator configured this. A name is resolved once, and the connection goes to the checked
// addresses, so that a second DNS response cannot redirect it to a private address. Used by webhooks, drains and
// alerts; the AI gateway has its own connections and uses the address checks of this file.
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { createOwnAddresses, mayConnect, type EgressPolicy } from '../egress.ts';
import { createResolve } from './host-names.ts';

/** A request to send. */
interface Outbound {
  readonly url: string;
  /** POST by default. */
  readonly method?: 'POST' | 'PUT';
  /** Content-Length is added. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  /** Whether private addresses are allowed. */
  readonly isPrivate: boolean;
}

/** The result of a request. */
export interface AttemptResult {
  /** Null if there was no response. */
  readonly status: number | null;
  /**
   * Reason of the failure; null if the request was delivered. The text is one line for the owner of the URL, and
   * contains nothing of the response.
   */
  readonly error: string | null;
}

/** Resolves a host name. */
export type Resolve = (name: string) => Promise<readonly { readonly address: string; readonly family: number }[]>;

const ATTEMPT_MS_MAX = 10_000;
const FORBIDDEN = 'EGRESS_FORBIDDEN';
const UNREADABLE = 'No readable answer';
const isOwn = createOwnAddresses();
const byName: Resolve = createResolve();

const policyOf = (isPrivate: boolean): EgressPolicy =>
  isPrivate ? { loopback: true, private: true } : { loopback: false, private: false, isOwn };

/**
 * The problem with a target URL, or null. Whether its name resolves to a private address is checked when connecting.
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

/** Sends a request. Never throws. @param resolve for tests. */
export async function post(
  { url: text, method = 'POST', headers, body, isPrivate }: Outbound,
  resolve: Resolve = byName,
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
      // The rest of the response is not needed.
      request.destroy();
    });
    request.on('error', (error) => done({ status: null, error: reasonOf(error) }));
    // A response that requests another protocol ends the request without an error.
    request.once('close', () => done({ status: null, error: UNREADABLE }));
    request.end(body);
  } catch (error) {
    done({ status: null, error: reasonOf(error as Error) });
  }
  return promise;
}

/** A lookup that only returns allowed addresses. */
export const guardedLookup = (isPrivate: boolean): LookupFunction => checkedLookup(byName, policyOf(isPrivate));

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
  return /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? `No connection: ${code}` : UNREADABLE;
}
