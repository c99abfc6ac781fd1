// Handles requests for `AUTH_URL`'s origin that the web process (web/) forwards: looks up the session, serves sign-in
// (ui-app.ts), and forwards all other paths under `/api/` to the API as the session's account. Only this origin accepts
// cookies: the API itself requires tokens.
import type { SignedIn } from '../access/actor.ts';
import { networkOf } from '../http/client-address.ts';
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { isTokenAlive } from '../records/tokens.ts';
import { SESSION_MS, type Session } from '../sessions/sessions.ts';
import { cookiesOf, readCookie } from './cookies.ts';
import { isFromOwnPage, mayRead } from './origin.ts';
import { goTo, html, page } from './pages.ts';
import { createUiApp, type UiRoutes } from './ui-app.ts';

/** The API's fetch handler. */
type ApiFetch = (request: Request, deps: Dependencies) => Response | Promise<Response>;

/**
 * Handles requests to `AUTH_URL`.
 *
 * @param more pages of other parts of the control plane, under `/api/auth/`.
 * @example serveApi({ socket, fetch: behindWeb(token, createUi(parts, api.fetch, gitHostPages)) })
 */
export function createUi(
  deps: Dependencies,
  api: ApiFetch,
  more: UiRoutes | null = null,
): (request: Request) => Promise<Response> {
  const app = createUiApp(more);
  const cookies = cookiesOf(deps.addresses.ui);
  const { sessions } = deps.signIn;
  const answer = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    const value = readCookie(request.headers.get('cookie'), cookies.session);
    const session = value === null ? null : await liveSession(deps, value);
    const address = deps.clientAddress(request);
    let response: Response;
    if (pathname.startsWith('/api/auth/')) {
      const network = networkOf(address ?? '');
      response = await app.fetch(request, { ...deps, session, address, network });
    } else if (pathname.startsWith('/api/')) {
      response = await callApi({ ...deps, clientAddress: () => address }, api, request, {
        first: session,
        again: () => (value === null ? Promise.resolve(null) : liveSession(deps, value)),
      });
    } else {
      response = page('Page not found', html`<p><a href="/">Go to the dashboard</a></p>`, { status: 404 });
    }
    if (value === null || session === null || response.headers.getSetCookie().length > 0) return response;
    const renewed = await sessions.renew(value);
    if (renewed === null) return response;
    // Headers of some responses are immutable.
    const answered = new Response(response.body, response);
    answered.headers.append('set-cookie', cookies.set(cookies.session, renewed, SESSION_MS / 1000));
    return answered;
  };
  return async (request) => {
    const elsewhere = atLocalhost(request, deps.addresses.ui);
    if (elsewhere !== null) return goTo(elsewhere);
    try {
      return await answer(request);
    } catch (error) {
      deps.log.error({ err: error }, 'Request of AUTH_URL failed');
      const text = html`<p role="alert">The platform cannot answer at the moment. Try again.</p>`;
      return page('That did not work', text, { status: 503 });
    }
  };
}

/**
 * If `AUTH_URL` is at localhost and a page was requested by IP address, the same URL at localhost: cookies and origins
 * are bound to the name.
 */
function atLocalhost({ method, url: text }: Request, ui: string): string | null {
  const url = new URL(text);
  const isPage = url.pathname.startsWith('/api/auth/');
  const isAddress = url.hostname === '127.0.0.1' || url.hostname === '[::1]';
  if (method !== 'GET' || !isPage || !isAddress || new URL(ui).hostname !== 'localhost') return null;
  return `${ui}${url.pathname}${url.search}`;
}

/** The session of a cookie. The session ends if the token used to sign in was revoked. */
async function liveSession({ sql, signIn: { sessions } }: Dependencies, value: string): Promise<Session | null> {
  const session = await sessions.find(value);
  if (session === null || session.tokenId === null || (await isTokenAlive(sql, session.tokenId))) return session;
  await sessions.end(value);
  return null;
}

/** The session of a request, and a function to look it up again for responses that stay open. */
interface Found {
  readonly first: SignedIn | null;
  readonly again: () => Promise<SignedIn | null>;
}

/**
 * Forwards a request to the API with the account of the session, if the request comes from one of the platform's own
 * pages.
 */
async function callApi(
  deps: Dependencies,
  api: ApiFetch,
  request: Request,
  { first, again }: Found,
): Promise<Response> {
  const { method, headers } = request;
  const isReading = method === 'GET' || method === 'HEAD';
  const isOurs = isReading ? mayRead(headers, deps.addresses.ui) : isFromOwnPage(headers, deps.addresses.ui);
  const url = new URL(request.url);
  url.pathname = url.pathname.slice('/api'.length);
  const passed = new Request(url, request);
  passed.headers.delete('cookie');
  if (first !== null) passed.headers.set('cookie', 'session');
  let isFirst = true;
  const findSession = async (): Promise<SignedIn | null> => {
    if (!isOurs) throw new ApiError('origin_forbidden', { origin: headers.get('origin') ?? 'an unknown page' });
    if (!isFirst) return again();
    isFirst = false;
    return first;
  };
  return api(passed, { ...deps, findSession });
}
