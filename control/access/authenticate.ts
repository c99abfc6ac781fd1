// Authenticates a request by its token or its session cookie. Pages of other sites cannot use the cookie.
import type { Sql } from '#postgres/sql.ts';
import { ApiError } from '../http/errors.ts';
import { actorOfSession, actorOfToken, type Actor, type SignedIn } from './actor.ts';

/** Dependencies of {@link authenticate}. */
interface AuthenticationDeps {
  readonly sql: Sql;
  /** Origins of the dashboard and the API. */
  readonly addresses: { readonly ui: string; readonly api: string };
  /** The account of a request's session cookie; null without a session. */
  readonly findSession: (request: Request) => Promise<SignedIn | null>;
}

const SAFE_METHODS = ['GET', 'HEAD', 'OPTIONS'];

/**
 * The actor, or null for an anonymous request. A token takes precedence over cookies.
 *
 * @throws {ApiError} `origin_forbidden` for a request with a session cookie from another origin.
 */
export async function authenticate(
  { sql, addresses, findSession }: AuthenticationDeps,
  request: Request,
): Promise<Actor | null> {
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

/** Requests that change something must carry the browser's origin headers. */
function isOwn(headers: Headers, origins: readonly string[], isSafe: boolean): boolean {
  const origin = headers.get('origin');
  const site = headers.get('sec-fetch-site');
  if (origin !== null) return origins.includes(origin);
  if (isSafe) return site === null || site === 'same-origin' || site === 'none';
  return site === 'same-origin';
}
