// A typed client for an app, without generated code: the types come from `typeof app`, and no code of the app is
// imported.
import type { BuiltWorker, Mountable } from './app-types.ts';
import type { ErrorBody, FailureStatus, PathParams, PlainJson, RouteType, SuccessStatus } from './route-types.ts';
import type { InputOf, Json, OutputOf } from './schema-types.ts';
import type { BodyLike, HeadersLike } from './web-types.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- the app can have any routes
type AnyApp = Mountable<any, any, any, any> | BuiltWorker<any, any, never>;

type RoutesOf<App> = App extends { readonly '~gives'?: infer G }
  ? NonNullable<G> extends { readonly routes: infer R }
    ? Flat<R>
    : never
  : never;

/** A single object type instead of an intersection of hundreds: looking something up in it is cheap. */
type Flat<R> = { readonly [K in keyof R]: R[K] };

type OptionsOf<Route> = Route extends RouteType<infer O, infer _R> ? O : unknown;

type Given<O, Key extends string> = O extends { readonly [K in Key]: infer S extends object } ? InputOf<S> : undefined;

type OptionalWhenEmpty<Key extends string, T> = [T] extends [undefined]
  ? { readonly [K in Key]?: undefined }
  : Record<string, never> extends T
    ? { readonly [K in Key]?: T }
    : undefined extends T
      ? { readonly [K in Key]?: T }
      : { readonly [K in Key]: T };

type ParamsOf<O, Path extends string> = O extends { readonly params: infer S extends object }
  ? InputOf<S>
  : keyof PathParams<Path> extends never
    ? undefined
    : { readonly [K in keyof PathParams<Path>]: PathParams<Path>[K] extends infer V ? V | number : never };

/** Parameters of a call besides its path. */
export type CallOptions<O, Path extends string> = OptionalWhenEmpty<'params', ParamsOf<O, Path>> &
  (O extends { readonly query: object }
    ? OptionalWhenEmpty<'query', Given<O, 'query'>>
    : { readonly query?: Readonly<Record<string, QueryValue>> }) &
  OptionalWhenEmpty<'body', Given<O, 'body'>> &
  (O extends { readonly headers: object }
    ? OptionalWhenEmpty<'headers', Given<O, 'headers'>>
    : { readonly headers?: HeadersLike }) & {
    readonly signal?: AbortSignal;
  };

type QueryValue = string | number | boolean | null | undefined | readonly (string | number | boolean)[];

/** A successful response. */
export interface Success<Status, Data> {
  readonly ok: true;
  readonly status: Status;
  readonly data: Data;
  readonly response: Response;
}

/** A failed response. */
export interface Failure<Status, Data> {
  readonly ok: false;
  readonly status: Status;
  readonly data: Data;
  readonly response: Response;
}

type Listed<M> = {
  [K in keyof M]: K extends SuccessStatus | 204 | 205
    ? Success<K, M[K] extends object ? Json<OutputOf<M[K]>> : undefined>
    : K extends number
      ? Failure<K, M[K] extends object ? Json<OutputOf<M[K]>> : undefined>
      : never;
}[keyof M];

type Others<M> = Failure<
  Exclude<FailureStatus, keyof M>,
  M extends { readonly default: infer S extends object } ? Json<OutputOf<S>> : ErrorBody
>;

/** Result of calling a route: distinguish by `ok`, then by `status`. */
export type CallResult<Route> =
  Route extends RouteType<infer O, infer R>
    ? O extends { readonly response: infer S extends object }
      ? S extends { readonly '~standard': unknown }
        ? Success<SuccessStatus, Json<OutputOf<S>>> | Failure<FailureStatus, ErrorBody>
        : keyof S extends number | 'default'
          ? Listed<S> | Others<S>
          : Success<SuccessStatus, Json<OutputOf<S>>> | Failure<FailureStatus, ErrorBody>
      : Success<SuccessStatus | 204 | 205, PlainJson<Awaited<R>>> | Failure<FailureStatus, ErrorBody>
    : never;

type Rest<T> = Record<string, never> extends T ? [options?: T] : [options: T];

/** Parameters and result of a route; evaluated once, however often it is called. */
interface Call<Path extends string, Route> {
  readonly rest: Rest<CallOptions<OptionsOf<Route>, Path>>;
  readonly result: CallResult<Route>;
}

type PathOf<Key, Method extends string> = Key extends `${Method} ${infer Path}` ? Path : never;

type Calls<Routes, Method extends string> = {
  readonly [K in keyof Routes as PathOf<K, Method>]: Call<PathOf<K, Method>, Routes[K]>;
};

