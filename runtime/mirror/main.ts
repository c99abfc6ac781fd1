// Root of the mirror's process: copies the published routes and artifacts to this machine, if machines share no folder
// (ARTIFACTS_S3_*). Started by the supervisor; it has the permissions of engines in Postgres.
import { routeKeysOf } from '#artifacts/sealed-route.ts';
import { createArtifactCache } from '#artifacts/store/cache.ts';
import { openArtifactStore } from '#artifacts/store/open.ts';
import { limitsFrom } from '#core/limits.ts';
import { openLog } from '#core/log/log.ts';
import { tellFigures } from '#core/process/figures.ts';
import { runProcess } from '#core/process/run-process.ts';
import { pause } from '#core/process/wake.ts';
import { openPostgres } from '#postgres/connection.ts';
import { openListener, type Listener } from '#postgres/listener.ts';
import { atMost } from '#postgres/wake.ts';
import { startMirror, type Mirror } from './mirror.ts';

/**
 * How long the start waits for routes. A machine without routes cannot serve requests; a machine that already has
 * routes serves them.
 */
const [FIRST_SYNC_MS_MAX, SYNC_MS_MAX] = [60_000, 3000];
const TRIM_MS = 600_000;
const LISTEN_AGAIN_MS = 1000;
const CLOSE_MS_MAX = 5000;

const log = openLog('mirror', process.env);

async function start(): Promise<() => Promise<void>> {
  const get = (name: string): string => process.env[name]?.trim() ?? '';
  const limits = limitsFrom(process.env);
  const [folder, url] = [get('FS_PATH'), get('ENGINE_DATABASE_URL')];
  if (folder === '') throw new Error('FS_PATH is not set: name the folder of this machine');
  if (url === '') throw new Error('ENGINE_DATABASE_URL is not set: name the Postgres as engines see it');
  const keys = routeKeysOf(get('PRIVATE_PORT_TOKEN'));
  const stopping = new AbortController();
  const sql = openPostgres({ url, name: 'platform mirror', connectionsMax: 4, schema: 'binding' });
  const store = await openArtifactStore(process.env, {
    dataFolder: folder,
    limits,
    async installation() {
      const [platform] = await sql.all<{ id: string }>('SELECT id FROM platform_id');
      return platform!.id;
    },
  });
  if (!store.isShared)
    throw new Error(
      'ARTIFACTS_S3_BUCKET is not set: the mirror needs a bucket, because machines do not share a folder',
    );
  const mirror = startMirror({ folder, sql, store, keys, log, stopping: stopping.signal });
  const listening = listen({ url, name: 'platform mirror' }, mirror, stopping.signal);
  const trim = createArtifactCache(folder, limits.artifacts.cacheBytesMax);
  let cacheBytes = 0;
  const trimming = setInterval(() => {
    trim(Date.now()).then(
      ({ bytes, removed }) => {
        cacheBytes = bytes;
        if (removed > 0) log.info({ removed, bytes }, 'Artifacts without a route removed');
      },
      (error: Error) => log.error({ reason: error.message }, 'Artifacts not trimmed'),
    );
  }, TRIM_MS);
  const isSynced = await mirror.hadRoutes.then((had) => before(had ? SYNC_MS_MAX : FIRST_SYNC_MS_MAX, mirror.synced));
  if (!isSynced) log.warn('The routes of this machine are not up to date yet');
  process.send?.({ type: 'ready' });
  tellFigures(() => [...mirror.figures(), ['platform_artifact_cache_bytes', {}, cacheBytes]]);
  return async () => {
    stopping.abort();
    clearInterval(trimming);
    await atMost(CLOSE_MS_MAX, mirror.ended);
    await (await listening)?.close();
    await store.close();
    await sql.close(1000);
  };
}

/** Whether a promise resolves within a time. */
function before(ms: number, happens: Promise<void>): Promise<boolean> {
  let isDone = false;
  return atMost(
    ms,
    happens.then(() => void (isDone = true)),
  ).then(() => isDone);
}

/** Starts to listen when Postgres is available; null if it never was. */
async function listen(
  options: { readonly url: string; readonly name: string },
  { wake, compareAll }: Pick<Mirror, 'wake' | 'compareAll'>,
  stopping: AbortSignal,
): Promise<Listener | null> {
  while (!stopping.aborted) {
    try {
      const listener = await openListener(options, 'binding_route', wake, compareAll);
      wake();
      return listener;
    } catch {
      // In the meantime, the mirror polls, and reports that Postgres is unavailable.
      await pause(LISTEN_AGAIN_MS, stopping);
    }
  }
  return null;
}

await runProcess(log, start, { closeMsMax: 2 * CLOSE_MS_MAX });
