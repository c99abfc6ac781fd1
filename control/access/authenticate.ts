// The actor of a request: by a token, or by the cookie of a session, which other sites' pages cannot use.
import type { Sql } from '#postgres/sql.ts';
import { ApiError } from '../http/errors.ts';
import { actorOfSession, actorOfToken, type Actor, type SignedIn } from './actor.ts';

/** What it needs of the process. */
interface Asked {
  readonly sql: Sql;
  /** Of the dashboard and of the API. */
  readonly addresses: { readonly ui: string; readonly api: string };
  /** The account of a request's session cookie; null without a session. */
  readonly findSession: (request: Request) => Promise<SignedIn | null>;
}

const SAFE_METHODS = ['GET', 'HEAD', 'OPTIONS'];

/**
 * Null: nobody that is known. A request with a token is that token's, whatever cookies come along.
 *
 * @throws {ApiError} `origin_forbidden` for a request with a session's cookie from another origin.
 */
export async function authenticate({ sql, addresses, findSession }: Asked, request: Request): Promise<Actor | null> {
  const { headers, method } = request;
  const authorization = headers.get('authorization');
  if (authorization !== null) {
    const [, secret] = /^Bearer +([\x21-\x7e]{1,512})$/i.exec(authorization) ?? [];
    return secret === undefined ? null : actorOfToken(sql, secret);
  }
  const signedIn = headers.has('cookie') ? await findSession(request) : null;
  if (signedIn === null) return null;
  const origins = [new URL(addresses.ui).origin, new URL(addresses.api).origin];
  if (!isOwn(headers, origins, SAFE_METHODS.includes(method)))
    throw new ApiError('origin_forbidden', { origin: headers.get('origin') ?? 'an unknown page' });
  return actorOfSession(sql, signedIn);
}

/** Browsers say where a request comes from; of one that changes something it must be said. */
function isOwn(headers: Headers, origins: readonly string[], isSafe: boolean): boolean {
  const origin = headers.get('origin');
  const site = headers.get('sec-fetch-site');
  if (origin !== null) return origins.includes(origin);
  if (isSafe) return site === null || site === 'same-origin' || site === 'none';
  return site === 'same-origin';
}
