// Refuses clients that send too many requests: 429 with `Retry-After`, and the remaining quota on every response.
import { mutable } from '../reply.ts';
import {
  bindingStore,
  memoryStore,
  type CountingBinding,
  type Counts,
  type RateLimitStore,
} from './rate-limit-store.ts';
import type { Answer, Middleware, RequestContext } from '../route-types.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- earlier middleware determines the state
type AnyRequest = RequestContext<any, any>;

/** Options of a rate limit. */
export interface RateLimitOptions {
  /** Requests per window. */
  readonly limit: number;
  /** Length of a window: seconds, or a text such as `30s`, `5m`, `1h`, `1d`. */
  readonly window: number | `${number}${'s' | 'm' | 'h' | 'd'}`;
  /** The client; its address by default. Keep the key short: at most 256 characters count. */
  readonly key?: (ctx: AnyRequest) => string | Promise<string>;
  /**
   * `memory` (the default) counts in this isolate only. The name of a state binding, or the binding itself, is shared
   * by all isolates and outlives them.
   */
  readonly store?: string | CountingBinding | RateLimitStore;
  /**
   * `sliding` (the default) weights the previous window; `fixed` starts again at zero in each window and needs one call
   * less.
   */
  readonly algorithm?: 'sliding' | 'fixed';
  /** `draft-8` (the default) or `draft-7` of the RateLimit header fields; false for none. */
  readonly standardHeaders?: 'draft-7' | 'draft-8' | false;
  /** Text of `error` in the response; `Too many requests` by default. */
  readonly message?: string;
  /** Requests that are not counted. */
  readonly skip?: (ctx: AnyRequest) => boolean | Promise<boolean>;
  /** Responds instead of the 429. The rate limit headers are added to this response. */
  readonly onLimit?: (ctx: AnyRequest) => Answer | Promise<Answer>;
  /** Name of this limit in headers and store, if there are several; `default` otherwise. */
  readonly name?: string;
}

const units: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Limits how often a client may call the routes that follow.
 *
 * @example platform<PlatformEnv>().use(rateLimit({ limit: 100, window: '1m', store: 'KV' }))
 * @example app.use(auth()).use(rateLimit({ limit: 5, window: 1, key: (ctx) => ctx.state.user.id }))
 */
export function rateLimit(options: RateLimitOptions): Middleware {
  const { limit, algorithm = 'sliding', standardHeaders = 'draft-8', name = 'default' } = options;
  const windowMs = milliseconds(options.window);
  if (!Number.isInteger(limit) || limit < 1)
    throw new TypeError(`rateLimit: limit is a whole number of requests, not ${limit}`);
  if (!/^[\w-]{1,64}$/.test(name)) throw new TypeError('rateLimit: name is letters, digits, _ and -');
  const memory = memoryStore();
  const run = async (ctx: AnyRequest, next: () => Promise<Response>): Promise<Response> => {
    if ((await options.skip?.(ctx)) === true) return next();
    const who = options.key === undefined ? (ctx.ip ?? 'unknown') : await options.key(ctx);
    const now = Date.now();
    const window = Math.floor(now / windowMs);
    const store = storeOf(options.store, ctx.env, memory);
    // A truncated key may end with half a character, which cannot be encoded; names in a store are limited in bytes.
    const key = encodeURIComponent(who.slice(0, 256).toWellFormed()).slice(0, 400);
    const counts = await store.count(`${name}:${key}`, window, windowMs, algorithm === 'sliding');
    const { used, resetMs } = usage(counts, now, windowMs, limit, algorithm);
    const reset = Math.max(1, Math.ceil(resetMs / 1000));
    const isOver = used > limit;
    const response = isOver ? await refuse(ctx) : await next();
    const target = mutable(response);
    if (isOver) target.headers.set('retry-after', String(reset));
    describe(target.headers, Math.max(0, Math.floor(limit - used)), reset);
    return target;
  };
  const refuse = async (ctx: AnyRequest): Promise<Response> => {
    const answer = await options.onLimit?.(ctx);
    if (answer instanceof Response) return answer;
    if (answer !== undefined)
      return Response.json(answer.body, { status: answer.status, headers: answer.headers ?? {} });
    return Response.json({ error: options.message ?? 'Too many requests' }, { status: 429 });
  };
  const describe = (headers: Headers, remaining: number, reset: number): void => {
    const seconds = Math.ceil(windowMs / 1000);
    if (standardHeaders === 'draft-8') {
      headers.append('ratelimit-policy', `"${name}";q=${limit};w=${seconds}`);
      headers.append('ratelimit', `"${name}";r=${remaining};t=${reset}`);
    } else if (standardHeaders === 'draft-7') {
      headers.set('ratelimit-policy', `${limit};w=${seconds}`);
      headers.set('ratelimit', `limit=${limit}, remaining=${remaining}, reset=${reset}`);
    }
  };
  return run as Middleware;
}

/** Requests that currently count, and the time until one more is allowed. */
function usage(
  { current, previous }: Counts,
  now: number,
  windowMs: number,
  limit: number,
  algorithm: 'sliding' | 'fixed',
): { used: number; resetMs: number } {
  const elapsed = now % windowMs;
  const rest = windowMs - elapsed;
  if (algorithm === 'fixed' || previous === 0) return { used: current, resetMs: rest };
  const used = current + previous * (rest / windowMs);
  // Within a window, the count of the previous window falls linearly from `previous` to zero.
  const resetMs = used <= limit || current > limit ? rest : Math.min(rest, ((used - limit) / previous) * windowMs);
  return { used, resetMs };
}

function milliseconds(window: number | string): number {
  const found = typeof window === 'number' ? null : /^(\d+(?:\.\d+)?)([smhd])$/.exec(window);
  const ms = typeof window === 'number' ? window * 1000 : found === null ? NaN : Number(found[1]) * units[found[2]!]!;
  if (!(ms >= 1000) || !Number.isFinite(ms))
    throw new TypeError(`rateLimit: window is a second or more, such as 60 or "1m", not ${window}`);
  return ms;
}

function storeOf(store: RateLimitOptions['store'], env: unknown, memory: RateLimitStore): RateLimitStore {
  if (store === undefined || store === 'memory') return memory;
  if (typeof store === 'object') return 'count' in store ? store : bindingStore(store);
  const binding = (env as Record<string, unknown> | null | undefined)?.[store] as CountingBinding | undefined;
  if (typeof binding?.update !== 'function')
    throw new TypeError(`rateLimit: ${store} is not a state binding of this worker`);
  return bindingStore(binding);
}
