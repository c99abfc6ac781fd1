// Requests from the web process (web/). Only the web process has WEB_TOKEN, so the client address that it reports is
// trusted.
import { createHash, timingSafeEqual } from 'node:crypto';
import { CLIENT_HEADER, WEB_TOKEN_HEADER } from '#core/process/web-proxy.ts';
import { ApiError } from '../http/errors.ts';
import { failure } from '../http/failures.ts';

type Fetch = (request: Request) => Response | Promise<Response>;

/**
 * Refuses requests without the token with 403, and removes the token from other requests.
 *
 * @example serveApi({ socket, fetch: behindWeb(token, createUi(parts, api.fetch)) })
 */
export function behindWeb(token: string, fetch: Fetch): Fetch {
  const expected = digest(token);
  return (request) => {
    if (!timingSafeEqual(digest(request.headers.get(WEB_TOKEN_HEADER) ?? ''), expected))
      return failure(new ApiError('forbidden', { permission: 'WEB_TOKEN' }), crypto.randomUUID());
    request.headers.delete(WEB_TOKEN_HEADER);
    return fetch(request);
  };
}

/** Address of the client's connection to the web process; only for requests accepted by `behindWeb`. */
export function webClient(request: Request): string | null {
  return request.headers.get(CLIENT_HEADER);
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
