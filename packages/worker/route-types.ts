// The types of routes and of what runs around them: what a route declares, what its handler receives, what it may
// return. No code.
import type { Frozen, InputOf, Json, OutputOf, Schema } from './schema-types.ts';
import type { HeadersLike } from './web-types.ts';

/** What `fetch` gets as its third argument. */
export interface ExecutionLike {
  waitUntil(promise: Promise<unknown>): void;
}

type Segment<S extends string> = S extends `:${infer Name}?`
  ? { readonly [K in Name]?: string }
  : S extends `:${infer Name}`
    ? { readonly [K in Name]: string }
    : S extends '*'
      ? { readonly '*': string }
      : unknown;

type Segments<P extends string> = P extends `${infer First}/${infer Rest}`
  ? Segment<First> & Segments<Rest>
  : Segment<P>;

/**
 * The parameters that a path names.
 *
 * @example type P = PathParams<'/users/:id/files/*'>; // { id: string; '*': string }
 */
export type PathParams<P extends string> = string extends P
  ? Readonly<Record<string, string>>
  : { [K in keyof Segments<P>]: Segments<P>[K] };

/** Statuses of answers that went well. */
export type SuccessStatus = 200 | 201 | 202 | 203 | 206 | 207 | 208 | 226;
/** Statuses of answers that say what went wrong. */
export type FailureStatus =
  | 400
  | 401
  | 402
  | 403
  | 404
  | 405
  | 406
  | 407
  | 408
  | 409
  | 410
  | 411
  | 412
  | 413
  | 414
  | 415
  | 416
  | 417
  | 418
  | 421
  | 422
  | 423
  | 424
  | 425
  | 426
  | 428
  | 429
  | 431
  | 451
  | 500
  | 501
  | 502
  | 503
  | 504
  | 505
  | 507
  | 508
  | 511;

/** Schemas by status; `null` where the answer has no body, `default` for every status that is not named. */
export interface ResponseMap {
  readonly [status: number]: Schema | null;
  readonly default?: Schema;
}

/** What a route declares. */
export interface RouteOptions {
  /** Schema of the parameters in the path. */
  readonly params?: Schema;
  /**
   * Schema of the query. A key that repeats is an array. With a JSON Schema, texts become the numbers and booleans it
   * asks for.
   */
  readonly query?: Schema;
  /** Schema of the request's headers, by lower-case name. */
  readonly headers?: Schema;
  /** Schema of the body. */
  readonly body?: Schema;
  /** What the body is sent as: JSON by default; `form` is urlencoded or multipart, `text` is any `text/*`. */
  readonly bodyType?: 'json' | 'form' | 'text';
  /** Bytes of a body; 1 MiB by default. Longer ones are refused with 413. */
  readonly bodyLimit?: number;
  /**
   * Schema of every answer that went well, or schemas by status. What it does not declare is taken out of the answer.
   */
  readonly response?: Schema | ResponseMap;
  /** One line for the API description. */
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  /** Name of the operation; made from method and path otherwise. */
  readonly operationId?: string;
  readonly deprecated?: boolean;
  /** Security requirements of the operation, as in OpenAPI. */
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  /** Leaves the route out of the API description. */
  readonly hidden?: boolean;
  /** Extensions of OpenAPI: they go into the description as they are, and middleware finds them in `routeOptions`. */
  readonly [extension: `x-${string}`]: unknown;
}

/** An answer made by `ctx.json`: checked against the schema of its status, then sent. */
export interface JsonReply<Body = unknown, Status extends number = number> {
  readonly body: Body;
  readonly status: Status;
  readonly headers: HeadersLike | undefined;
  readonly '~reply': true;
}

/** A JSON body that says what went wrong. */
export interface ErrorBody {
  readonly error: string;
  /** A word for programs, where there is one. */
  readonly code?: string;
  /** What is wrong with the request, where a schema said so. */
  readonly issues?: readonly {
    readonly path: readonly (string | number)[];
    readonly message: string;
    readonly in: string;
  }[];
}

/** What every context has. */
export interface BaseContext<Env, State> {
  /** The worker's bindings. */
  readonly env: Env;
  /** The worker's variables, `env.vars`. */
  readonly vars: Readonly<Record<string, string>>;
  /** What `state` and middleware have put there. */
  readonly state: State;
  /** Keeps the invocation alive until a promise settles. */
  waitUntil(promise: Promise<unknown>): void;
}

