// The types of the builder: the arguments of each call, and the state of the next builder. No code. Routes are one flat
// intersection keyed by `METHOD /path`, which is not evaluated until a client uses a route, so that a chain of hundreds
// stays cheap to check.
import type {
  EventHandlers,
  QueueContext,
  QueueOptions,
  ScheduledContext,
  TimerContext,
  TimerOptions,
  WorkflowContext,
  WorkflowOptions,
} from './handler-types.ts';
import type {
  Answer,
  Context,
  ExecutionLike,
  Middleware,
  RequestContext,
  Returned,
  RouteOptions,
  RouteType,
  StateProvider,
} from './route-types.ts';
import type { Frozen, InputOf, OutputOf } from './schema-types.ts';

/** Path and content of the API description. */
export interface OpenApiOptions {
  /** Path of the description. @example '/openapi.json' */
  readonly path: string;
  readonly info: { readonly title: string; readonly version: string; readonly description?: string };
  /** Path of a page that shows the description. @example '/docs' */
  readonly ui?: string;
  readonly servers?: readonly { readonly url: string; readonly description?: string }[];
  /** Security requirements of every operation. */
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  /** `components.securitySchemes`. */
  readonly securitySchemes?: Readonly<Record<string, object>>;
  readonly tags?: readonly { readonly name: string; readonly description?: string }[];
  /** Command that calls an operation, for code samples; method, path and `--body` follow. @example 'shop api' */
  readonly cli?: string;
  /** JSON Schema of failures, if `onError` responds with its own format; every operation then has it as `default`. */
  readonly failure?: object;
  /**
   * Converts schemas that do not support JSON Schema themselves (valibot: `toJsonSchema` of
   * `@valibot/to-json-schema`).
   */
  readonly toJsonSchema?: (schema: never, io: 'input' | 'output') => object;
}

/** Names of bindings that have a method; any name if the environment is not typed. */
type BindingWith<Env, Method extends string> = unknown extends Env
  ? string
  : { [K in keyof Env]-?: Env[K] extends { readonly [M in Method]: unknown } ? K : never }[keyof Env] & string;

type QueueName<Env> = BindingWith<Env, 'sendBatch'>;
type TimerName<Env> = BindingWith<Env, 'set'>;

/** Payload type of a binding. */
type SentTo<Env, Name> = Name extends keyof Env
  ? Env[Name] extends { send(payload: infer Payload, ...rest: never[]): unknown }
    ? Payload
    : unknown
  : unknown;

type PayloadOf<O, Otherwise> = O extends { readonly payload: infer S extends object } ? OutputOf<S> : Otherwise;
type WorkflowInput<O> = O extends { readonly input: infer S extends object } ? OutputOf<S> : unknown;
type WorkflowOutput<O> = O extends { readonly output: infer S extends object } ? Frozen<InputOf<S>> : unknown;

/** Result of `build`: the default export of a worker. `typeof app` is also the type for a typed client. */
export type BuiltWorker<Env, Routes, Kinds extends keyof EventHandlers<Env>> = {
  /** Answers a request. The platform passes `env` and `ctx`. */
  fetch(request: Request, env: Env, ctx?: ExecutionLike): Response | Promise<Response>;
  /** Exists only for the type checker: there is no such property at run time. */
  readonly '~gives'?: { readonly routes: Routes };
} & Pick<EventHandlers<Env>, Kinds>;

/** An app that can be mounted with `route`. */
export interface Mountable<Env, State, Routes, Kinds> {
  /** Exists only for the type checker: there is no such property at run time. */
  readonly '~takes'?: (env: Env, state: State) => void;
  /** Exists only for the type checker: there is no such property at run time. */
  readonly '~gives'?: { readonly routes: Routes; readonly kinds: Kinds };
}

type Joined<Prefix extends string, P extends string> = P extends '/'
  ? Prefix
  : Prefix extends '/'
    ? P
    : `${Prefix}${P}`;

/** Routes under a prefix. */
export type Prefixed<Prefix extends string, Routes> = {
  [K in keyof Routes as K extends `${infer Method} ${infer P}` ? `${Method} ${Joined<Prefix, P>}` : never]: Routes[K];
};

