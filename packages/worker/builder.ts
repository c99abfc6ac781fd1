// The builder: a chain of immutable steps, compiled into tables by `build`. Types are in app-types.ts; here
// everything is loosely typed.
import type { App, OpenApiOptions } from './app-types.ts';
import type { ErrorHandler, Link } from './chain.ts';
import { createEventExports, type EventHandler } from './events.ts';
import { describeApi } from './openapi.ts';
import { pageRoutes } from './openapi-page.ts';
import { createFetch, declareRoute, type Declared, type Miss, type Route, type RouteHandler } from './requests.ts';
import type { RouteOptions, StateProvider } from './route-types.ts';
import { readPattern } from './router.ts';
import { prepareSchema } from './schema.ts';

type Step =
  | Link
  | { readonly kind: 'route'; readonly pattern: string; readonly declared: Declared }
  | { readonly kind: 'openapi'; readonly options: OpenApiOptions }
  | { readonly kind: 'mount'; readonly prefix: string; readonly app: Builder }
  | { readonly kind: 'event'; readonly event: Omit<EventHandler, 'links'> }
  | { readonly kind: 'onError'; readonly handler: ErrorHandler }
  | { readonly kind: 'notFound'; readonly handler: NonNullable<Miss['handler']> };

/**
 * Starts an app. `Env` is the type of the worker's bindings, which `platform types` writes as `PlatformEnv`. `State` is
 * the type that a mounted app expects in `ctx.state`.
 *
 * @example const app = platform<PlatformEnv>()
 *   .use(cors())
 *   .get('/hello/:name', (ctx) => ({ hello: ctx.params.name }))
 *   .build(); export default app;
 * @example const admin = platform<PlatformEnv, { user: User }>().get('/', (ctx) => ctx.state.user);
 */
export function platform<Env = unknown, State = unknown>(): App<Env, State, unknown, unknown, never, State> {
  return new Builder(null, null) as unknown as App<Env, State, unknown, unknown, never, State>;
}

interface Tables {
  readonly routes: Route[];
  readonly misses: Miss[];
  readonly events: EventHandler[];
}

class Builder {
  readonly #before: Builder | null;
  readonly #step: Step | null;

  constructor(before: Builder | null, step: Step | null) {
    this.#before = before;
    this.#step = step;
  }

