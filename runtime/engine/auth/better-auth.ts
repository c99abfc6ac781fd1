// One app's better-auth: the only file that loads it, by users.ts and not before an app's first visitor. Half of an
// engine's start and a third of its memory would be that library.
import { createHmac } from 'node:crypto';
import { betterAuth, type BetterAuthOptions } from 'better-auth';
import { createAuthEndpoint, isAPIError } from 'better-auth/api';
import { bearer } from 'better-auth/plugins';
import { getMigrations } from 'better-auth/db/migration';
import { Kysely } from 'kysely';
import { usersResource } from '../bindings/auth.ts';
import { databaseDialect } from './database-dialect.ts';
import { createPasswords } from './passwords.ts';
import { cookiePrefix, providersOf, type AuthSite, type Mail, type PasswordQueue, type UsersParts } from './site.ts';

const SESSION_SECONDS = 7 * 24 * 60 * 60;

/** An app's sign-in. */
export type Auth = Pick<ReturnType<typeof betterAuth>, 'handler' | '$context'> & {
  /** The token of the session cookie among these; null when there is none, or its signature is not ours. */
  tokenOf(cookies: string): Promise<string | null>;
};

// No route: `api.getSession` reads the cookie in the same way, and takes 0.3 ms of CPU more for what else it does.
const readToken = createAuthEndpoint('/session-token', { method: 'GET', requireHeaders: true }, async (ctx) => {
  const { authCookies, secret } = ctx.context;
  return (await ctx.getSignedCookie(authCookies.sessionToken.name, secret)) || null;
});

/** @param prepared namespaces whose tables are known to be there. */
export async function openAuth(
  parts: UsersParts,
  site: AuthSite,
  prepared: Set<string>,
  queue: PasswordQueue,
): Promise<Auth> {
  const options = optionsOf(parts, site, queue);
  // Once a namespace: a client may say any port after the host, and each makes another site.
  // Two engines may be at it at once: the one that loses finds the tables there.
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
  { databases, work, secret, deliversMail, sendMail, log, passwordCost }: UsersParts,
  { namespace, origin, askedAt = origin, vars }: AuthSite,
  queue: PasswordQueue,
): BetterAuthOptions {
  // Nobody waits for it: who asked must not learn from the time it takes, or from its failure, whether there is
  // an e-mail to send.
  const post = async (mail: Mail): Promise<void> => {
    sendMail(mail).catch((error: Error) => log('error', `auth: ${error.message}`));
  };
  // With it, signing up says nothing of who there is: the e-mail does, to whom it concerns.
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
    // Without this, refusals and failures go past that logger to the console, with all that they know.
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
          text: `${howToReset(url, token)}\n\nIf you did not ask for it, do nothing.`,
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
          text: `Open this address to confirm that it is yours:\n${url}\n\nIf you did not sign up, do nothing.`,
        }),
    },
    socialProviders: providersOf(vars) as NonNullable<BetterAuthOptions['socialProviders']>,
    // What an app says of a user: no client's route takes it; signing up does, once (routes.ts).
    user: { additionalFields: { metadata: { type: 'string', required: false, input: false, defaultValue: '{}' } } },
    session: { expiresIn: SESSION_SECONDS, updateAge: 24 * 60 * 60 },
    // In the database: every engine counts the same guesses.
    rateLimit: { enabled: true, storage: 'database', window: 60, max: 100 },
    advanced: {
      cookiePrefix: cookiePrefix(origin),
      // It would add a prefix that lets other hosts of the same domain set the cookie.
      useSecureCookies: false,
      defaultCookieAttributes: { httpOnly: true, sameSite: 'lax', path: '/', secure: origin.startsWith('https:') },
      // Ours: what a client claims has been taken out (http/client-address.ts).
      ipAddress: { ipAddressHeaders: ['x-real-ip'] },
    },
    plugins: [bearer()],
  };
}

/** What it says beside the reason of an error, a visitor's address or a provider's answer, stays out of the log. */
function lineOf(message: string, more: readonly unknown[]): string {
  const reasons = more.flatMap((one) => (one instanceof Error ? [one.message] : []));
  return `auth: ${[message, ...reasons].join(' ')}`;
}

/** An address leads somewhere only when the app said which of its pages sets passwords. */
function howToReset(url: string, token: string): string {
  const leads = (new URL(url).searchParams.get('callbackURL') ?? '') !== '';
  return leads
    ? `Open this address to set a new password:\n${url}\n\nOr give this code: ${token}`
    : `Set a new password with this code: ${token}`;
}
