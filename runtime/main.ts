// Root of an engine process: the only reader of the environment in the runtime. Started by supervisor/main.ts.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { noStores } from './bindings/bindings.ts';
import { createEngine } from './engine.ts';
import { openEngineLog, type EngineLog } from './engine-log.ts';
import { createHandler } from './handler.ts';
import { cacheFolder } from './isolates/snapshot.ts';
import { openArtifact } from './router/artifact-source.ts';
import { openRouteFiles } from './router/route-source-files.ts';
import { createRouteTable } from './router/route-table.ts';
import { createAssetServer } from './server/assets.ts';
import { chooseListener } from './server/choose-listener.ts';
import { createMemoryCache } from './stores/cache-memory.ts';
import { ConfigurationError, engineConfig } from './configuration.ts';

/** Exit code that tells the supervisor not to try again. */
const EXIT_CONFIGURATION = 78;
/** Threads lost to heap overflows inside V8 after which an engine is replaced. */
const PARKED_THREADS_MAX = 8;

const { log, ...logging } = openLog();

try {
  await start();
} catch (error) {
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof ConfigurationError || code === 'EADDRINUSE' || code === 'EACCES') {
    log.fatal(
      code === 'EADDRINUSE' ? `Port ${process.env['HANDLER_PORT'] ?? ''} is taken: stop what listens there, or set HANDLER_PORT` : message,
    );
    process.exit(EXIT_CONFIGURATION);
  }
  log.fatal(error);
  process.exit(1);
}

function openLog(): EngineLog {
  try {
    return openEngineLog(process.env);
  } catch (error) {
    openEngineLog({}).log.fatal((error as Error).message);
    return process.exit(EXIT_CONFIGURATION);
  }
}

async function start(): Promise<void> {
  const config = engineConfig(process.env);
  for (const folder of ['artifacts', 'routes']) mkdirSync(join(config.folder, folder), { recursive: true });
  const engine = await createEngine({ limits: config.limits, egress: config.egress, cacheFolder: cacheFolder(process.env), blanks: 2 });
  const source = await openRouteFiles({
    folder: config.folder,
    onProblem: (problem) => log.error(problem, 'A route file is broken; its last good version stays'),
  });
  const table = createRouteTable(config.domains);
  const handler = createHandler({
    engine,
    limits: config.limits,
    protocol: config.protocol,
    trustedProxies: config.trustedProxies,
    findRoute: (host) => table.find(host),
    openArtifact: (id) => openArtifact(config.folder, id),
    assets: createAssetServer(),
    stores: noStores,
    namespaceOf: (project) => project,
    findDeployment: (id) => table.findDeployment(id),
    cache: createMemoryCache({ bytesMax: config.limits.cacheBytesMax }),
    ...logging,
  });
  const update = (): void => {
    for (const conflict of table.replace(source.routes)) log.error(conflict, 'Two projects claim one host');
    handler.retain(table.routes());
  };
  update();
  source.onChange(update);

  const { open, reason } = await chooseListener(config.listener);
  const listener = await open({ port: config.port, host: config.host, limits: config.limits, onExchange: handler.onExchange });
  log.info(
    { port: listener.port, listener: listener.technology, snapshotBytes: engine.snapshotBytes, ...(reason === null ? {} : { reason }) },
    'The handler listens',
  );
  process.send?.({ type: 'listening', port: listener.port });

  let stopping = false;
  const stop = async (): Promise<void> => {
    if (stopping) end(1);
    stopping = true;
    source.close();
    await listener.drain(config.limits.drainMs);
    handler.close();
    await engine.close();
    end(0);
  };
  // A parked thread never ends, and an exit would wait for it.
  const end = (code: number): void => {
    if (engine.parkedThreads > 0) process.kill(process.pid, 'SIGKILL');
    process.exit(code);
  };
  setInterval(() => {
    if (engine.parkedThreads < PARKED_THREADS_MAX || stopping) return;
    log.warn({ parkedThreads: engine.parkedThreads }, 'Too many threads are lost to heap overflows; this engine makes room for another');
    void stop();
  }, 1000).unref();
  process.on('SIGTERM', () => void stop());
  process.on('SIGINT', () => void stop());
  process.on('disconnect', () => void stop());
}
