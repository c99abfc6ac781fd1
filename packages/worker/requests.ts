// `fetch` of a built app: finds the route, validates the request, calls the handler, validates the response. The hot
// path: a route without schemas and middleware is answered without a promise.
import { bodyBytesMax, readBody, type BodyRule } from './body.ts';
import { runChain, type HandlerScope } from './chain.ts';
import { closedSchema } from './closed-schema.ts';
import { HttpError, invalidRequest, type RequestPart } from './failure.ts';
import { prepareAnswers, toResponse, type Answers } from './reply.ts';
import { HandlerContext } from './request-context.ts';
import type { Answer, ExecutionLike, RouteOptions } from './route-types.ts';
import { createRouter, parameterNames, readPattern, type Segment } from './router.ts';
import { isThenable, prepareSchema, type Checked, type Checker } from './schema.ts';
import type { Schema } from './schema-types.ts';

/** The handler of a route. */
export type RouteHandler = (ctx: HandlerContext) => unknown;

/** A declared route with its prepared schemas. */
export interface Declared {
  readonly method: string;
  readonly options: RouteOptions;
  readonly handler: RouteHandler;
  readonly params: Checker | null;
  readonly query: Checker | null;
  readonly headers: Checker | null;
  /** Whether there is a schema of parameters, query or headers. */
  readonly hasTexts: boolean;
  readonly body: Checker | null;
  readonly bodyRule: BodyRule | null;
  readonly answers: Answers | null;
}

/** A route with its middleware. */
export interface Route extends HandlerScope {
  readonly declared: Declared;
  readonly pattern: string;
}

/** Handles requests without a route. */
export interface Miss extends HandlerScope {
  readonly prefix: string;
  readonly handler: ((ctx: HandlerContext) => Answer | Promise<Answer>) | null;
}

type Maybe<T> = T | Promise<T>;

/** Prepares a declaration. @throws TypeError for an invalid schema. */
export function declareRoute(method: string, options: RouteOptions, handler: RouteHandler): Declared {
  const ready = (schema: object | undefined): Checker | null => (schema === undefined ? null : prepareSchema(schema));
  const input = options.strict === true ? closedSchema : (schema?: Schema) => schema;
  const params = ready(options.params);
  const query = ready(input(options.query));
  const headers = ready(options.headers);
  const body = ready(options.body && input(options.body));
  return {
    method,
    options,
    handler,
    params,
    query,
    headers,
    hasTexts: (params ?? query ?? headers) !== null,
    body,
    bodyRule: body === null ? null : { type: options.bodyType ?? 'json', bytesMax: options.bodyLimit ?? bodyBytesMax },
    answers: options.response === undefined ? null : prepareAnswers(options.response),
  };
}

interface Target {
  readonly route: Route;
  readonly names: readonly string[];
}

/** `fetch` over a table of routes. `misses` are sorted, longest prefix first; the last one matches all paths. */
export function createFetch(
  routes: readonly Route[],
  misses: readonly Miss[],
): (request: Request, env: unknown, execution?: ExecutionLike) => Maybe<Response> {
  const table = createRouter(
    routes.flatMap((route) => readPattern(route.pattern).map((segments) => entryOf(route, segments))),
  );
  const missOf = (path: string): Miss => misses.find(({ prefix }) => isUnder(path, prefix))!;
  const answer = (ctx: HandlerContext, method: string): Maybe<Response> => {
    const found = table.find(method, ctx.path);
    if (found.kind === 'route') {
      const { route, names } = found.route;
      ctx.shownRoute = route;
      if (names.length > 0 || route.declared.params !== null) ctx.params = parametersOf(names, found.values);
      else ctx.params = {};
      return route.links.length === 0 ? respond(route, ctx) : runChain(route, 0, ctx, () => respond(route, ctx));
    }
    if (found.kind === 'method') {
      const allow = allowed(found.allowed);
      const around = found.routes[0]!.route;
      return runChain(around, 0, ctx, () => {
        if (method === 'OPTIONS') return new Response(null, { status: 204, headers: { allow } });
        throw new HttpError(405, 'Method Not Allowed', { headers: { allow } });
      });
    }
    const miss = missOf(ctx.path);
    return runChain(miss, 0, ctx, () => {
      if (found.kind === 'malformed') throw new HttpError(400, 'Malformed path');
      if (miss.handler === null) throw new HttpError(404, 'Not Found');
      const result = miss.handler(ctx);
      return isThenable(result)
        ? (result as Promise<Answer>).then((value) => toResponse(value, ctx, null))
        : toResponse(result, ctx, null);
    });
  };
  return (request, env, execution) => {
    const ctx = new HandlerContext(request, env, execution);
    const { method } = request;
    // The server omits the body of HEAD, and uses its length for content-length.
    return answer(ctx, method === 'HEAD' ? 'GET' : method);
  };
}

