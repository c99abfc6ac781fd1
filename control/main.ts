// Root of the API process (ports 4002 and 3002): reads the environment, opens Postgres, serves the API. Started by the
// supervisor, which hears `{type: 'ready', port}`; runs no tenant code.
import { openLog } from '#core/log/log.ts';
import { encryptionKeys } from '#core/encryption.ts';
import { gitConfigurationFrom } from '#git/configuration.ts';
import { limitsFrom } from '#core/limits.ts';
import { openSql } from '#postgres/sql.ts';
import { createApi } from './api/app.ts';
import { createClientAddress } from './api/client-address.ts';
import type { Parts } from './parts.ts';
import { openPrivatePort } from './process/private-port.ts';
import { serveApi } from './process/servers.ts';

const log = openLog('api', process.env);
const get = (name: string): string => process.env[name]?.trim() ?? '';
const listed = (name: string): string[] =>
  get(name)
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
const stopping = new AbortController();
const running = new Set<Promise<void>>();

async function start(): Promise<() => Promise<void>> {
  const sql = openSql({ url: get('DATABASE_URL'), name: 'platform api' });
  const parts: Parts = {
    sql,
    log,
    keys: encryptionKeys(get('ENCRYPTION_KEY')),
    folder: get('FS_PATH'),
    privatePort: openPrivatePort(get('API_HANDLER_URL'), get('PRIVATE_PORT_TOKEN') || null),
    addresses: {
      api: get('PUBLIC_API_URL') || 'http://localhost:4002',
      ui: get('AUTH_URL') || 'http://localhost:3002',
      domain: get('HANDLER_DOMAIN').split(',')[0] || 'localhost',
      protocol: get('PUBLIC_PROTOCOL') === 'https' ? 'https' : 'http',
      port: Number(get('HANDLER_PORT') || 4001),
    },
    git: gitConfigurationFrom(process.env),
    limits: limitsFrom(process.env).control,
    clientAddress: createClientAddress(listed('TRUSTED_PROXIES')),
    findSession: () => Promise.resolve(null),
    async onNotify(channel, heard) {
      const { unlisten } = await sql.listen(channel, heard);
      return unlisten;
    },
    background(what, work) {
      const done: Promise<void> = work()
        .catch((error: unknown) => log.error({ err: error }, `${what} failed`))
        .finally(() => void running.delete(done));
      running.add(done);
    },
    stopping: stopping.signal,
  };
  const api = createApi();
  const server = await serveApi({
    port: Number(get('API_PORT') || 4002),
    host: get('API_HOST') || '127.0.0.1',
    fetch: (request) => api.fetch(request, parts),
  });
  process.send?.({ type: 'ready', port: server.port });
  return async () => {
    stopping.abort();
    await server.close();
    await Promise.allSettled(running);
    await sql.end({ timeout: 5 });
  };
}

let close: (() => Promise<void>) | null = null;
async function stop(): Promise<never> {
  await close?.();
  process.exit(0);
}
process.on('SIGTERM', () => void stop());
process.on('SIGINT', () => {});
process.on('disconnect', () => void stop());
try {
  close = await start();
} catch (error) {
  log.fatal((error as Error).message);
  process.exit(78);
}
