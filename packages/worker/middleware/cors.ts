// Cross-origin requests: headers that let pages of other origins read responses, and responses to preflights.
import type { Middleware, RequestContext } from '../route-types.ts';
import { checkTexts } from './lists.ts';

/** Origins that may read responses, and which parts. */
export interface CorsOptions {
  /** `*` (the default), one origin, several origins, or a function that returns the origin to allow, or null. */
  readonly origin?:
    | string
    | readonly string[]
    | ((origin: string, ctx: RequestContext<unknown, unknown>) => string | null);
  /** Methods for preflights; by default the usual methods. */
  readonly allowMethods?: readonly string[];
  /** Request headers for preflights; by default those that the page requests. */
  readonly allowHeaders?: readonly string[];
  /** Response headers that a page may read. */
  readonly exposeHeaders?: readonly string[];
  /** Whether cookies may be sent. Not with `origin: '*'`. */
  readonly credentials?: boolean;
  /** Seconds a browser may cache a preflight response. */
  readonly maxAge?: number;
}

/**
 * Lets pages of other origins call the routes that follow.
 *
 * @example platform().use(cors({ origin: ['https://app.example'], credentials: true }))
 */
export function cors(options: CorsOptions = {}): Middleware {
  const {
    origin = '*',
    allowMethods = ['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'PATCH'],
    exposeHeaders = [],
    credentials = false,
  } = options;
  const methods = 'methods, such as ["GET"]';
  const names = 'names of headers, such as ["x-total"]';
  checkTexts('cors: allowMethods', methods, allowMethods);
  checkTexts('cors: allowHeaders', names, options.allowHeaders ?? []);
  checkTexts('cors: exposeHeaders', names, exposeHeaders);
  if (typeof origin !== 'string' && typeof origin !== 'function')
    checkTexts('cors: origin', 'origins, such as ["https://app.example"], one of them, or a function', origin);
  if (credentials && origin === '*')
    throw new TypeError('cors: credentials need a list of origins; with * every site could read what the user sees');
  const allowedOrigin = (given: string | null, ctx: RequestContext<unknown, unknown>): string | null => {
    if (origin === '*') return '*';
    if (given === null) return null;
    if (typeof origin === 'function') return origin(given, ctx);
    return (typeof origin === 'string' ? [origin] : origin).includes(given) ? given : null;
  };
  return async (ctx, next) => {
    const allowed = allowedOrigin(ctx.req.headers.get('origin'), ctx);
    const asked = ctx.req.method === 'OPTIONS' ? ctx.req.headers.get('access-control-request-method') : null;
    const response = asked === null ? await next() : new Response(null, { status: 204 });
    const { headers } = response;
    if (origin !== '*') headers.append('vary', 'Origin');
    if (allowed === null) return response;
    headers.set('access-control-allow-origin', allowed);
    if (credentials) headers.set('access-control-allow-credentials', 'true');
    if (asked === null) {
      if (exposeHeaders.length > 0) headers.set('access-control-expose-headers', exposeHeaders.join(', '));
      return response;
    }
    headers.set('access-control-allow-methods', allowMethods.join(', '));
    const requested = options.allowHeaders?.join(', ') ?? ctx.req.headers.get('access-control-request-headers');
    if (requested !== null && requested !== '') headers.set('access-control-allow-headers', requested);
    if (options.allowHeaders === undefined) headers.append('vary', 'Access-Control-Request-Headers');
    if (options.maxAge !== undefined) headers.set('access-control-max-age', String(options.maxAge));
    return response;
  };
}
