// A platform in this process: an engine's handler and what it answers its supervisor, the supervisor's private port in
// front of it, the database service, and the broker where there is Postgres. All parts are the real ones, without their
// processes: a stand-in of startPlatform at a fifth of its cost. test/contract/private-port.ts holds both to the same.
import { createHmac, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { cacheFolder } from '#core/process/cache-folder.ts';
import { limitsFrom } from '#core/limits.ts';
import { nextTime } from '#core/schedules/timer-next.ts';
import { createArtifactSource, openArtifact as artifactOf } from '#artifacts/artifact-source.ts';
import { openRouteFiles } from '#artifacts/route-source-files.ts';
import { startBroker } from '#runtime/broker/broker.ts';
import { openHandlerAddresses } from '#core/process/handler-addresses.ts';
import { createEngineDelivery } from '#runtime/broker/delivery/engine-delivery.ts';
import { createRecipients } from '#runtime/broker/delivery/recipients.ts';
import { createAssetServer } from '#runtime/engine/assets/assets.ts';
import { createEngine } from '#runtime/engine/serving/engine.ts';
import { createHandler } from '#runtime/engine/handler.ts';
import { createClientAddress } from '#runtime/engine/http/client-address.ts';
import { openNodeListener } from '#runtime/engine/http/listener-node.ts';
import { openInternal } from '#runtime/engine/process/internal-server.ts';
import { internalRoutes } from '#runtime/engine/process/internal-routes.ts';
import { openEngineLog } from '#runtime/engine/process/log.ts';
import { operationRoutes } from '#runtime/engine/process/operation-routes.ts';
import { RecentLog } from '#runtime/engine/process/recent-log.ts';
import { createEngineReports } from '#runtime/engine/process/reports.ts';
import { RouteWaits } from '#runtime/engine/process/route-waits.ts';
import { openEngineStores } from '#runtime/engine/process/stores.ts';
import { createRouteTable, type RouteChanges } from '#runtime/engine/router/route-table.ts';
import { TelemetryRecorder } from '#runtime/engine/telemetry/recorder.ts';
import { openEventsPostgres } from '#runtime/stores/event-stores-postgres.ts';
import { openPrivatePort } from '#runtime/supervisor/private-port/private-port.ts';
import type { EngineState } from '#runtime/supervisor/engines/state.ts';
import { TelemetryBuffer } from '#runtime/supervisor/private-port/telemetry.ts';
import { UsageLedger } from '#runtime/supervisor/private-port/usage.ts';
import { startDatabases } from './databases.ts';
import { deployInto } from './deployed-sources.ts';
import { PRIVATE_TOKEN, startPlatform, type LogRecord, type TestPlatform } from './platform.ts';
import { send } from './send.ts';
import { until } from './until.ts';

/** What of a platform needs no process of its own. */
export interface PlatformHere extends Pick<
  TestPlatform,
  'port' | 'folder' | 'privatePort' | 'deploy' | 'build' | 'fetch' | 'ask' | 'answers' | 'logged' | 'close'
> {
  /** How many serve. */
  readonly engines: number;
}

/** Between words on what was recorded, as of engines. */
const RECORDS_MS = 250;

/** What there is beside an engine. */
export interface PlatformHereOptions {
  /** Whether there is a database service; default true. */
  readonly databases?: boolean;
  /** Brings state, events and the broker. */
  readonly postgres?: { readonly url: string; readonly engineUrl: string };
  /** Engines, where they are processes; default 1. */
  readonly engines?: number;
}

/**
 * Starts it with some workers deployed; as processes where a test of test/control/ has said so (over-processes.ts).
 *
 * @param environment variables of an engine.
 */
export async function startPlatformHere(
  workers: Readonly<Record<string, string>>,
  environment: Readonly<Record<string, string>> = {},
  options: PlatformHereOptions = {},
): Promise<PlatformHere> {
  if (process.env['TEST_PLATFORM'] === 'processes') {
    const { engines = 1 } = options;
    const platform = await startPlatform(workers, {
      DATABASE_URL: options.postgres?.url ?? 'none',
      HANDLER_PROCESSES: String(engines),
      HANDLER_SPARES: '0',
      WORKER_EGRESS_ALLOW: 'loopback',
      ...environment,
    });
    return Object.assign(platform, { engines });
  }
  const folder = await mkdtemp(join(tmpdir(), 'platform-test-'));
  await mkdir(join(folder, 'routes'));
  const { make, deploy } = deployInto(folder);
  for (const [name, code] of Object.entries(workers)) await deploy(name, code);
  const limits = limitsFrom(environment);
  const service =
    options.databases === false
      ? null
      : await startDatabases(limits.database, { directory: join(folder, 'databases') });
  const token = environment['PRIVATE_PORT_TOKEN'] ?? PRIVATE_TOKEN;
  const lines: LogRecord[] = [];
  const waiting: { matches: (line: LogRecord) => boolean; resolve: (line: LogRecord) => void }[] = [];
  const { log, ...logging } = openEngineLog(environment, {
    write(text) {
      const line = JSON.parse(text) as LogRecord;
      lines.push(line);
      for (const waiter of waiting) if (waiter.matches(line)) waiter.resolve(line);
    },
  });
  const engine = await createEngine({
    limits,
    egress: { loopback: true, private: false },
    cacheFolder: cacheFolder(process.env),
    blanks: 1,
  });
  const source = await openRouteFiles({ folder, onProblem: (problem) => log.error(problem, 'route file rejected') });
  const table = createRouteTable(['localhost']);
  const trustedProxies = (environment['TRUSTED_PROXIES'] ?? '').split(',').filter((entry) => entry !== '');
  const opened = await openEngineStores({
    environment: {
      ENGINE_SECRET: createHmac('sha256', 'of tests').update(folder).digest('hex'),
      ...(options.postgres !== undefined && { ENGINE_DATABASE_URL: options.postgres.engineUrl }),
      ...(service !== null && { DB_SERVICE_SOCKETS: dirname(service.service.socketPath) }),
      ...environment,
    },
    folder,
    limits,
    protocol: 'http',
    publicPort: null,
    trustedProxies,
    edgeToken: '',
    work: engine.work,
    log: (level, message) => log[level](message),
    passwordCost: 128,
    // The event loop of a test stands still for seconds on a busy machine, and a lapsed lease closes sockets.
    objectLeaseMs: 60_000,
  });
  const recent = new RecentLog({ bytesMax: limits.logKeptBytesMax, projectsMax: limits.logKeptProjectsMax });
  const recorder = new TelemetryRecorder(limits.telemetry, 1, createClientAddress(trustedProxies));
  const openArtifact = createArtifactSource(folder);
  const { onRequest } = logging;
  const handler = createHandler({
    engine,
    limits,
    protocol: 'http',
    publicPort: null,
    trustedProxies,
    matchRoute: (host) => table.match(host),
    passGate: opened.passGate,
    ...(opened.objectLeases !== null && { objectLeases: opened.objectLeases }),
    openArtifact,
    assets: createAssetServer(),
    stores: opened.stores,
    cache: opened.cache,
    databases: opened.databases,
    authRoutes: opened.authRoutes,
    signedFiles: opened.signedFiles,
    hostOf: (project) => `${project}.localhost`,
    namespaceOf: (project) => project,
    calledRoute: (project, branch) => table.called(project, branch),
    findDeployment: (id) => table.findDeployment(id),
    isProduction: (route) => table.isProduction(route),
    telemetry: recorder,
    ...logging,
    onLog(deployment, line) {
      logging.onLog(deployment, line);
      recent.line(deployment.project, deployment.id, line);
    },
    onRequest:
      onRequest === null
        ? null
        : (record) => {
            onRequest(record);
            recent.ended(record);
          },
  });
  const waits = new RouteWaits();
  const follow = (changes: RouteChanges): void => {
    handler.changeRoutes(changes);
    waits.changed();
  };
  follow(table.replace(source.routes));
  source.onChange((changes) => follow(table.change(changes)));
  const listener = await openNodeListener({
    port: 0,
    host: '127.0.0.1',
    limits,
    domains: ['localhost'],
    onExchange: handler.onExchange,
  });
  const reports = createEngineReports({
    engine,
    handler,
    listener: () => 'node',
    forwarded: () => 0,
    routes: () => table.size,
  });
  const socketPath = join(folder, 'engine.sock');
  const internal = await openInternal(socketPath, {
    ...internalRoutes({
      handler,
      reports,
      recent,
      isRouted: (project, hash) => (source.hashOf(project) ?? '') === hash,
      bodyBytesMax: limits.deliveryBytesMax,
    }),
    ...operationRoutes({
      handler,
      openArtifact,
      databases: opened.databases,
      stores: { ...opened.branchStores, sandboxes: null },
      resources: {
        databases: opened.databases,
        stores: opened.stores,
        objects: handler.objects,
        cron: opened.cron,
        cache: opened.cache,
        cacheEntryBytesMax: limits.cacheEntryBytesMax,
        folder,
        copiesMax: limits.database.snapshotsMax,
        namespaceOf: (project) => project,
      },
      dataBytesMax: limits.deliveryBytesMax + 64 * 1024,
      waitFor: (find) => waits.waitFor(find),
      findDeployment: (id) => table.findDeployment(id),
      routesOf: (project) => table.routesOf(project),
      isProduction: (route) => table.isProduction(route),
      snapshotsMax: limits.database.snapshotsMax,
      kept: opened.kept,
    }),
  });
  const usage = new UsageLedger();
  const telemetry = new TelemetryBuffer({
    heldBytesMax: limits.telemetry.heldBytesMax,
    unaskedMs: limits.telemetry.unaskedMs,
    onRecording(isOn) {
      if (isOn) recorder.isOn = true;
      else recorder.stop();
    },
  });
  const telling = setInterval(() => telemetry.add(recorder.take()), RECORDS_MS).unref();
  const startedAt = new Date().toISOString();
  const itself: EngineState = {
    id: 1,
    pid: process.pid,
    role: 'serving',
    state: 'listening',
    place: 0,
    startedAt,
    restarts: 0,
    rssBytes: 1,
    lostThreads: 0,
    load: 0,
    forwarded: 0,
    socketPath,
  };
  const privatePort = await openPrivatePort({
    settings: { port: 0, host: '127.0.0.1', token },
    localToken: randomBytes(32).toString('hex'),
    usage: {
      take(acknowledged) {
        usage.add(engine.usage.take());
        return usage.take(acknowledged);
      },
    },
    telemetry,
    version: '0.0.0',
    state: () => ({
      port: listener.port,
      startedAt,
      engines: [itself],
      quarantine: [],
      ledger: [],
      deaths: 0,
      lostRequests: 0,
      services: [],
    }),
    isStopping: () => false,
    metricsDeploymentsMax: limits.metricsDeploymentsMax,
    homes: (_deployment, places) => places,
    eventWallMs: limits.eventWallMs,
    bodyBytesMax: limits.deliveryBytesMax,
    deliveriesMax: limits.deliveriesMax,
  });
  const stopBroker =
    options.postgres === undefined
      ? null
      : await startBrokerHere(folder, environment, options.postgres.engineUrl, {
          origins: [`http://127.0.0.1:${privatePort.port}`],
          token,
        });
  const fetch: TestPlatform['fetch'] = (project, path = '/', given = {}) =>
    send(listener.port, `${project}.localhost`, path, given);
  return {
    folder,
    engines: 1,
    port: listener.port,
    privatePort: privatePort.port,
    deploy,
    fetch,
    build: async (...given) => (await make(...given)).id,
    ask: (path, body) =>
      send(privatePort.port, '127.0.0.1', path, {
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      }),
    async answers(project, text, path = '/') {
      await until(async () => (await fetch(project, path)).text === text);
    },
    async logged(matches) {
      return lines.find(matches) ?? new Promise((resolve) => waiting.push({ matches, resolve }));
    },
    async close() {
      await stopBroker?.();
      clearInterval(telling);
      telemetry.close();
      await privatePort.close();
      internal.closeAllConnections();
      internal.close();
      reports.close();
      source.close();
      await listener.close();
      handler.close();
      await engine.close();
      opened.close();
      await service?.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** As runtime/broker/main.ts starts it. @returns what ends it. */
async function startBrokerHere(
  folder: string,
  environment: Readonly<Record<string, string>>,
  url: string,
  address: { readonly origins: readonly string[]; readonly token: string },
): Promise<() => Promise<void>> {
  const { delivery: limits, cpu } = limitsFrom(environment);
  const stores = openEventsPostgres({ url, name: 'test broker', limits });
  const onProblem = ({ reason }: { reason: string }): void => {
    throw new Error(reason);
  };
  const routes = await openRouteFiles({ folder, onProblem });
  const access = { token: address.token, connectionsMax: limits.inFlightMax };
  const engines = createEngineDelivery(access, openHandlerAddresses(address.origins));
  const recipients = createRecipients({
    cron: stores.cron,
    lanes: stores.queue.lanes,
    manifestOf: (artifact) => artifactOf(folder, artifact).manifest,
    now: Date.now,
    onTrouble: (_project, error) => onProblem({ reason: error.message }),
  });
  const update = (): void => void recipients.update(routes.routes);
  update();
  routes.onChange(update);
  const presence = await stores.join(() => {});
  const broker = await startBroker({
    stores,
    wake: stores.wake,
    presence,
    nextTime,
    resolve: recipients.resolve,
    queues: recipients.queues,
    deliver: engines.deliver,
    cpu,
    limits,
    now: Date.now,
    random: Math.random,
    onEvent: () => {},
  });
  return async () => {
    routes.close();
    await broker.close(1000);
    await presence.close();
    await engines.close();
    await stores.close();
  };
}