/** What middleware receives: a request, before a route has looked at it. */
export interface RequestContext<Env, State> extends BaseContext<Env, State> {
  /** The request as it came. */
  readonly req: Request;
  /** Its address, parsed on first use. */
  readonly url: URL;
  /** Its path, as it was sent. */
  readonly path: string;
  /** Pattern of the route that answers, such as `/users/:id`; null where none does. */
  readonly route: string | null;
  /** What that route declares, such as its `tags` and `security`; null where none answers. */
  readonly routeOptions: RouteOptions | null;
  /** Parameters of the path; in middleware the decoded texts, which no schema has checked yet. */
  readonly params: unknown;
  /** Address of the client; null where the platform does not know it. */
  readonly ip: string | null;
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal;
  /** Status and headers of the answer, where the handler returns no `Response` of its own. */
  readonly set: { status: number | undefined; readonly headers: Headers };
  /**
   * An answer with JSON, checked against the schema of its status.
   *
   * @example return ctx.json({ error: 'No such user' }, 404);
   */
  json<const Body, const Status extends number = 200>(
    body: Body,
    status?: Status,
    headers?: HeadersLike,
  ): JsonReply<Body, Status>;
  /** An answer with text. @example return ctx.text('pong'); */
  text(body: string, status?: number, headers?: HeadersLike): Response;
  /** Sends the client elsewhere; 302 unless another status is given. @example return ctx.redirect('/login', 303); */
  redirect(location: string, status?: 301 | 302 | 303 | 307 | 308): Response;
}

type Part<O, Key extends string, Otherwise> = O extends { readonly [K in Key]: infer S extends object }
  ? OutputOf<S>
  : Otherwise;

/** What the handler of a route receives. */
export interface Context<
  Env = unknown,
  State = unknown,
  Path extends string = string,
  O = unknown,
> extends RequestContext<Env, State> {
  /** Parameters of the path: as the schema made them, or decoded texts. */
  readonly params: Part<O, 'params', PathParams<Path>>;
  /** The query: as the schema made it, or texts, and arrays of them where a key repeats. */
  readonly query: Part<O, 'query', Readonly<Record<string, string | readonly string[]>>>;
  /** The headers: as the schema made them, or as they came. */
  readonly headers: Part<O, 'headers', Headers>;
  /** The body as the schema made it; `undefined` without a schema: read `req` then. */
  readonly body: Part<O, 'body', undefined>;
}

type MapReply<M> = {
  [K in keyof M]: K extends number
    ? M[K] extends object
      ? JsonReply<Frozen<InputOf<M[K]>>, K>
      : null | undefined | JsonReply<null | undefined, K>
    : K extends 'default'
      ? JsonReply<Frozen<InputOf<M[K]>>, number>
      : never;
}[keyof M];

type MapBody<M> = {
  [K in keyof M]: K extends SuccessStatus ? (M[K] extends object ? Frozen<InputOf<M[K]>> : never) : never;
}[keyof M];

/** Whether `response` is one schema or schemas by status. */
type IsMap<S> = S extends { readonly '~standard': unknown } ? false : keyof S extends number | 'default' ? true : false;

/** What a handler may return. */
export type Returned<O> = O extends { readonly response: infer S extends object }
  ? IsMap<S> extends true
    ? Response | MapReply<S> | MapBody<S>
    : Response | Frozen<InputOf<S>> | JsonReply<Frozen<InputOf<S>>, SuccessStatus> | JsonReply<unknown, FailureStatus>
  : unknown;

/** What a client knows of a route: its options, and what its handler returns. Evaluated when it is asked for. */
export interface RouteType<O, R> {
  readonly options: O;
  readonly returns: R;
}

/** What a handler answers without a response schema. */
export type PlainJson<R> = R extends JsonReply<infer B, infer _S> ? Json<B> : R extends Response ? unknown : Json<R>;

/** Goes on with the rest of the chain. Never rejects: what throws there has become an answer. */
export type Next = () => Promise<Response>;

/**
 * Runs around the routes that are added after it, and may answer in their place. `Adds` is what it puts into
 * `ctx.state`.
 *
 * @example
 * const timing: Middleware = async (ctx, next) => {
 *   const response = await next();
 *   response.headers.set('x-route', ctx.route ?? 'none');
 *   return response;
 * };
 */
export interface Middleware<Env = unknown, State = unknown, Adds = unknown> {
  (ctx: RequestContext<Env, State>, next: Next): Answer | Promise<Answer>;
  /** Types only: never there. */
  readonly '~adds'?: Adds;
}

/** What middleware, `onError` and `notFound` return. */
export type Answer = Response | JsonReply;

/**
 * Makes state for handlers of every kind, per request or event. @example (ctx) => ({ mail: new Mailer(ctx.env.KEY) })
 */
export type StateProvider<Env, State, Adds extends object> = (ctx: BaseContext<Env, State>) => Adds | Promise<Adds>;
