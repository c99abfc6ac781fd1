// Sets up sign-in: sessions in Redis if CACHE_URL is set, else in Postgres.
import type { Logger } from 'pino';
import type { Sql } from '#postgres/sql.ts';
import { createOidcProvider } from '../access/oidc/client.ts';
import { createPasswords } from '../access/passwords.ts';
import type { Configuration } from '../process/configuration.ts';
import type { SignIn } from '../process/dependencies.ts';
import type { LiveSettings } from '../process/live-settings.ts';
import type { SessionStore } from '../sessions/session-store.ts';
import { createPostgresSessions } from '../sessions/session-store-postgres.ts';
import { createSessions } from '../sessions/sessions.ts';

/**
 * @param redisWaitMs the timeout of the first connection to Redis; ten seconds by default.
 * @throws {Error} if Redis cannot be reached; the message does not contain its URL.
 */
export async function openSignIn(
  {
    cacheUrl,
    authSecret,
    gitHost,
    oidc,
    signUp,
    signInWays: ways,
  }: Pick<Configuration, 'cacheUrl' | 'authSecret' | 'gitHost' | 'oidc' | 'signUp' | 'signInWays'>,
  sql: Sql,
  log: Logger,
  redisWaitMs?: number,
): Promise<SignIn> {
  const store = cacheUrl === null ? createPostgresSessions(sql) : await openRedis(cacheUrl, log, redisWaitMs);
  const sessions = createSessions(store, authSecret);
  return {
    sessions,
    secret: authSecret,
    gitHost,
    oidc: oidc === null ? null : createOidcProvider(oidc, authSecret),
    signUp,
    ways,
    passwords: createPasswords(),
  };
}

/**
 * The same sign-in with current settings: operators may change the ways to sign in, sign-up, and the Git host's
 * application.
 */
export function withLiveSettings(signIn: SignIn, settings: LiveSettings): SignIn {
  return {
    ...signIn,
    get signUp() {
      return settings.current().signUp;
    },
    get ways() {
      return settings.current().signInWays;
    },
    get gitHost() {
      const application = settings.application();
      if (application === null) return signIn.gitHost;
      const { url, apiUrl, clientId, clientSecret } = application;
      return { url, apiUrl, oauth: { clientId, clientSecret }, realm: url };
    },
  };
}

async function openRedis(url: string, log: Logger, waitMs?: number): Promise<SessionStore> {
  // The module is loaded on demand, because most installations have no Redis.
  const { openRedisSessions } = await import('../sessions/session-store-redis.ts');
  try {
    const warn = (error: Error): void =>
      log.warn({ code: (error as NodeJS.ErrnoException).code }, 'The Redis server of the sessions failed');
    return await openRedisSessions(url, warn, waitMs);
  } catch (error) {
    const { code = 'no answer' } = error as NodeJS.ErrnoException;
    throw new Error(
      `CACHE_URL cannot be reached (${code}): check the server, or unset CACHE_URL to keep sessions in Postgres`,
      { cause: error },
    );
  }
}
