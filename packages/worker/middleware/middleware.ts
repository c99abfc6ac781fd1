// Types the additions of a middleware to `ctx.state`.
import type { Middleware, Next, RequestContext } from '../route-types.ts';

/**
 * Middleware that adds to `ctx.state`, with the type of its addition.
 *
 * @example const tenant = middleware<{ tenant: string }>(async (ctx, next) => {
 *   ctx.state.tenant = ctx.url.hostname;
 *   return next(); });
 */
export function middleware<Adds extends object, Env = unknown>(
  run: (ctx: RequestContext<Env, Adds>, next: Next) => ReturnType<Middleware>,
): Middleware<Env, unknown, Adds> {
  return run as unknown as Middleware<Env, unknown, Adds>;
}
