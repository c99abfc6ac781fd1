// The better-auth instance of one app: the only file that loads the library. users.ts imports it at an app's first
// visitor. The library would take half of an engine's start time and a third of its memory.
import { createHmac } from 'node:crypto';
import { betterAuth, type BetterAuthOptions } from 'better-auth';
import { createAuthEndpoint, isAPIError } from 'better-auth/api';
import { bearer } from 'better-auth/plugins';
import { getMigrations } from 'better-auth/db/migration';
import { Kysely } from 'kysely';
import { usersResource } from '../bindings/auth.ts';
import { databaseDialect } from './database-dialect.ts';
import { createPasswords } from './passwords.ts';
import { cookiePrefix, providersOf, type AuthSite, type Mail, type PasswordQueue, type UsersDeps } from './site.ts';

const SESSION_SECONDS = 7 * 24 * 60 * 60;

/** An app's sign-in. */
export type Auth = Pick<ReturnType<typeof betterAuth>, 'handler' | '$context'> & {
  /** The token in the session cookie; null if it is missing or its signature is invalid. */
  tokenOf(cookies: string): Promise<string | null>;
};

// An endpoint that is only called here. `api.getSession` reads the cookie in the same way, but its other work takes 0.3
// ms more CPU.
const readToken = createAuthEndpoint('/session-token', { method: 'GET', requireHeaders: true }, async (ctx) => {
  const { authCookies, secret } = ctx.context;
  return (await ctx.getSignedCookie(authCookies.sessionToken.name, secret)) || null;
});

/** The dependencies as in {@link UsersDeps}, at the time when a site is opened. */
type OpenDeps = Omit<UsersDeps, 'deliversMail'> & { readonly deliversMail: boolean };

/** @param prepared namespaces whose tables exist. */
export async function openAuth(
  deps: OpenDeps,
  site: AuthSite,
  prepared: Set<string>,
  queue: PasswordQueue,
): Promise<Auth> {
  const options = optionsOf(deps, site, queue);
  // Runs once per namespace, not once per site, because a client may send any port in the host, and each port creates
  // another site. Two engines may do this at the same time: the slower one finds the tables.
  for (let attempt = 1; !prepared.has(site.namespace); attempt++) {
    try {
      await (await getMigrations(options)).runMigrations();
      prepared.add(site.namespace);
    } catch (error) {
      if (attempt === 3 || !/already exists|duplicate column/.test((error as Error).message)) throw error;
    }
  }
  const { handler, $context } = betterAuth(options);
  return {
    handler,
    $context,
    tokenOf: async (cookies) => readToken({ headers: new Headers({ cookie: cookies }), context: await $context }),
  } as Auth;
}

function optionsOf(
  { databases, work, secret, deliversMail, sendMail, log, passwordCost }: OpenDeps,
  { namespace, origin, askedAt = origin, vars }: AuthSite,
  queue: PasswordQueue,
): BetterAuthOptions {
  // Sending is not awaited, because neither its duration nor a failure may reveal whether an email is sent.
  const post = async (mail: Mail): Promise<void> => {
    sendMail(mail, namespace).catch((error: Error) => log('error', `auth: ${error.message}`));
  };
  // With verification, signing up does not reveal existing accounts. Only the email to the owner of the address shows
  // whether an account exists.
  const requireEmailVerification = (vars['AUTH_REQUIRE_VERIFICATION'] ?? String(deliversMail)) === 'true';
  return {
    database: {
      db: new Kysely({ dialect: databaseDialect(databases, { namespace, resource: usersResource }) }),
      type: 'sqlite',
    },
    secret: createHmac('sha256', secret).update(`auth ${namespace}`).digest('hex'),
    baseURL: origin,
    basePath: '/auth',
    trustedOrigins: [origin, askedAt],
    telemetry: { enabled: false },
    logger: {
      level: 'warn',
      log: (level, message, ...more) => log(level === 'error' ? 'error' : 'warn', lineOf(message, more)),
    },
    // Without this option, refusals and failures bypass the logger, and are printed to the console with all details.
    onAPIError: {
      onError(error) {
        if (!isAPIError(error)) throw error;
        if (error.statusCode >= 500) log('error', `auth: ${error.message}`);
      },
    },
    emailAndPassword: {
      enabled: true,
      password: createPasswords(work, queue, passwordCost),
      requireEmailVerification,
      revokeSessionsOnPasswordReset: true,
      onExistingUserSignUp: ({ user }) =>
        post({
          to: user.email,
          subject: 'You have an account already',
          text: `Somebody signed up at ${origin} with this address, which has an account there.\n\nSign in with it, or ask for a new password if you have forgotten yours. If it was not you, do nothing.`,
        }),
      sendResetPassword: ({ user, url, token }) =>
        post({
          to: user.email,
          subject: 'Set a new password',
          text: `${howToReset(url, token)}\n\nIf you did not request this, ignore this email.`,
        }),
    },
    emailVerification: {
      sendOnSignUp: requireEmailVerification,
      sendOnSignIn: requireEmailVerification,
      autoSignInAfterVerification: true,
      sendVerificationEmail: ({ user, url }) =>
        post({
          to: user.email,
          subject: 'Confirm your address',
          text: `Open this address to confirm that it is yours:\n${url}\n\nIf you did not sign up, ignore this email.`,
        }),
    },
    socialProviders: providersOf(vars) as NonNullable<BetterAuthOptions['socialProviders']>,
    // Fields that an app sets for a user: clients can set them only once, when they sign up (routes.ts).
    user: { additionalFields: { metadata: { type: 'string', required: false, input: false, defaultValue: '{}' } } },
    session: { expiresIn: SESSION_SECONDS, updateAge: 24 * 60 * 60 },
    // Attempts are stored in the database, so that all engines share the count.
    rateLimit: { enabled: true, storage: 'database', window: 60, max: 100 },
    advanced: {
      cookiePrefix: cookiePrefix(origin),
      // This option would add a prefix that lets other hosts of the same domain set the cookie.
      useSecureCookies: false,
      defaultCookieAttributes: { httpOnly: true, sameSite: 'lax', path: '/', secure: origin.startsWith('https:') },
      // The platform sets this header, and removes the client's own (http/client-address.ts).
      ipAddress: { ipAddressHeaders: ['x-real-ip'] },
    },
    plugins: [bearer()],
  };
}

/** Details besides the reason of an error, such as a visitor's address or a provider's response, are not logged. */
function lineOf(message: string, more: readonly unknown[]): string {
  const reasons = more.flatMap((one) => (one instanceof Error ? [one.message] : []));
  return `auth: ${[message, ...reasons].join(' ')}`;
}

/** The URL works only if the app has declared its page for setting passwords. */
function howToReset(url: string, token: string): string {
  const leads = (new URL(url).searchParams.get('callbackURL') ?? '') !== '';
  return leads
    ? `Open this address to set a new password:\n${url}\n\nOr give this code: ${token}`
    : `Set a new password with this code: ${token}`;
}
