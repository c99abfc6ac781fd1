// Sends one delivery: signed, without following redirects, and to public addresses alone. A name is looked up once, and
// the connection goes to the addresses that were checked, so that it cannot lead inside by answering differently.
import { createHmac } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { createOwnAddresses, mayConnect, type EgressPolicy } from '#core/egress.ts';

/** One attempt. */
export interface Attempt {
  readonly url: string;
  readonly secret: string;
  /** Id of the delivery: the same at each attempt. */
  readonly id: string;
  readonly event: string;
  /** JSON. */
  readonly body: string;
  /** Whether it may lead to a private address. */
  readonly isPrivate: boolean;
}

/** What came of it. */
export interface AttemptResult {
  /** Null: there was no answer. */
  readonly status: number | null;
  /** Null: it arrived. One line for the owner of the webhook, with nothing of what was answered. */
  readonly error: string | null;
}

/** Looks a name up. */
export type Resolve = (name: string) => Promise<readonly { readonly address: string; readonly family: number }[]>;

const ATTEMPT_MS_MAX = 10_000;
const FORBIDDEN = 'EGRESS_FORBIDDEN';
const isOwn = createOwnAddresses();

const policyOf = (isPrivate: boolean): EgressPolicy =>
  isPrivate ? { loopback: true, private: true } : { loopback: false, private: false, isOwn };

/**
 * Value of `x-platform-signature`.
 *
 * @param seconds since 1970.
 * @example signatureOf('whsec_x', 1, '{}') // 't=1,v1=<hex of HMAC-SHA-256 over "1.{}">'
 */
export function signatureOf(secret: string, seconds: number, body: string): string {
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`;
}

/**
 * What is wrong with a URL for a webhook; null when nothing is. Whether its name leads somewhere private is seen when
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
export async function send(
  { url: text, secret, id, event, body, isPrivate }: Attempt,
  resolve: Resolve = (name) => lookup(name, { all: true }),
): Promise<AttemptResult> {
  const problem = urlProblem(text, isPrivate);
  if (problem !== null) return { status: null, error: `The URL ${problem}` };
  const url = new URL(text);
  const open = url.protocol === 'https:' ? requestHttps : requestHttp;
  const { promise, resolve: done } = Promise.withResolvers<AttemptResult>();
  const request = open(url, {
    method: 'POST',
    agent: false,
    lookup: checkedLookup(resolve, policyOf(isPrivate)),
    signal: AbortSignal.timeout(ATTEMPT_MS_MAX),
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': 'platform-webhooks',
      'x-platform-event': event,
      'x-platform-delivery': id,
      'x-platform-signature': signatureOf(secret, Math.floor(Date.now() / 1000), body),
    },
  });
  request.on('response', (response) => {
    const status = response.statusCode!;
    done({ status, error: errorOf(status) });
    // Whatever else it says does not count.
    request.destroy();
  });
  request.on('error', (error) => done({ status: null, error: reasonOf(error) }));
  request.end(body);
  return promise;
}

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
