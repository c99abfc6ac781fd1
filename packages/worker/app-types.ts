// The types of the builder: what each call takes, what its handlers receive, and what the next builder knows. No code.
// Routes are kept as one flat intersection keyed by `METHOD /path`, unevaluated until a client asks for one, so that a chain of
// hundreds stays cheap to check.
import type { QueueMessageLike, ScheduledEventLike, TimerEventLike, WorkflowContextLike, WorkflowStepLike } from './event-types.ts';
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

type Segments<P extends string> = P extends `${infer First}/${infer Rest}` ? Segment<First> & Segments<Rest> : Segment<P>;

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
  /** Schema of the query. A key that repeats is an array. With a JSON Schema, texts become the numbers and booleans it asks for. */
  readonly query?: Schema;
  /** Schema of the request's headers, by lower-case name. */
  readonly headers?: Schema;
  /** Schema of the body. */
  readonly body?: Schema;
  /** What the body is sent as: JSON by default; `form` is urlencoded or multipart, `text` is any `text/*`. */
  readonly bodyType?: 'json' | 'form' | 'text';
  /** Bytes of a body; 1 MiB by default. Longer ones are refused with 413. */
  readonly bodyLimit?: number;
  /** Schema of every answer that went well, or schemas by status. What it does not declare is taken out of the answer. */
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
  readonly issues?: readonly { readonly path: readonly (string | number)[]; readonly message: string; readonly in: string }[];
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
  json<const Body, const Status extends number = 200>(body: Body, status?: Status, headers?: HeadersLike): JsonReply<Body, Status>;
  /** An answer with text. @example return ctx.text('pong'); */
  text(body: string, status?: number, headers?: HeadersLike): Response;
  /** Sends the client elsewhere; 302 unless another status is given. @example return ctx.redirect('/login', 303); */
  redirect(location: string, status?: 301 | 302 | 303 | 307 | 308): Response;
}

type Part<O, Key extends string, Otherwise> = O extends { readonly [K in Key]: infer S extends object } ? OutputOf<S> : Otherwise;