type Caller<Table> = <const Path extends keyof Table>(
  path: Path,
  ...rest: Table[Path] extends { readonly rest: infer Options extends readonly unknown[] } ? Options : never
) => Promise<Table[Path] extends { readonly result: infer Result } ? Result : never>;

/** A client: one function per method, with the paths of that method. */
export interface Client<Routes> {
  readonly get: Caller<Calls<Routes, 'GET'>>;
  readonly post: Caller<Calls<Routes, 'POST'>>;
  readonly put: Caller<Calls<Routes, 'PUT'>>;
  readonly patch: Caller<Calls<Routes, 'PATCH'>>;
  readonly delete: Caller<Calls<Routes, 'DELETE'>>;
}

/** Options of a client. */
export interface ClientOptions {
  /** Replaces the global `fetch`: a worker's binding, a test's app. */
  readonly fetch?: (request: Request) => Response | Promise<Response>;
  /** Headers of every call, or a function that creates them. */
  readonly headers?: HeadersLike | (() => HeadersLike | Promise<HeadersLike>);
  /** Whether cookies are sent, in browsers. */
  readonly credentials?: 'include' | 'omit' | 'same-origin';
}

interface LooseOptions {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly headers?: HeadersLike;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/**
 * A client for the app of a type. A body is sent as JSON, unless it is a form or a text (`FormData`,
 * `URLSearchParams`, `string`).
 *
 * @param baseUrl the base URL of the app, such as `https://api.example`. @returns a client. Calls of the client never
 * throw for a status; they reject if there is no response.
 * @example import type { app } from '../worker/src/index.ts'; const api = createClient<typeof
 * app>('https://api.example'); const user = await api.get('/users/:id', { params: { id: '7' } }); if (user.ok)
 * console.log(user.data.name);
 */
export function createClient<App extends AnyApp>(
  baseUrl: string | URL,
  options: ClientOptions = {},
): Client<RoutesOf<App>> {
  const base = String(baseUrl).replace(/\/$/, '');
  const send = options.fetch ?? ((request: Request) => fetch(request));
  const call = async (method: string, path: string, given: LooseOptions = {}): Promise<unknown> => {
    const headers = new Headers(typeof options.headers === 'function' ? await options.headers() : options.headers);
    for (const [name, value] of new Headers(given.headers)) headers.set(name, value);
    if (!headers.has('accept')) headers.set('accept', 'application/json');
    const request = new Request(base + fill(path, given.params ?? {}) + queryText(given.query ?? {}), {
      method,
      headers,
      ...bodyOf(given.body, headers),
      ...(given.signal === undefined ? {} : { signal: given.signal }),
      ...(options.credentials === undefined ? {} : { credentials: options.credentials }),
    });
    const response = await send(request);
    return { ok: response.ok, status: response.status, data: await readAnswer(response), response };
  };
  const caller = (method: string) => (path: string, given?: LooseOptions) => call(method, path, given);
  const client = {
    get: caller('GET'),
    post: caller('POST'),
    put: caller('PUT'),
    patch: caller('PATCH'),
    delete: caller('DELETE'),
  };
  return client as unknown as Client<RoutesOf<App>>;
}

/** The path with its parameters filled in. @throws TypeError when a parameter is missing. */
function fill(path: string, params: Readonly<Record<string, unknown>>): string {
  const parts = path.split('/').flatMap((part) => {
    if (part === '*')
      return String(params['*'] ?? '')
        .split('/')
        .map(encodeURIComponent)
        .join('/');
    if (!part.startsWith(':')) return part;
    const name = part.slice(1).replace(/\?$/, '');
    const value = params[name];
    if (value !== undefined && value !== null && value !== '') return encodeURIComponent(String(value));
    if (part.endsWith('?')) return [];
    throw new TypeError(`${path} needs the parameter ${name}`);
  });
  return parts.join('/') || '/';
}

function queryText(query: Readonly<Record<string, unknown>>): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    for (const item of Array.isArray(value) ? value : [value])
      if (item !== undefined && item !== null)
        search.append(key, item instanceof Date ? item.toISOString() : String(item));
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

function bodyOf(body: unknown, headers: Headers): { body?: BodyLike } {
  if (body === undefined) return {};
  if (typeof body === 'string' || body instanceof FormData || body instanceof URLSearchParams) return { body };
  if (!headers.has('content-type')) headers.set('content-type', 'application/json');
  return { body: JSON.stringify(body) };
}

async function readAnswer(response: Response): Promise<unknown> {
  if (response.status === 204 || response.status === 205 || response.body === null) return undefined;
  const text = await response.text();
  if (!/\bjson\b/i.test(response.headers.get('content-type') ?? '')) return text;
  return text === '' ? undefined : (JSON.parse(text) as unknown);
}
