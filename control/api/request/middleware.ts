// Middleware of every route of the API: request id, actor, rate limits, declared access, idempotency. The middleware
// runs in this order, before the request body is read.
import { randomUUID } from 'node:crypto';
import { middleware } from '#packages/worker/index.ts';
import type { RequestContext, RouteOptions } from '#packages/worker/route-types.ts';
import type { Sql, Transaction } from '#postgres/sql.ts';
import { authenticate } from '../../access/authenticate.ts';
import { Access, type Subject } from '../../access/access.ts';
import type { Permission } from '../../access/permissions.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { writeAudit, type AuditEvent } from '../../records/audit.ts';
import { ApiError } from '../../http/errors.ts';
import { failure, failureOf } from '../../http/failures.ts';
import { countActor, describeRate, tooMany } from '../../access/rate-limit.ts';
import { answerOnce, fingerprint, idempotencyKey } from './idempotency.ts';
import { whileAllowed } from './long-answers.ts';

/** The `ctx.state` of every route. */
export interface RequestState {
  readonly access: Access;
  readonly requestId: string;
  /** Address of the client; null if unknown, as in tests. */
  readonly address: string | null;
  /** Writes an audit log entry as this request's actor, in the transaction of the change. */
  readonly audit: (tx: Transaction | Sql, event: AuditEvent) => Promise<void>;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
type Ctx = RequestContext<Dependencies, Mutable<RequestState>>;

/** API version: the date of the last breaking change. */
export const API_VERSION = '2026-11-01';

const BODY_BYTES_MAX = 1024 * 1024;
const SAFE_METHODS = ['GET', 'HEAD', 'OPTIONS'];
/** The API description and its page, which declare no access. */
const OPEN_ROUTES = /^\/(?:openapi\.json|docs(?:\/.*)?)$/;

/** Sets the request id, and adds id, version and `no-store` to the response. */
export const named = middleware<Mutable<RequestState>, Dependencies>(async (ctx, next) => {
  const asked = ctx.req.headers.get('x-request-id') ?? '';
  ctx.state.requestId = /^[\w.-]{8,64}$/.test(asked) ? asked : randomUUID();
  ctx.state.address = ctx.env.clientAddress(ctx.req);
  ctx.state.access = new Access(ctx.env.sql, null);
  const response = await next();
  response.headers.set('x-request-id', ctx.state.requestId);
  response.headers.set('x-platform-api-version', API_VERSION);
  if (!response.headers.has('cache-control')) response.headers.set('cache-control', 'no-store');
  response.headers.set('x-content-type-options', 'nosniff');
  return response;
});

/** Authenticates and counts the request, and checks the access that the route declares. */
export const admitted = middleware<Mutable<RequestState>, Dependencies>(async (ctx, next) => {
  checkVersion(ctx.req.headers);
  const { env, routeOptions } = ctx;
  const actor = await authenticate(env, ctx.req);
  ctx.state.access = new Access(env.sql, actor, declaredBy(routeOptions));
  const { address, requestId } = ctx.state;
  ctx.state.audit = (tx, event) => writeAudit(tx, { actor, address, requestId }, event);
  const rate = routeOptions?.['x-uncounted'] === true ? null : await countActor(env, actor, address);
  try {
    if (rate?.isOver === true) throw tooMany(rate);
    await checkDeclared(ctx, ctx.state.access);
    const response = whileAllowed(ctx.req, await answered(ctx, next), {
      isAllowed: () => isAllowedStill(ctx),
      everyMs: env.limits.accessAgainMs,
    });
    if (rate !== null) describeRate(response.headers, rate);
    return response;
  } catch (error) {
    const response = failureOf(error, { log: env.log, requestId, method: ctx.req.method, route: ctx.route });
    if (rate !== null) describeRate(response.headers, rate);
    return response;
  }
});

function checkVersion(headers: Headers): void {
  const asked = headers.get('x-platform-api-version');
  if (asked === null || (/^\d{4}-\d\d-\d\d$/.test(asked) && asked >= API_VERSION)) return;
  throw new ApiError('bad_request', {
    reason: `X-Platform-Api-Version: the earliest version of this API is ${API_VERSION}`,
  });
}

/** Permissions that a route declares; null if none. */
function declaredBy(options: RouteOptions | null): readonly string[] | null {
  if (options?.security === undefined) return null;
  const also = (options['x-also'] ?? []) as readonly string[];
  return [...options.security.flatMap((requirement) => Object.values(requirement).flat()), ...also];
}

/** Checks declared access. A route that declares no access is refused. */
async function checkDeclared(ctx: Ctx, access: Access): Promise<void> {
  const { route, routeOptions } = ctx;
  if (route === null || routeOptions === null || OPEN_ROUTES.test(route)) return;
  if (routeOptions.security === undefined) throw new Error(`The route ${ctx.req.method} ${route} declares no access`);
  const [permission] = (routeOptions.security[0]?.['token'] ?? []) as Permission[];
  if (permission === undefined) return access.everybody();
  if (permission === 'operator') return void access.operator();
  access.account(permission);
  const subject = routeOptions['x-subject'] as Subject | undefined;
  if (subject === undefined) return;
  const id = subjectId(subject, ctx.params as Readonly<Record<string, string>>);
  if (subject === 'organization') access.organization(permission, id);
  else if (subject === 'project') await access.project(permission, id);
  else await access.deployment(permission, id);
}

/** Authenticates and authorizes the request again. */
async function isAllowedStill(ctx: Ctx): Promise<boolean> {
  const { env, req, routeOptions } = ctx;
  try {
    const access = new Access(env.sql, await authenticate(env, req), declaredBy(routeOptions));
    await checkDeclared(ctx, access);
    return true;
  } catch (error) {
    // Postgres may be unavailable for a moment.
    return !(error instanceof ApiError);
  }
}

function subjectId(subject: Subject, params: Readonly<Record<string, string>>): string {
  const id = params[`${subject}Id`] ?? (subject === 'organization' ? params['orgId'] : undefined) ?? params['id'];
  if (id === undefined) throw new Error(`The route's path does not contain the id of its ${subject}`);
  // Refuses texts that cannot be ids: ids are short, and Postgres text cannot contain NUL.
  if (id.length > 64 || id.includes('\0')) throw new ApiError('not_found');
  return id;
}

/** The response, run once under an idempotency key; replaced by an error if the route did not check access. */
async function answered(ctx: Ctx, next: () => Promise<Response>): Promise<Response> {
  const key = SAFE_METHODS.includes(ctx.req.method) ? null : idempotencyKey(ctx.req.headers);
  const { actor } = ctx.state.access;
  const response =
    key === null || actor === null
      ? await next()
      : await answerOnce(
          ctx.env,
          {
            actor: actor.token?.id ?? actor.accountId,
            key,
            request: fingerprint(ctx.req.method, ctx.req.url, await bodyText(ctx.req)),
          },
          next,
        );
  const isUnasked = ctx.route !== null && !OPEN_ROUTES.test(ctx.route) && !ctx.state.access.isAsked;
  if (!response.ok || !isUnasked || response.headers.has('idempotency-replayed')) return response;
  ctx.env.log.error({ route: ctx.route, requestId: ctx.state.requestId }, 'Route answered without an access check');
  await response.body?.cancel();
  return failure(new ApiError('internal'), ctx.state.requestId);
}

/** A copy of the body, which the route reads again. */
async function bodyText(request: Request): Promise<string> {
  if (request.body === null) return '';
  const tooLarge = new ApiError('payload_too_large', { allowed: BODY_BYTES_MAX });
  if (Number(request.headers.get('content-length') ?? 0) > BODY_BYTES_MAX) throw tooLarge;
  const decoder = new TextDecoder();
  let [text, bytes] = ['', 0];
  for await (const chunk of request.clone().body as ReadableStream<Uint8Array>) {
    if ((bytes += chunk.byteLength) > BODY_BYTES_MAX) throw tooLarge;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