function entryOf(route: Route, segments: readonly Segment[]): readonly [string, readonly Segment[], Target, string] {
  return [route.declared.method, segments, { route, names: parameterNames(segments) }, route.pattern];
}

function isUnder(path: string, prefix: string): boolean {
  return prefix === '/' || path === prefix || path.startsWith(`${prefix}/`);
}

function allowed(methods: readonly string[]): string {
  const all = new Set(methods);
  if (all.has('GET')) all.add('HEAD');
  all.add('OPTIONS');
  return [...all].join(', ');
}

function parametersOf(names: readonly string[], values: readonly string[]): Record<string, string> {
  const result: Record<string, string> = {};
  for (let at = 0; at < names.length; at++) result[names[at]!] = values[at]!;
  return result;
}

function respond(route: Route, ctx: HandlerContext): Maybe<Response> {
  const { declared } = route;
  try {
    const texts = declared.hasTexts ? readTexts(declared, ctx) : null;
    if (texts === null && declared.bodyRule === null) return call(route, ctx);
    return readRest(declared, ctx, texts).then(
      () => call(route, ctx),
      (error: unknown) => failed(error, route, ctx),
    );
  } catch (error) {
    return failed(error, route, ctx);
  }
}

function failed(error: unknown, route: Route, ctx: HandlerContext): Maybe<Response> {
  // The chain converts errors to responses; without middleware this is the whole chain.
  return runChain({ links: [], onError: route.onError }, 0, ctx, () => {
    throw error;
  });
}

function call(route: Route, ctx: HandlerContext): Maybe<Response> {
  const { handler, answers } = route.declared;
  try {
    const result = handler(ctx);
    if (isThenable(result)) return finish(result as Promise<unknown>, route, ctx);
    const made = toResponse(result, ctx, answers);
    return isThenable(made)
      ? (made as Promise<Response>).then(undefined, (error: unknown) => failed(error, route, ctx))
      : made;
  } catch (error) {
    return failed(error, route, ctx);
  }
}

async function finish(result: Promise<unknown>, route: Route, ctx: HandlerContext): Promise<Response> {
  try {
    return await toResponse(await result, ctx, route.declared.answers);
  } catch (error) {
    return failed(error, route, ctx);
  }
}

/** Validates parameters, query and headers; returns a promise only for an asynchronous schema. */
function readTexts({ params, query, headers }: Declared, ctx: HandlerContext): Promise<void> | null {
  let waiting: Promise<void> | null = null;
  const take = (checked: Checked | Promise<Checked>, part: 'params' | 'query' | 'headers'): void => {
    if (!isThenable(checked)) {
      ctx[part] = accepted(checked as Checked, part);
      return;
    }
    const before = waiting;
    waiting = (async () => {
      await before;
      ctx[part] = accepted(await (checked as Promise<Checked>), part);
    })();
  };
  if (params !== null) take(params.checkTexts(ctx.params as Record<string, unknown>), 'params');
  if (query !== null) take(query.checkTexts(ctx.queryTexts()), 'query');
  if (headers !== null) take(headers.checkTexts(Object.fromEntries(ctx.req.headers)), 'headers');
  return waiting;
}

async function readRest({ body, bodyRule }: Declared, ctx: HandlerContext, texts: Promise<void> | null): Promise<void> {
  if (texts !== null) await texts;
  if (bodyRule === null) return;
  const checked = body!.check(await readBody(ctx.req, bodyRule));
  ctx.body = accepted(isThenable(checked) ? await checked : (checked as Checked), 'body');
}

function accepted(checked: Checked, part: RequestPart): unknown {
  if (checked.issues === undefined) return checked.value;
  throw invalidRequest(checked.issues, part);
}
