// Authentication: by the platform's sign-in (`auth` in platform.yaml), a bearer token, or the author's function. Sets
// `user` and `session` in `ctx.state`.
import { HttpError } from '../failure.ts';
import { createJwtVerifier, type JwtClaims, type JwtOptions } from './jwt.ts';
import type { Middleware, Next, RequestContext } from '../route-types.ts';
import { checkTexts } from './lists.ts';

/** A user of the platform's sign-in. */
export interface AuthUser {
  readonly id: string;
  readonly email?: string;
  readonly [member: string]: unknown;
}

/** A session: the platform's, or the claims of a bearer token. */
export interface AuthSession {
  readonly token?: string;
  readonly claims?: JwtClaims;
  readonly [member: string]: unknown;
}

/** How users are authenticated: without `verify` and `bearer`, by the binding. */
export interface AuthOptions<User, Required extends boolean, Env> {
  /** Whether unauthenticated requests are refused with 401; true by default. */
  readonly required?: Required;
  /** Name of the binding in `env`; `PLATFORM_AUTH` by default. */
  readonly binding?: string;
  /** Authenticates the user of a request; null if there is none. */
  readonly verify?: (ctx: RequestContext<Env, unknown>) => User | null | Promise<User | null>;
  /** Accepts JSON Web Tokens in `Authorization: Bearer`. The user is `{ id: sub, email, ...claims }`. */
  readonly bearer?: JwtOptions;
  /**
   * Paths without authentication: exact paths, or `/public/*`. On these paths, `ctx.state.user` may be null at run
   * time.
   */
  readonly exclude?: readonly string[];
}

interface AuthBinding {
  getSession(request: Request): Promise<{ user: AuthUser; token: string } | null>;
}

/** State added by `auth` to `ctx.state`. */
export interface AuthState<User, Required extends boolean> {
  user: Required extends false ? User | null : User;
  session: Required extends false ? AuthSession | null : AuthSession;
}

/**
 * Authenticates users for the routes that follow, and refuses others with 401.
 *
 * @example platform<PlatformEnv>().use(auth()).get('/me', (ctx) => ({ id: ctx.state.user.id }))
 * @example app.use(auth({ bearer: { jwks: 'https://id.example/.well-known/jwks.json', issuer: 'https://id.example',
 *   audience: 'api' } }))
 * @example app.use(auth({ required: false, verify: (ctx) => findUser(ctx.req.headers.get('x-api-key')) }))
 */
export function auth<User = AuthUser, const Required extends boolean = true, Env = unknown>(
  options: AuthOptions<User, Required, Env> = {},
): Middleware<Env, unknown, AuthState<User, Required>> {
  const { binding = 'PLATFORM_AUTH', verify, bearer, exclude = [], required = true } = options;
  checkTexts('auth: exclude', 'paths, such as ["/public/*"]', exclude);
  const verifier = bearer === undefined ? null : createJwtVerifier(bearer);
  const recognise = async (
    ctx: RequestContext<Env, unknown>,
  ): Promise<{ user: unknown; session: AuthSession } | null> => {
    if (verify !== undefined) {
      const user = await verify(ctx);
      return user === null || user === undefined ? null : { user, session: {} };
    }
    if (verifier !== null) {
      const token = /^Bearer +([^\s]+)$/i.exec(ctx.req.headers.get('authorization') ?? '')?.[1];
      const claims = token === undefined ? null : await verifier.verify(token, ctx.env);
      return claims === null ? null : { user: { ...claims, id: claims.sub ?? '' }, session: { claims } };
    }
    const signIn = (ctx.env as Record<string, AuthBinding | undefined> | null | undefined)?.[binding];
    if (typeof signIn?.getSession !== 'function')
      throw new TypeError(
        `auth: ${binding} is not an auth binding of this worker; declare it, or give verify or bearer`,
      );
    const found = await signIn.getSession(ctx.req);
    return found === null ? null : { user: found.user, session: found };
  };
  const run = async (ctx: RequestContext<Env, Record<string, unknown>>, next: Next): Promise<Response> => {
    const found = await recognise(ctx);
    if (found === null && required && !exclude.some((path) => covers(path, ctx.path)))
      throw new HttpError(401, 'Unauthorized', { headers: { 'www-authenticate': 'Bearer' } });
    ctx.state['user'] = found?.user ?? null;
    ctx.state['session'] = found?.session ?? null;
    return next();
  };
  return run as unknown as Middleware<Env, unknown, AuthState<User, Required>>;
}

function covers(pattern: string, path: string): boolean {
  return pattern.endsWith('/*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
}