/** `.get`, `.post` and similar. */
export interface AddRoute<
  Method extends string,
  Env,
  State,
  Shared,
  Routes,
  Kinds extends keyof EventHandlers<Env>,
  Needs,
> {
  /** A route with schemas. */
  <const Path extends string, const O extends RouteOptions, const R extends Returned<O>>(
    path: Path,
    options: O,
    handler: (ctx: Context<Env, State, Path, O>) => R | Promise<R>,
  ): App<Env, State, Shared, Routes & Record<`${Method} ${Path}`, RouteType<O, R>>, Kinds, Needs>;
  /** A route without schemas. */
  <const Path extends string, const R>(
    path: Path,
    handler: (ctx: Context<Env, State, Path>) => R | Promise<R>,
  ): App<Env, State, Shared, Routes & Record<`${Method} ${Path}`, RouteType<unknown, R>>, Kinds, Needs>;
}

/**
 * The builder. Every call returns a new builder and leaves the old one unchanged. The order of calls matters:
 * middleware and state apply to the routes added after them.
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
   * Adds values to `ctx.state` of all handlers that follow: an object, or a function that creates one.
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
  /**
   * Adds a route. @example app.post('/users', { body: NewUser, response: { 201: User } }, (ctx) =>
   * ctx.json(add(ctx.body), 201))
   */
  readonly post: AddRoute<'POST', Env, State, Shared, Routes, Kinds, Needs>;
  /** Adds a route. @example app.put('/users/:id', { body: User }, (ctx) => save(ctx.params.id, ctx.body)) */
  readonly put: AddRoute<'PUT', Env, State, Shared, Routes, Kinds, Needs>;
  /** Adds a route. @example app.patch('/users/:id', { body: Change }, (ctx) => change(ctx.params.id, ctx.body)) */
  readonly patch: AddRoute<'PATCH', Env, State, Shared, Routes, Kinds, Needs>;
  /** Adds a route. @example app.delete('/users/:id', async (ctx) => void (await remove(ctx.params.id))) */
  readonly delete: AddRoute<'DELETE', Env, State, Shared, Routes, Kinds, Needs>;
  /** Handles every method of a path that has no route. @example app.all('/auth/*', (ctx) => auth.handler(ctx.req)) */
  all<const Path extends string>(
    path: Path,
    handler: (ctx: Context<Env, State, Path>) => unknown,
  ): App<Env, State, Shared, Routes, Kinds, Needs>;
  /**
   * Mounts an app: its routes under a prefix, its queues, workflows and timers unchanged.
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
   * Handles a schedule of `cron`, by its name in platform.yaml or its expression; `*` handles schedules without a
   * handler.
   *
   * @example app.cron('NIGHTLY', async (ctx) => cleanUp(ctx.env.DB))
   */
  cron(
    name: string,
    handler: (ctx: ScheduledContext<Env, Shared>) => unknown,
  ): App<Env, State, Shared, Routes, Kinds | 'scheduled', Needs>;
  /**
   * Handles errors of handlers. Without a handler, an `HttpError` responds with its status, and all other errors with
   * 500 and a log line.
   *
   * @example app.onError((error, ctx) => ctx.json({ error: 'It broke' }, 500))
   */
  onError(
    handler: (error: unknown, ctx: RequestContext<Env, Partial<State>>) => Answer | Promise<Answer>,
  ): App<Env, State, Shared, Routes, Kinds, Needs>;
  /**
   * Handles requests without a route. @example app.notFound((ctx) => ctx.json({ error: `Nothing at ${ctx.path}` },
   * 404))
   */
  notFound(
    handler: (ctx: RequestContext<Env, Partial<State>>) => Answer | Promise<Answer>,
  ): App<Env, State, Shared, Routes, Kinds, Needs>;
  /**
   * The worker: `fetch`, and `message`, `workflows`, `timer`, `scheduled` if defined. @example export default
   * app.build();
   */
  build(): BuiltWorker<Env, Routes, Kinds>;
}
