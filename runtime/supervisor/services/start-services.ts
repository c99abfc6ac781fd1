// Starts what needs the database. While a database that served before is away, requests are served without it, and the
// start is tried again.
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { isKnownDatabase, rememberDatabase } from './known-database.ts';
import type { Services } from './services.ts';

/** Between attempts to reach a database that is away. */
const DATABASE_RETRY_MS = 2000;

interface Parts {
  readonly services: Services;
  readonly folder: string;
  readonly databaseUrl: string;
  readonly log: Logger;
  readonly isStopping: () => boolean;
  /** Serves requests without the database; called once at most. */
  readonly serve: () => void;
}

/**
 * @returns false: the supervisor stops.
 * @throws why a service does not start, where the database was never reached: all of them are stopped then.
 */
export async function startServices(parts: Parts): Promise<boolean> {
  const { services, folder, databaseUrl, log, isStopping } = parts;
  let isServing = false;
  for (;;) {
    try {
      await services.start();
      break;
    } catch (error) {
      // A service that was asked to end before it was ready did what it should.
      if (isStopping()) return false;
      if (!isKnownDatabase(folder, databaseUrl)) {
        await services.stop();
        throw error;
      }
      log.error({ reason: (error as Error).message }, 'Serving without the database, which is tried again');
    }
    if (!isServing) parts.serve();
    isServing = true;
    await pause(DATABASE_RETRY_MS);
    if (isStopping()) return false;
  }
  if (isStopping()) return false;
  rememberDatabase(folder, databaseUrl);
  return true;
}
