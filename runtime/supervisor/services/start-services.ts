// Starts services that need the database. While a database that was used before is unavailable, requests are served
// without it, and the start is retried.
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { isKnownDatabase, rememberDatabase } from './known-database.ts';
import type { Services } from './services.ts';

/** Interval of attempts to reach an unavailable database. */
const DATABASE_RETRY_MS = 2000;

interface Deps {
  readonly services: Services;
  readonly folder: string;
  readonly databaseUrl: string;
  readonly log: Logger;
  readonly isStopping: () => boolean;
  /** Serves requests without the database; called at most once. */
  readonly serve: () => void;
}

/**
 * @returns false if the supervisor is stopping.
 * @throws the reason why a service does not start, if the database was never reached; all services are then stopped.
 */
export async function startServices(deps: Deps): Promise<boolean> {
  const { services, folder, databaseUrl, log, isStopping } = deps;
  let isServing = false;
  for (;;) {
    try {
      await services.start();
      break;
    } catch (error) {
      // A service that was stopped before it was ready has not failed.
      if (isStopping()) return false;
      if (!isKnownDatabase(folder, databaseUrl)) {
        await services.stop();
        throw error;
      }
      log.error({ reason: (error as Error).message }, 'Serving without the database, retrying to connect');
    }
    if (!isServing) deps.serve();
    isServing = true;
    await pause(DATABASE_RETRY_MS);
    if (isStopping()) return false;
  }
  if (isStopping()) return false;
  rememberDatabase(folder, databaseUrl);
  return true;
}
