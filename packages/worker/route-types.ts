// The types of routes and middleware: options of a route, arguments of its handler, and its results. No code.
import type { Frozen, InputOf, Json, OutputOf, Schema } from './schema-types.ts';
import type { HeadersLike } from './web-types.ts';

/** Third argument of `fetch`. */
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
 * The parameters in a path.
 *
 * @example type P = PathParams<'/users/:id/files/*'>; // { id: string; '*': string }
 */
export type PathParams<P extends string> = string extends P
  ? Readonly<Record<string, string>>
  : { [K in keyof Segments<P>]: Segments<P>[K] };

/** Statuses of successful responses. */
export type SuccessStatus = 200 | 201 | 202 | 203 | 206 | 207 | 208 | 226;
/** Statuses of failed responses. */
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

/** Schemas by status; `null` if the response has no body, `default` for all other statuses. */
export interface ResponseMap {
  readonly [status: number]: Schema | null;
  readonly default?: Schema;
}

/** Options of a route. */
export interface RouteOptions {
  /** Schema of the parameters in the path. */
  readonly params?: Schema;
  /**
   * Schema of the query. A repeated key is an array. With a JSON Schema, texts are converted to numbers and booleans
   * as declared.
   */
  readonly query?: Schema;
  /** Schema of the request's headers, by lower-case name. */
  readonly headers?: Schema;
  /** Schema of the body. */
  readonly body?: Schema;
  /** Encoding of the body: JSON by default; `form` is urlencoded or multipart, `text` is any `text/*`. */
  readonly bodyType?: 'json' | 'form' | 'text';
  /** Size limit of a body; 1 MiB by default. Longer bodies are refused with 413. */
  readonly bodyLimit?: number;
  /**
   * Refuses members of the query and the body that their schemas do not declare, and every query without a schema,
   * with 400. The option requires JSON Schemas or TypeBox types.
   */
  readonly strict?: boolean;
  /** Schema of successful responses, or schemas by status. Undeclared members are removed from the response. */
  readonly response?: Schema | ResponseMap;
  /** A summary of the route in one line, for the API description. */
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  /** Name of the operation; derived from method and path by default. */
  readonly operationId?: string;
  readonly deprecated?: boolean;
  /** Security requirements of the operation, as in OpenAPI. */
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  /** Omits the route from the API description. */
  readonly hidden?: boolean;
  /** OpenAPI extensions: copied to the description, and available to middleware in `routeOptions`. */
  readonly [extension: `x-${string}`]: unknown;
}

/** A response made by `ctx.json`: validated against the schema of its status, then sent. */
export interface JsonReply<Body = unknown, Status extends number = number> {
  readonly body: Body;
  readonly status: Status;
  readonly headers: HeadersLike | undefined;
  readonly '~reply': true;
}

/** A JSON body that describes an error. */
export interface ErrorBody {
  readonly error: string;
  /** An error code for programs, if there is one. */
  readonly code?: string;
  /** The problems of the request, if a schema found some. */
  readonly issues?: readonly {
    readonly path: readonly (string | number)[];
    readonly message: string;
    readonly in: string;
  }[];
}

/** Common part of all contexts. */
export interface BaseContext<Env, State> {
  /** The worker's bindings. */
  readonly env: Env;
  /** The worker's variables, `env.vars`. */
  readonly vars: Readonly<Record<string, string>>;
  /** Values set by `state` and middleware. */
  readonly state: State;
  /** Keeps the invocation alive until a promise settles. */
  waitUntil(promise: Promise<unknown>): void;
}

/** Argument of middleware: a request, before its route handles it. */
export interface RequestContext<Env, State> extends BaseContext<Env, State> {
  /** The original request. */
  readonly req: Request;
  /** URL of the request, parsed on first use. */
  readonly url: URL;
  /** Path of the request, as sent. */
  readonly path: string;
  /** Pattern of the matching route, such as `/users/:id`, or null. */
  readonly route: string | null;
  /** Options of that route, such as its `tags` and `security`, or null. */
  readonly routeOptions: RouteOptions | null;
  /** Parameters of the path; in middleware the decoded texts, not validated yet. */
  readonly params: unknown;
  /** Address of the client; null if unknown. */
  readonly ip: string | null;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /** Status and headers of the response, if the handler does not return a `Response`. */
  readonly set: { status: number | undefined; readonly headers: Headers };
  /**
   * A JSON response, validated against the schema of its status.
   *
   * @example return ctx.json({ error: 'No such user' }, 404);
   */
  json<const Body, const Status extends number = 200>(
    body: Body,
    status?: Status,
    headers?: HeadersLike,
  ): JsonReply<Body, Status>;
  /** A text response. @example return ctx.text('pong'); */
  text(body: string, status?: number, headers?: HeadersLike): Response;
  /** A redirect; 302 unless another status is given. @example return ctx.redirect('/login', 303); */
  redirect(location: string, status?: 301 | 302 | 303 | 307 | 308): Response;
}

type Part<O, Key extends string, Otherwise> = O extends { readonly [K in Key]: infer S extends object }
  ? OutputOf<S>
  : Otherwise;

/** Argument of a route's handler. */
export interface Context<
  Env = unknown,
  State = unknown,
  Path extends string = string,
  O = unknown,
> extends RequestContext<Env, State> {
  /** Parameters of the path: as parsed by the schema, or decoded texts. */
  readonly params: Part<O, 'params', PathParams<Path>>;
  /** The query: as parsed by the schema, or texts, and arrays of them for repeated keys. */
  readonly query: Part<O, 'query', Readonly<Record<string, string | readonly string[]>>>;
  /** The headers: as parsed by the schema, or unchanged. */
  readonly headers: Part<O, 'headers', Headers>;
  /** The body as parsed by the schema; `undefined` without a schema: read `req` then. */
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

/** Valid results of a handler. */
export type Returned<O> = O extends { readonly response: infer S extends object }
  ? IsMap<S> extends true
    ? Response | MapReply<S> | MapBody<S>
    : Response | Frozen<InputOf<S>> | JsonReply<Frozen<InputOf<S>>, SuccessStatus> | JsonReply<unknown, FailureStatus>
  : unknown;

/** A route for a client: its options, and the result of its handler. Evaluated on use. */
export interface RouteType<O, R> {
  readonly options: O;
  readonly returns: R;
}

/** Response of a handler without a response schema. */
export type PlainJson<R> = R extends JsonReply<infer B, infer _S> ? Json<B> : R extends Response ? unknown : Json<R>;

/** Continues with the rest of the chain. Never rejects, because errors there have become responses. */
export type Next = () => Promise<Response>;

/**
 * Runs around the routes that are added later, and may respond instead of them. `Adds` is the type of what the
 * middleware adds to `ctx.state`.
 *
 * @example const timing: Middleware = async (ctx, next) => {
 *   const response = await next();
 *   response.headers.set('x-route', ctx.route ?? 'none');
 *   return response; };
 */
export interface Middleware<Env = unknown, State = unknown, Adds = unknown> {
  (ctx: RequestContext<Env, State>, next: Next): Answer | Promise<Answer>;
  /** Exists only for the type checker: there is no such property at run time. */
  readonly '~adds'?: Adds;
}

/** Result of middleware, `onError` and `notFound`. */
export type Answer = Response | JsonReply;

/** Creates state for all handlers, per request or event. @example (ctx) => ({ mail: new Mailer(ctx.env.KEY) }) */
export type StateProvider<Env, State, Adds extends object> = (ctx: BaseContext<Env, State>) => Adds | Promise<Adds>;
