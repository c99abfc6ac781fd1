// The context of a request for handlers and middleware. Everything costly is created on first use.
import { parseQuery } from './body.ts';
import type { ExecutionLike, JsonReply, RouteOptions } from './route-types.ts';
import type { HeadersLike } from './web-types.ts';

/** The route of a context, with its public properties. */
interface ShownRoute {
  readonly pattern: string;
  readonly declared: { readonly options: RouteOptions };
}

/** The result of `ctx.json`, which is converted to a Response after validation. */
export class Reply implements JsonReply {
  readonly '~reply' = true;
  readonly body: unknown;
  readonly status: number;
  readonly headers: HeadersLike | undefined;

  constructor(body: unknown, status: number, headers: HeadersLike | undefined) {
    this.body = body;
    this.status = status;
    this.headers = headers;
  }
}

/** Status and headers that a handler sets besides its result. */
export class AnswerSettings {
  status: number | undefined = undefined;
  #headers: Headers | null = null;

  get headers(): Headers {
    return (this.#headers ??= new Headers());
  }

  /** The headers that the handler has set; null if it has set none. */
  static headersOf(settings: AnswerSettings): Headers | null {
    return settings.#headers;
  }
}

const noVariables: Readonly<Record<string, string>> = Object.freeze({});

/** `env.vars`, or an empty object. */
export function variablesOf(env: unknown): Readonly<Record<string, string>> {
  return (env as { vars?: Readonly<Record<string, string>> } | null | undefined)?.vars ?? noVariables;
}

/** `waitUntil` without a platform, as in tests: failures are printed. */
export function keepAlive(execution: ExecutionLike | undefined, promise: Promise<unknown>): void {
  if (execution !== undefined) execution.waitUntil(promise);
  else promise.catch((error: unknown) => console.error(error));
}

/** A request being answered. */
export class HandlerContext {
  readonly req: Request;
  readonly env: unknown;
  /** The path as it was sent, without query. */
  readonly path: string;
  params: unknown = undefined;
  body: unknown = undefined;
  shownRoute: ShownRoute | null = null;
  readonly #execution: ExecutionLike | undefined;
  readonly #queryAt: number;
  #query: unknown = undefined;
  #headers: unknown = undefined;
  #url: URL | null = null;
  #set: AnswerSettings | null = null;
  #state: Record<string, unknown> | null = null;

  constructor(req: Request, env: unknown, execution: ExecutionLike | undefined) {
    this.req = req;
    this.env = env;
    this.#execution = execution;
    const url = req.url;
    const start = url.indexOf('/', url.indexOf('://') + 3);
    let end = url.indexOf('?', start);
    const hash = url.indexOf('#', start);
    if (hash >= 0 && (end < 0 || hash < end)) end = hash;
    this.#queryAt = end < 0 ? url.length : end + 1;
    this.path = start < 0 ? '/' : url.slice(start, end < 0 ? undefined : end);
  }

  get vars(): Readonly<Record<string, string>> {
    return variablesOf(this.env);
  }
  get state(): Record<string, unknown> {
    return (this.#state ??= {});
  }
  get url(): URL {
    return (this.#url ??= new URL(this.req.url));
  }
  get route(): string | null {
    return this.shownRoute?.pattern ?? null;
  }
  get routeOptions(): RouteOptions | null {
    return this.shownRoute?.declared.options ?? null;
  }
  get query(): unknown {
    return (this.#query ??= this.queryTexts());
  }
  set query(value: unknown) {
    this.#query = value;
  }
  get headers(): unknown {
    return this.#headers ?? this.req.headers;
  }
  set headers(value: unknown) {
    this.#headers = value;
  }
  get ip(): string | null {
    return this.req.headers.get('x-real-ip');
  }
  get signal(): AbortSignal {
    return this.req.signal;
  }
  get set(): AnswerSettings {
    return (this.#set ??= new AnswerSettings());
  }

  /** The status and headers that the handler has set; null if it has set none. */
  static settingsOf(ctx: HandlerContext): AnswerSettings | null {
    return ctx.#set;
  }

  /** The original query. */
  queryTexts(): Record<string, string | string[]> {
    const { url } = this.req;
    if (this.#queryAt >= url.length || url[this.#queryAt - 1] !== '?') return {};
    const hash = url.indexOf('#', this.#queryAt);
    return parseQuery(url.slice(this.#queryAt, hash < 0 ? undefined : hash));
  }

  waitUntil(promise: Promise<unknown>): void {
    keepAlive(this.#execution, promise);
  }
  json(body: unknown, status = 200, headers?: HeadersLike): Reply {
    return new Reply(body, status, headers);
  }
  text(body: string, status = 200, headers?: HeadersLike): Response {
    const made = new Headers(headers);
    if (!made.has('content-type')) made.set('content-type', 'text/plain; charset=utf-8');
    return new Response(body, { status, headers: made });
  }
  redirect(location: string, status = 302): Response {
    // `new Response` allows a relative location, which `Response.redirect` refuses.
    return new Response(null, { status, headers: { location } });
  }
}