  #with(step: Step): Builder {
    return new Builder(this, step);
  }

  use(run: (Link & { kind: 'middleware' })['run']): Builder {
    return this.#with({ kind: 'middleware', run: functionOf(run, 'use') });
  }
  state(provider: object | StateProvider<unknown, unknown, object>): Builder {
    const make = typeof provider === 'function' ? (provider as (ctx: unknown) => unknown) : () => provider;
    return this.#with({ kind: 'state', make });
  }
  openapi(options: OpenApiOptions): Builder {
    for (const path of [options.path, options.ui ?? '/']) readPattern(path);
    return this.#with({ kind: 'openapi', options });
  }
  get(path: string, ...rest: readonly unknown[]): Builder {
    return this.#route('GET', path, rest);
  }
  post(path: string, ...rest: readonly unknown[]): Builder {
    return this.#route('POST', path, rest);
  }
  put(path: string, ...rest: readonly unknown[]): Builder {
    return this.#route('PUT', path, rest);
  }
  patch(path: string, ...rest: readonly unknown[]): Builder {
    return this.#route('PATCH', path, rest);
  }
  delete(path: string, ...rest: readonly unknown[]): Builder {
    return this.#route('DELETE', path, rest);
  }
  all(path: string, handler: unknown): Builder {
    return this.#route('ALL', path, [{ hidden: true }, handler]);
  }

  #route(method: string, pattern: string, rest: readonly unknown[]): Builder {
    readPattern(pattern);
    const [options, handler] = rest.length > 1 ? [rest[0] as RouteOptions, rest[1]] : [{}, rest[0]];
    const run = functionOf(handler, `the route ${method} ${pattern}`) as RouteHandler;
    return this.#with({ kind: 'route', pattern, declared: declareRoute(method, options, run) });
  }

  route(prefix: string, app: unknown): Builder {
    if (!(app instanceof Builder))
      throw new TypeError(`What is mounted at ${prefix} is no app: mount it before it is built`);
    readPattern(prefix);
    if (/[*?]/.test(prefix)) throw new TypeError(`An app cannot be mounted at ${prefix}`);
    return this.#with({ kind: 'mount', prefix: prefix.replace(/\/$/, ''), app });
  }
  queue(name: string, options: { payload?: object }, handler: unknown): Builder {
    return this.#event('queue', name, { input: options.payload }, handler);
  }
  workflow(
    name: string,
    options: { input?: object; output?: object; onError?: EventHandler['onError'] },
    handler: unknown,
  ): Builder {
    return this.#event('workflow', name, options, handler);
  }
  timer(name: string, ...rest: readonly unknown[]): Builder {
    const [options, handler] = rest.length > 1 ? [rest[0] as { payload?: object }, rest[1]] : [{}, rest[0]];
    return this.#event('timer', name, { input: options.payload }, handler);
  }
  cron(name: string, handler: unknown): Builder {
    return this.#event('cron', name, {}, handler);
  }

  #event(
    kind: EventHandler['kind'],
    name: string,
    options: { input?: object | undefined; output?: object; onError?: EventHandler['onError'] },
    handler: unknown,
  ): Builder {
    const ready = (schema: object | undefined): EventHandler['input'] =>
      schema === undefined ? null : prepareSchema(schema);
    const run = functionOf(handler, `the ${kind} ${name}`) as EventHandler['handler'];
    return this.#with({
      kind: 'event',
      event: {
        kind,
        name,
        input: ready(options.input),
        output: ready(options.output),
        onError: options.onError ?? null,
        handler: run,
      },
    });
  }

  onError(handler: ErrorHandler): Builder {
    return this.#with({ kind: 'onError', handler: functionOf(handler, 'onError') });
  }
  notFound(handler: NonNullable<Miss['handler']>): Builder {
    return this.#with({ kind: 'notFound', handler: functionOf(handler, 'notFound') });
  }

  build(): object {
    const tables: Tables = { routes: [], misses: [], events: [] };
    this.#collect(tables, '', [], null);
    const misses = tables.misses.sort((a, b) => b.prefix.length - a.prefix.length);
    return { fetch: createFetch(tables.routes, misses), ...createEventExports(tables.events) };
  }

  /** The steps up to a step, in order; a loop, since a chain may be long. */
  static #stepsOf(latest: Builder): Step[] {
    const steps: Step[] = [];
    for (let at: Builder | null = latest; at !== null; at = at.#before) if (at.#step !== null) steps.push(at.#step);
    return steps.reverse();
  }

  #collect(tables: Tables, prefix: string, outer: readonly Link[], outerError: ErrorHandler | null): void {
    const steps = Builder.#stepsOf(this);
    const onError = last(steps, 'onError')?.handler ?? outerError;
    let links = outer;
    for (const step of steps) {
      if (step.kind === 'middleware' || step.kind === 'state') links = [...links, step];
      else if (step.kind === 'route')
        tables.routes.push({ declared: step.declared, pattern: joined(prefix, step.pattern), links, onError });
      else if (step.kind === 'mount') step.app.#collect(tables, prefix + step.prefix, links, onError);
      else if (step.kind === 'event') tables.events.push({ ...step.event, links });
      else if (step.kind === 'openapi') this.#describe(tables, prefix, step.options, links, onError);
    }
    const notFound = last(steps, 'notFound')?.handler ?? null;
    if (prefix === '' || notFound !== null)
      tables.misses.push({ prefix: prefix === '' ? '/' : prefix, handler: notFound, links, onError });
  }

  #describe(
    tables: Tables,
    prefix: string,
    options: OpenApiOptions,
    links: readonly Link[],
    onError: ErrorHandler | null,
  ): void {
    // The description is created on the first request for it, when all routes are known.
    let text: string | null = null;
    const document = (): Response => {
      text ??= JSON.stringify(
        describeApi(
          tables.routes.filter(
            ({ pattern }) => prefix === '' || pattern === prefix || pattern.startsWith(`${prefix}/`),
          ),
          options,
        ),
      );
      return new Response(text, { headers: { 'content-type': 'application/json' } });
    };
    const pages: [string, () => Response][] = [[options.path, document]];
    if (options.ui !== undefined)
      pages.push(...pageRoutes(options.ui, joined(prefix, options.path), options.info.title, prefix));
    for (const [pattern, handler] of pages)
      tables.routes.push({
        declared: declareRoute('GET', { hidden: true }, handler),
        pattern: joined(prefix, pattern),
        links,
        onError,
      });
  }
}

function joined(prefix: string, pattern: string): string {
  return prefix === '' ? pattern : pattern === '/' ? prefix : prefix + pattern;
}

function last<Kind extends Step['kind']>(steps: readonly Step[], kind: Kind): (Step & { kind: Kind }) | undefined {
  return steps.findLast((step): step is Step & { kind: Kind } => step.kind === kind);
}

function functionOf<T>(value: T, what: string): T {
  if (typeof value !== 'function') throw new TypeError(`${what} needs a function`);
  return value;
}
