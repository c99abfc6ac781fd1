// The actor of a request: by a token, or by the cookie of a session, which other sites' pages cannot use.
import { ApiError } from '../api/errors.ts';
import type { Parts } from '../parts.ts';
import { actorOfSession, actorOfToken, type Actor } from './actor.ts';

const SAFE_METHODS = ['GET', 'HEAD', 'OPTIONS'];

/**
 * Null: nobody that is known. A request with a token is that token's, whatever cookies come along.
 *
 * @throws {ApiError} `origin_forbidden` for a request with a session's cookie from another origin.
 */
export async function authenticate(parts: Parts, request: Request): Promise<Actor | null> {
  const { headers, method } = request;
  const authorization = headers.get('authorization');
  if (authorization !== null) {
    const [, secret] = /^Bearer +([\x21-\x7e]{1,512})$/i.exec(authorization) ?? [];
    return secret === undefined ? null : actorOfToken(parts.sql, secret);
  }
  const signedIn = headers.has('cookie') ? await parts.findSession(request) : null;
  if (signedIn === null) return null;
  const origins = [new URL(parts.addresses.ui).origin, new URL(parts.addresses.api).origin];
  if (!isOwn(headers, origins, SAFE_METHODS.includes(method)))
    throw new ApiError('origin_forbidden', { origin: headers.get('origin') ?? 'an unknown page' });
  return actorOfSession(parts.sql, signedIn);
}

/** Browsers say where a request comes from; of one that changes something it must be said. */
function isOwn(headers: Headers, origins: readonly string[], isSafe: boolean): boolean {
  const origin = headers.get('origin');
  const site = headers.get('sec-fetch-site');
  if (origin !== null) return origins.includes(origin);
  if (isSafe) return site === null || site === 'same-origin' || site === 'none';
  return site === 'same-origin';
}