/** What the handler of a route receives. */
export interface Context<Env = unknown, State = unknown, Path extends string = string, O = unknown> extends RequestContext<Env, State> {
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

type MapBody<M> = { [K in keyof M]: K extends SuccessStatus ? (M[K] extends object ? Frozen<InputOf<M[K]>> : never) : never }[keyof M];

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
 * Runs around the routes that are added after it, and may answer in their place. `Adds` is what it puts into `ctx.state`.
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

/** Makes state for handlers of every kind, per request or event. @example (ctx) => ({ mail: new Mailer(ctx.env.KEY) }) */
export type StateProvider<Env, State, Adds extends object> = (ctx: BaseContext<Env, State>) => Adds | Promise<Adds>;

/** Where the API description is served, and what it says about the API. */
export interface OpenApiOptions {
  /** Path of the description. @example '/openapi.json' */
  readonly path: string;
  readonly info: { readonly title: string; readonly version: string; readonly description?: string };
  /** Path of a page that shows it. @example '/docs' */
  readonly ui?: string;
  readonly servers?: readonly { readonly url: string; readonly description?: string }[];
  /** Security requirements of every operation. */
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  /** `components.securitySchemes`. */
  readonly securitySchemes?: Readonly<Record<string, object>>;
  readonly tags?: readonly { readonly name: string; readonly description?: string }[];
  /** JSON Schema of a schema that has no way to tell by itself (valibot: `toJsonSchema` of `@valibot/to-json-schema`). */
  readonly toJsonSchema?: (schema: never, io: 'input' | 'output') => object;
}

/** What a queue's handler receives. */
export interface QueueContext<Env, State, Payload> extends BaseContext<Env, State> {
  /** What was sent, as the schema made it. */
  readonly payload: Payload;
  /** The message as it came. */
  readonly message: QueueMessageLike;
  readonly id: string;
  readonly queueName: string;
  /** 1 for the first delivery. */
  readonly attempt: number;
  /** Takes the message as done, even if the handler throws afterwards. */
  ack(): void;
  /** Asks for another delivery. */
  retry(options?: { delaySeconds?: number }): void;
}

/** What a workflow's handler receives. */
export interface WorkflowContext<Env, State, Input> extends BaseContext<Env, State> {
  /** What the run was started with, as the schema made it. */
  readonly input: Input;
  readonly step: WorkflowStepLike;
  /** Writes a line to the run's log. */
  log(message: string, data?: unknown): void;
  readonly executionId: string;
}

/** What a timer's handler receives. */
export interface TimerContext<Env, State, Payload> extends BaseContext<Env, State> {
  readonly payload: Payload;
  readonly id: string;
  /** When it was due, in milliseconds since 1970. */
  readonly scheduledTime: number;
  /** The event as it came. */
  readonly event: TimerEventLike;
}

/** What the handler of a schedule receives. */
export interface ScheduledContext<Env, State> extends BaseContext<Env, State> {
  readonly cron: string;
  readonly scheduledTime: number;
  /** A failure of this run is not tried again. */
  noRetry(): void;
  readonly event: ScheduledEventLike;
}

/** Names of bindings that have a method; any name where the environment is not typed. */
type BindingWith<Env, Method extends string> = unknown extends Env
  ? string
  : { [K in keyof Env]-?: Env[K] extends { readonly [M in Method]: unknown } ? K : never }[keyof Env] & string;

type QueueName<Env> = BindingWith<Env, 'sendBatch'>;
type TimerName<Env> = BindingWith<Env, 'set'>;

/** What a binding's own type says about its payload. */
type SentTo<Env, Name> = Name extends keyof Env
  ? Env[Name] extends { send(payload: infer Payload, ...rest: never[]): unknown }
    ? Payload
    : unknown
  : unknown;

type PayloadOf<O, Otherwise> = O extends { readonly payload: infer S extends object } ? OutputOf<S> : Otherwise;
type WorkflowInput<O> = O extends { readonly input: infer S extends object } ? OutputOf<S> : unknown;
type WorkflowOutput<O> = O extends { readonly output: infer S extends object } ? Frozen<InputOf<S>> : unknown;

/** What a queue declares. */
export interface QueueOptions {
  /** Schema of a message. One that does not fit is not handled: it fails, is tried again and ends in the dead-letter queue. */
  readonly payload?: Schema;
}

/** What a workflow declares. */
export interface WorkflowOptions<Env = unknown, State = unknown> {
  readonly input?: Schema;
  readonly output?: Schema;
  /** Runs once when the workflow has failed for good. */
  readonly onError?: (error: Error, ctx: WorkflowContext<Env, State, unknown>) => void | Promise<void>;
}

/** What a timer declares. */
export interface TimerOptions {
  readonly payload?: Schema;
}

/** The handlers besides `fetch`, by the name a worker exports them under. */
export interface EventHandlers<Env> {
  message(event: QueueMessageLike, env: Env, ctx?: ExecutionLike): Promise<void>;
  timer(event: TimerEventLike, env: Env, ctx?: ExecutionLike): Promise<void>;
  scheduled(event: ScheduledEventLike, env: Env, ctx?: ExecutionLike): Promise<void>;
  readonly workflows: Readonly<
    Record<
      string,
      {
        handler(context: WorkflowContextLike<Env>): Promise<unknown>;
        onError?(error: Error, context: WorkflowContextLike<Env>): Promise<void>;
      }
    >
  >;
}

/** What `build` returns: the default export of a worker. `typeof app` is also what a typed client is made from. */
export type BuiltWorker<Env, Routes, Kinds extends keyof EventHandlers<Env>> = {
  /** Answers a request. `env` and `ctx` are given by the platform. */
  fetch(request: Request, env: Env, ctx?: ExecutionLike): Response | Promise<Response>;
  /** Types only: never there. */
  readonly '~gives'?: { readonly routes: Routes };
} & Pick<EventHandlers<Env>, Kinds>;

/** An app that can be mounted with `route`. */
export interface Mountable<Env, State, Routes, Kinds> {
  /** Types only: never there. */
  readonly '~takes'?: (env: Env, state: State) => void;
  /** Types only: never there. */
  readonly '~gives'?: { readonly routes: Routes; readonly kinds: Kinds };
}

type Joined<Prefix extends string, P extends string> = P extends '/' ? Prefix : Prefix extends '/' ? P : `${Prefix}${P}`;

/** Routes under a prefix. */
export type Prefixed<Prefix extends string, Routes> = {
  [K in keyof Routes as K extends `${infer Method} ${infer P}` ? `${Method} ${Joined<Prefix, P>}` : never]: Routes[K];
};

/** `.get`, `.post` and their kin. */
export interface AddRoute<Method extends string, Env, State, Shared, Routes, Kinds extends keyof EventHandlers<Env>, Needs> {
  /** A route with schemas. */
  <const Path extends string, const O extends RouteOptions, const R extends Returned<O>>(
    path: Path,
    options: O,
    handler: (ctx: Context<Env, State, Path, O>) => R | Promise<R>,
  ): App<Env, State, Shared, Routes & Record<`${Method} ${Path}`, RouteType<O, R>>, Kinds, Needs>;
  /** A route without. */
  <const Path extends string, const R>(
    path: Path,
    handler: (ctx: Context<Env, State, Path>) => R | Promise<R>,
  ): App<Env, State, Shared, Routes & Record<`${Method} ${Path}`, RouteType<unknown, R>>, Kinds, Needs>;
}

/**
 * The builder. Every call returns a new one and leaves the old one as it was; the order of calls is the order in which things
 * apply: middleware and state reach the routes that come after them.
 */
export interface App<Env, State, Shared, Routes, Kinds extends keyof EventHandlers<Env>, Needs> extends Mountable<
  Env,
  Needs,
  Routes,
  Kinds
> {
  /**
   * Adds middleware around the routes that follow (and around 404 answers, if it is added to the app that is built).
   *
   * @example app.use(cors()).use(logger())
   */
  use<Adds = unknown>(middleware: Middleware<Env, State, Adds>): App<Env, State & Adds, Shared, Routes, Kinds, Needs>;
  /**
   * Puts something into `ctx.state` of the handlers that follow, of every kind: an object, or a function that makes one.
   *
   * @example app.state(withOrm('DB', schema))
   */
  state<Adds extends object>(
    provider: Adds | StateProvider<Env, Shared, Adds>,
  ): App<Env, State & Adds, Shared & Adds, Routes, Kinds, Needs>;
  /**
   * Serves an OpenAPI 3.1 description of all routes.
   *
   * @example app.openapi({ path: '/openapi.json', info: { title: 'Users', version: '1.0.0' }, ui: '/docs' })
   */
  openapi(options: OpenApiOptions): App<Env, State, Shared, Routes, Kinds, Needs>;
  /**
   * Adds a route. Also answers HEAD.
   *
   * @example app.get('/users/:id', { response: User }, (ctx) => findUser(ctx.params.id))
   */
  readonly get: AddRoute<'GET', Env, State, Shared, Routes, Kinds, Needs>;
  /** Adds a route. @example app.post('/users', { body: NewUser, response: { 201: User } }, (ctx) => ctx.json(add(ctx.body), 201)) */
  readonly post: AddRoute<'POST', Env, State, Shared, Routes, Kinds, Needs>;
  /** Adds a route. @example app.put('/users/:id', { body: User }, (ctx) => save(ctx.params.id, ctx.body)) */
  readonly put: AddRoute<'PUT', Env, State, Shared, Routes, Kinds, Needs>;
  /** Adds a route. @example app.patch('/users/:id', { body: Change }, (ctx) => change(ctx.params.id, ctx.body)) */
  readonly patch: AddRoute<'PATCH', Env, State, Shared, Routes, Kinds, Needs>;
  /** Adds a route. @example app.delete('/users/:id', async (ctx) => void (await remove(ctx.params.id))) */
  readonly delete: AddRoute<'DELETE', Env, State, Shared, Routes, Kinds, Needs>;
  /** Answers every method of a path that has no route of its own. @example app.all('/auth/*', (ctx) => auth.handler(ctx.req)) */
  all<const Path extends string>(
    path: Path,
    handler: (ctx: Context<Env, State, Path>) => unknown,
  ): App<Env, State, Shared, Routes, Kinds, Needs>;
  /**
   * Mounts an app: its routes under a prefix, its queues, workflows and timers as they are.
   *
   * @example app.route('/admin', admin)
   */
  route<const Prefix extends string, More, MoreKinds extends keyof EventHandlers<Env>>(
    prefix: Prefix,
    app: Mountable<Env, State, More, MoreKinds>,
  ): App<Env, State, Shared, Routes & Prefixed<Prefix, More>, Kinds | MoreKinds, Needs>;
  /**
   * Handles the messages of a queue, named as in `env`.
   *
   * @example app.queue('MAIL', { payload: Mail }, async (ctx) => send(ctx.payload.to))
   */
  queue<const Name extends QueueName<Env>, const O extends QueueOptions>(
    name: Name,
    options: O,
    handler: (ctx: QueueContext<Env, Shared, PayloadOf<O, SentTo<Env, Name>>>) => unknown,
  ): App<Env, State, Shared, Routes, Kinds | 'message', Needs>;
  /**
   * A workflow, named as the resource in platform.yaml.
   *
   * @example app.workflow('onboard', { input: User }, async ({ input, step }) => step.run('greet', () => greet(input)))
   */
  workflow<const O extends WorkflowOptions<Env, Shared>, Out extends WorkflowOutput<O>>(
    name: string,
    options: O,
    handler: (ctx: WorkflowContext<Env, Shared, WorkflowInput<O>>) => Out | Promise<Out>,
  ): App<Env, State, Shared, Routes, Kinds | 'workflows', Needs>;
  /**
   * Handles the timers of a binding, named as in `env`.
   *
   * @example app.timer('REMINDERS', { payload: Reminder }, (ctx) => remind(ctx.payload))
   */
  timer<const Name extends TimerName<Env>, const O extends TimerOptions>(
    name: Name,
    options: O,
    handler: (ctx: TimerContext<Env, Shared, PayloadOf<O, unknown>>) => unknown,
  ): App<Env, State, Shared, Routes, Kinds | 'timer', Needs>;
  timer<const Name extends TimerName<Env>>(
    name: Name,
    handler: (ctx: TimerContext<Env, Shared, unknown>) => unknown,
  ): App<Env, State, Shared, Routes, Kinds | 'timer', Needs>;
  /**
   * Handles a schedule of `cron`, by its name in platform.yaml or its expression; `*` handles those without a handler of their own.
   *
   * @example app.cron('NIGHTLY', async (ctx) => cleanUp(ctx.env.DB))
   */
  cron(name: string, handler: (ctx: ScheduledContext<Env, Shared>) => unknown): App<Env, State, Shared, Routes, Kinds | 'scheduled', Needs>;
  /**
   * Answers where a handler has thrown. Without it, an `HttpError` answers with its status, anything else with 500 and a log line.
   *
   * @example app.onError((error, ctx) => ctx.json({ error: 'It broke' }, 500))
   */
  onError(
    handler: (error: unknown, ctx: RequestContext<Env, Partial<State>>) => Answer | Promise<Answer>,
  ): App<Env, State, Shared, Routes, Kinds, Needs>;
  /** Answers where no route does. @example app.notFound((ctx) => ctx.json({ error: `Nothing at ${ctx.path}` }, 404)) */
  notFound(handler: (ctx: RequestContext<Env, Partial<State>>) => Answer | Promise<Answer>): App<Env, State, Shared, Routes, Kinds, Needs>;
  /** The worker: `fetch`, and `message`, `workflows`, `timer`, `scheduled` where they are defined. @example export default app.build(); */
  build(): BuiltWorker<Env, Routes, Kinds>;
}
