// `/auth/*` on an app's host (features of `auth` in platform.yaml): the short routes that are documented with the
// binding, each implemented by a route of better-auth, and all other routes of better-auth. These requests do not enter
// an isolate. Called by handler.ts.
import { setTimeout as wait } from 'node:timers/promises';
import { METADATA_BYTES_MAX } from '../bindings/auth.ts';
import type { Exchange } from '../http/listener.ts';
import { type AuthSite } from './site.ts';
import { toUser, type Users } from './users.ts';

/** The path prefix of these routes. A worker whose deployment declares `auth` gets no requests below it. */
export const authPath = '/auth/';
/** Routes that send an email to the owner of an address, if there is one. */
const SENDS_MAIL = new Set([
  'signup',
  'sign-up/email',
  'reset-password',
  'request-password-reset',
  'verify-email',
  'send-verification-email',
]);
const BODY_BYTES_MAX = 16 * 1024;

/** Handler of a short route. */
type Short = (site: AuthSite, request: Request) => Promise<Response>;

/** The routes. */
export interface AuthRoutes {
  /** Answers a request; `headerBlock` has the client's true address. */
  serve(exchange: Exchange, site: AuthSite, headerBlock: string): void;
}

/** @param users the users of all projects. */
export function createAuthRoutes(users: Users): AuthRoutes {
  const forward = (site: AuthSite, request: Request, path: string, body: unknown): Promise<Response> => {
    const headers = new Headers(request.headers);
    headers.delete('content-length');
    if (body !== undefined) {
      headers.set('content-type', 'application/json');
      // Browsers send the page's origin with each POST. A request without it comes from a program, which no page can
      // trick.
      if (!headers.has('origin') && !headers.has('sec-fetch-site')) headers.set('origin', site.origin);
    }
    return users.handle(
      site,
      new Request(`${site.origin}/auth${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
  };

  const signIn = async (site: AuthSite, request: Request, path: string, body: object): Promise<Response> => {
    const response = await forward(site, request, path, body);
    if (!response.ok) return failure(response);
    const { user, token } = (await response.json()) as { user: object; token: string | null };
    return reply(response, { user: toUser(user), token });
  };

  /** Stores a user's own metadata at sign-up; later only the app can change it. */
  const withMetadata = async (site: AuthSite, answered: Response, metadata: string): Promise<Response> => {
    const { user, token } = (await answered.json()) as { user: { id: string }; token: string | null };
    await users.setMetadata(site.namespace, user.id, metadata);
    return reply(answered, { user: { ...user, metadata: JSON.parse(metadata) as unknown }, token });
  };

  const shorts: Readonly<Record<string, Short>> = {
    async 'POST signup'(site, request) {
      const { email, password, name, metadata } = await bodyOf(request);
      const text = JSON.stringify(metadata ?? {});
      if (typeof email !== 'string' || typeof password !== 'string')
        return refusal(400, 'email and password are required');
      if (metadata !== undefined && (typeof metadata !== 'object' || Array.isArray(metadata)))
        return refusal(400, 'metadata must be an object');
      if (text.length > METADATA_BYTES_MAX)
        return refusal(400, `metadata may have ${METADATA_BYTES_MAX} bytes as JSON`);
      const answered = await signIn(site, request, '/sign-up/email', {
        email,
        password,
        name: typeof name === 'string' ? name : '',
      });
      return metadata === undefined || !answered.ok ? answered : withMetadata(site, answered, text);
    },
    async 'POST signin'(site, request) {
      const { email, password } = await bodyOf(request);
      if (typeof email !== 'string' || typeof password !== 'string')
        return refusal(400, 'email and password are required');
      return signIn(site, request, '/sign-in/email', { email, password });
    },
    async 'GET me'(site, request) {
      const response = await forward(site, request, '/get-session', undefined);
      if (!response.ok) return failure(response);
      const session = (await response.json()) as { user: object } | null;
      return session === null ? refusal(401, 'Not signed in') : reply(response, { user: toUser(session.user) });
    },
    async 'POST signout'(site, request) {
      const response = await forward(site, request, '/sign-out', {});
      return response.ok ? reply(response, { success: true }) : failure(response);
    },
    async 'POST verify-email'(site, request) {
      const { email } = await bodyOf(request);
      if (typeof email !== 'string') return refusal(400, 'email is required');
      const response = await forward(site, request, '/send-verification-email', { email });
      // The response does not reveal whether the address is known.
      return response.status === 429 ? failure(response) : reply(response, { success: true });
    },
    async 'POST reset-password'(site, request) {
      const { email, token, password, redirectTo } = await bodyOf(request);
      const sends = typeof email === 'string';
      const page = typeof redirectTo === 'string' ? { redirectTo } : {};
      if (!sends && (typeof token !== 'string' || typeof password !== 'string'))
        return refusal(400, 'email, or token and password, are required');
      const response = sends
        ? await forward(site, request, '/request-password-reset', { email, ...page })
        : await forward(site, request, '/reset-password', { token, newPassword: password });
      return response.ok ? reply(response, { success: true }) : failure(response);
    },
  };

  async function oauth(site: AuthSite, request: Request, provider: string): Promise<Response> {
    const callbackURL = new URL(request.url).searchParams.get('callbackURL') ?? '/';
    const response = await forward(site, request, '/sign-in/social', { provider, callbackURL });
    if (!response.ok) return failure(response);
    const { url } = (await response.json()) as { url: string };
    const redirect = reply(response, {}, 302);
    redirect.headers.set('location', url);
    return redirect;
  }

  async function answer(site: AuthSite, request: Request): Promise<Response> {
    const name = new URL(request.url).pathname.slice(authPath.length);
    if (!SENDS_MAIL.has(name)) return answerOf(site, request, name);
    const waits = users.answersAfterMs().then((ms) => (ms === 0 ? undefined : wait(ms)));
    return (await Promise.all([answerOf(site, request, name), waits]))[0];
  }

  function answerOf(site: AuthSite, request: Request, name: string): Promise<Response> {
    const short = shorts[`${request.method} ${name}`];
    if (short !== undefined) return short(site, request);
    if (name.startsWith('oauth/') && request.method === 'GET') return oauth(site, request, name.slice('oauth/'.length));
    // better-auth's own routes that change something, under the same limits; other paths get 404.
    return users.handle(site, request);
  }

  return {
    serve(exchange, site, headerBlock) {
      exchange.onAbort = nothing;
      receive(exchange, (body) => {
        if (body === null) {
          send(exchange, refusal(413, `The body may have ${BODY_BYTES_MAX} bytes`));
          return;
        }
        let request: Request;
        try {
          request = toRequest(exchange, site.origin, headerBlock, body);
        } catch {
          // A host with an invalid port, or a method that Request does not allow, such as TRACE.
          send(exchange, refusal(400, 'The request is not valid'));
          return;
        }
        answer(site, request).then(
          (response) => send(exchange, response),
          (error: Error & { status?: number }) =>
            send(
              exchange,
              error.status === 400 || error.status === 429
                ? refusal(error.status, error.message)
                : refusal(500, 'Internal error'),
            ),
        );
      });
    },
  };
}

async function bodyOf(request: Request): Promise<Record<string, unknown>> {
  const body: unknown = await request.json().catch(() => null);
  if (body === null || typeof body !== 'object' || Array.isArray(body))
    throw Object.assign(new Error('The body must be a JSON object'), { status: 400 });
  return body as Record<string, unknown>;
}

function refusal(status: number, error: string): Response {
  return Response.json({ error }, { status });
}

/** Maps errors of better-auth to the documented errors of the binding. */
async function failure(response: Response): Promise<Response> {
  const { message, code } = (await response.json().catch(() => ({}))) as { message?: string; code?: string };
  const [status, error] = code?.startsWith('USER_ALREADY_EXISTS')
    ? [409, 'User already exists']
    : response.status === 401
      ? [401, 'Invalid credentials']
      : [response.status === 422 ? 400 : response.status, message ?? 'The request failed'];
  const refused = refusal(status, error);
  const retry = response.headers.get('x-retry-after');
  if (retry !== null) refused.headers.set('retry-after', retry);
  return refused;
}

/** A response with a new body and the cookies of another response. */
function reply(response: Response, body: object, status = 200): Response {
  const answered = Response.json(body, { status });
  for (const cookie of response.headers.getSetCookie()) answered.headers.append('set-cookie', cookie);
  return answered;
}

/** Reads the whole body; null when it is too large. */
function receive(exchange: Exchange, then: (body: Buffer | null) => void): void {
  if (exchange.bodyBytes === 0 || exchange.bodyBytes > BODY_BYTES_MAX) {
    then(exchange.bodyBytes === 0 ? Buffer.alloc(0) : null);
    return;
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  exchange.readBody({
    chunk(chunk) {
      bytes += chunk.byteLength;
      if (bytes <= BODY_BYTES_MAX) chunks.push(chunk);
      return true;
    },
    end: () => then(bytes > BODY_BYTES_MAX ? null : Buffer.concat(chunks)),
  });
}

function toRequest(exchange: Exchange, origin: string, headerBlock: string, body: Buffer): Request {
  const headers = new Headers();
  const fields = headerBlock.split('\0');
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const name = fields[at] as string;
    if (name !== 'content-length') headers.append(name, fields[at + 1] as string);
  }
  const hasBody = exchange.method !== 'GET' && exchange.method !== 'HEAD' && body.byteLength > 0;
  return new Request(`${origin}${exchange.target}`, {
    method: exchange.method,
    headers,
    ...(hasBody ? { body: new Uint8Array(body) } : {}),
  });
}

function send(exchange: Exchange, response: Response): void {
  response.arrayBuffer().then(
    (body) => {
      let block = '';
      let cached = false;
      for (const [name, value] of response.headers) {
        if (name === 'content-length') continue;
        cached ||= name === 'cache-control';
        block += `${name}\0${value}\0`;
      }
      exchange.send(response.status, cached ? block : `${block}cache-control\0no-store\0`, new Uint8Array(body));
    },
    () => exchange.destroy(),
  );
}

function nothing(): void {}
