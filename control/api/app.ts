// The management API as one typed app: what surrounds every route (request id, actor, access, errors), then one file a
// resource from routes/. Its type is what the command line and the dashboard call it by.
import { randomUUID } from 'node:crypto';
import { HttpError, middleware, platform } from '#packages/worker/index.ts';
import { Access } from '../access/access.ts';
import { actorOfToken } from '../access/actor.ts';
import type { Parts } from '../parts.ts';
import { ApiError } from './errors.ts';
import { account } from './routes/account.ts';
import { projects } from './routes/projects.ts';

/** What every route finds in `ctx.state`. */
export interface RequestState {
  readonly access: Access;
  readonly requestId: string;
}

const identify = middleware<{ access: Access; requestId: string }, Parts>(async (ctx, next) => {
  ctx.state.requestId = randomUUID();
  const [, secret] = /^Bearer +([\x21-\x7e]{1,512})$/i.exec(ctx.req.headers.get('authorization') ?? '') ?? [];
  const actor = secret === undefined ? null : await actorOfToken(ctx.env.sql, secret);
  ctx.state.access = new Access(ctx.env.sql, actor);
  let response = await next();
  if (response.ok && ctx.route !== null && !ctx.state.access.isAsked && !isOpen(ctx.route)) {
    ctx.env.log.error({ route: ctx.route, requestId: ctx.state.requestId }, 'Route answered without an access check');
    response = failure(new ApiError('internal'), ctx.state.requestId);
  }
  response.headers.set('x-request-id', ctx.state.requestId);
  response.headers.set('cache-control', 'no-store');
  return response;
});

/** The description of the API and its page. */
function isOpen(route: string): boolean {
  return route === '/openapi.json' || route === '/docs' || route.startsWith('/docs/');
}

/** An error as every route answers it: `{message, code, requestId}`. */
function failure(error: ApiError, requestId: string, more: object = {}): Response {
  const body = { message: error.message, code: error.code, requestId, ...more };
  return Response.json(body, { status: error.status, headers: error.headers });
}

/** The API. @example serve({ fetch: (request) => createApi().fetch(request, parts) }) */
export function createApi() {
  return platform<Parts>()
    .use(identify)
    .onError((error, ctx) => {
      const requestId = ctx.state.requestId ?? '';
      if (error instanceof ApiError) return failure(error, requestId);
      if (error instanceof HttpError) return ofFramework(error, requestId, ctx.req.method);
      ctx.env.log.error({ err: error, requestId, route: ctx.route }, 'Request failed');
      return failure(new ApiError('internal'), requestId);
    })
    .openapi({
      path: '/openapi.json',
      info: { title: 'Platform API', version: '1.0.0' },
      ui: '/docs',
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    })
    .route('/', projects)
    .route('/', account)
    .build();
}

/** What the framework refuses by itself. */
function ofFramework(error: HttpError, requestId: string, method: string): Response {
  const headers = Object.fromEntries(new Headers(error.headers as Record<string, string>));
  const { issues } = error;
  if (error.status === 404) return failure(new ApiError('not_found'), requestId);
  if (error.status === 405) return failure(new ApiError('method_not_allowed', { method }, headers), requestId);
  if (error.status === 413) return failure(new ApiError('payload_too_large', { allowed: '1048576' }), requestId);
  const [first] = issues ?? [];
  const where = first === undefined ? '' : `${first.in}${first.path.map((part) => `.${part}`).join('')}: `;
  const reason = first === undefined ? error.message : `${where}${first.message}`;
  return failure(new ApiError('bad_request', { reason }), requestId, issues === undefined ? {} : { issues });
}

/** For typed clients: `createClient<ControlApi>(apiUrl)`. */
export type ControlApi = ReturnType<typeof createApi>;
