// Root of the handler's parent process: claims the port, starts services and engines, keeps the crash ledger, and
// stops everything gracefully. No tenant code runs here, and nothing here depends on an engine's health.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { goneSettings } from '#core/gone-variables.ts';
import { logFormatFrom, logLevelFrom } from '#core/log/log-level.ts';
import { lastBackup } from '#core/process/backup-runs.ts';
import { cacheFolder } from '#core/process/cache-folder.ts';
import { migrationsExecutorFrom } from '#core/migrations-executor.ts';
import { engineUrlOf } from '#postgres/engine-role.ts';
import { homes } from '../engine/cluster/homes.ts';
import { openLog } from '#core/log/log.ts';
import { supervisorConfig, type SupervisorConfig } from './engines/configuration.ts';
import { databaseService, databaseSockets } from './services/database-service.ts';
import { EngineProcess } from './engines/engine-process.ts';
import { Engines } from './engines/engines.ts';
import { engineSecret } from './engines/engine-secret.ts';
import { compileCache, engineEnvironment } from './engines/environment.ts';
import { builderService } from './services/builder-service.ts';
import { controlService, hasControl, type ControlState } from './services/control-service.ts';
import { edgeService, edgeToken } from './services/edge-service.ts';
import { eventServices } from './services/event-services.ts';
import { engineAi, gatewayService, gatewaySockets, hasGateway, operatorAiOf } from './services/gateway-service.ts';
import { migratorService } from './services/migrator-service.ts';
import { privatePortToken } from './data-folder/private-port-token.ts';
import { removeLocalRecord, writeLocalRecord } from './data-folder/local-record.ts';
import {
  checkDataFolder,
  leaveFirstRecord,
  leaveRecord as leavePlatformRecord,
} from './data-folder/platform-record.ts';
import { claimFolder } from './data-folder/folder-claim.ts';
import { keepPrivate } from './data-folder/private-folders.ts';
import { startBackupSchedule } from './services/backup-schedule.ts';
import { claimPort } from './engines/port.ts';
import { openPrivatePort, type PrivatePort } from './private-port/private-port.ts';
import { TelemetryBuffer } from './private-port/telemetry.ts';
import { UsageLedger } from './private-port/usage.ts';
import { originOf, portFailure, privatePortSettings } from './private-port/settings.ts';
import { EngineWatch } from './quarantine/watch.ts';
import { Services, type ServiceHooks, type ServiceSpec } from './services/services.ts';
import { engineSandboxes } from './services/sandbox-access.ts';
import { apiAiUrl, runsSandboxes, sandboxService } from './services/sandbox-service.ts';
import { serverParts } from './services/ssr-service.ts';
import { startServices } from './services/start-services.ts';
import { webService } from './services/web-service.ts';
import type { SupervisorState } from './private-port/state.ts';
import { EXIT_CONFIGURATION } from '#core/process/run-process.ts';

/** Maximum path length of a Unix socket, minus the names added to the folder's. */
const SOCKET_PATH_MAX = 107 - '/platform-XXXXXX/ai-engines.sock'.length;

const log = openSupervisorLog();
const script = join(import.meta.dirname, `../engine/main${import.meta.filename.endsWith('.ts') ? '.ts' : '.js'}`);

try {
  await start(supervisorConfig(process.env));
} catch (error) {
  const { code, message } = error as NodeJS.ErrnoException;
  log.fatal(
    code === 'EADDRINUSE'
      ? `Port ${process.env['HANDLER_PORT'] ?? ''} is taken: stop what listens there, or set HANDLER_PORT`
      : message,
  );
  process.exit(EXIT_CONFIGURATION);
}

/** Defaults if its variables are invalid: then the start fails, and the reason has to be visible. */
function openSupervisorLog(): Logger {
  try {
    return openLog('supervisor', process.env);
  } catch {
    return openLog('supervisor', {});
  }
}

async function start(config: SupervisorConfig): Promise<void> {
  logLevelFrom(process.env);
  logFormatFrom(process.env, false);
  for (const line of goneSettings(process.env)) log.warn(line);
  const startedAt = new Date().toISOString();
  const { limits, folder } = config;
  const { parts } = config;
  const serves = parts.has('handler');
  const claimed = serves ? await claimPort(config.host, config.port) : { port: config.port };
  if (folder !== '') keepPrivate(folder);
  if (folder !== '' && parts.has('databases')) {
    const release = await claimFolder(folder, {
      onLost(reason) {
        log.fatal(reason);
        process.exit(EXIT_CONFIGURATION);
      },
    });
    process.on('exit', release);
  }
  // With the lock, so that no restore begins afterwards.
  if (folder !== '') checkDataFolder(process.env, folder);
  const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };
  const about = { version, program: join(import.meta.dirname, '../..') };
  if (folder !== '' && parts.has('databases')) leaveFirstRecord(process.env, folder, about);
  // One of several handlers on the folder keeps its own ledger.
  const ledgerFolder = folder === '' || parts.has('databases') ? folder : cacheFolder(process.env);
  const sockets = mkdtempSync(join(tmpdir().length <= SOCKET_PATH_MAX ? tmpdir() : '/tmp', 'platform-'));
  process.on('exit', () => rmSync(sockets, { recursive: true, force: true }));
  let stopping = false;
  /** Everything has been ready once. */
  let isUp = false;
  let privatePort: PrivatePort | null = null;

  // For services and engines: compiling took half of an engine's start.
  const compiled = compileCache(process.env);
  if (compiled !== null) process.env['NODE_COMPILE_CACHE'] = compiled;
  const edgeSecret = edgeToken(process.env);
  const environment: Record<string, string> = {
    ...engineEnvironment(process.env),
    ...(edgeSecret !== '' && { EDGE_TOKEN: edgeSecret }),
    ...databaseSockets(process.env, sockets),
    ...(folder === '' || !serves ? {} : { ENGINE_SECRET: engineSecret(process.env, folder) }),
    ENGINE_MEMORY_MB: String(config.engineMemoryMb),
  };
  const usage = new UsageLedger();
  const telemetry = new TelemetryBuffer({
    heldBytesMax: limits.telemetry.heldBytesMax,
    unaskedMs: limits.telemetry.unaskedMs,
    onRecording: (isOn) => engines.broadcast({ type: 'recording', isOn }),
  });
  const backups = parts.has('backups') && folder !== '' ? startBackupSchedule(process.env, folder) : null;
  const watch = new EngineWatch({ engines: () => engines, limits, ledgerFolder, log });
  const engines: Engines = new Engines({
    create: (deps) =>
      new EngineProcess({
        ...deps,
        script,
        environment,
        sockets,
        onExit(engine, code, signal) {
          deps.onExit(engine, code, signal);
          watch.exited(engine, signal);
        },
        onClosed(engine) {
          deps.onClosed(engine);
          watch.closed(engine);
        },
      }),
    processes: config.processes,
    spares: config.spares,
    port: claimed.port,
    drainMs: limits.drainMs,
    onChange: () => watch.tell(),
    onAssigned(engine) {
      engine.send(watch.clusterState());
      if (!telemetry.isOn) engine.send({ type: 'recording', isOn: false });
    },
    onListening(engine) {
      if (typeof engine.place === 'string') watch.serving(engine.place);
      else {
        leaveRecord();
        process.send?.({
          type: 'listening',
          port: claimed.port,
          pid: engine.pid,
          privatePort: privatePort?.port ?? null,
          hasControl: control.states().length > 0,
        });
      }
    },
    onDeath: (engine, code, signal, delayMs) => watch.died(engine, code, signal, delayMs),
    onFatal: (code) => void stop(code),
    onMessage(engine, message) {
      if (message.type === 'note') {
        if (message.served > engine.served) engine.lastServedAt = Date.now();
        const { running, load, served, forwarded, lostThreads } = message;
        Object.assign(engine, { running, load, served, forwarded, lostThreads });
        if (typeof engine.place === 'string') watch.served(engine.place, served);
      } else if (message.type === 'want') watch.want(message.deployment);
      else if (message.type === 'want-service') services.want(message.service);
      else if (message.type === 'report') privatePort?.keepLastReport(engine.id, message.report);
      else if (message.type === 'usage') usage.add(message.rows);
      else if (message.type === 'telemetry') telemetry.add(message.records);
      else if (message.type === 'lost-thread') watch.lostThread(engine, message);
      else if (message.type === 'recycle') watch.recycle(engine, message.reason, message.blamed);
    },
  });
  const settings = privatePortSettings(process.env, () => privatePortToken(serves ? folder : ''));
  const localToken = randomBytes(32).toString('hex');
  let edgeMetricsSocket: string | null = null;
  let ownerUrl = '';
  let sandboxUrl = process.env['SANDBOX_DATABASE_URL']?.trim() ?? '';
  let controlState: ControlState | null = null;
  /** Handlers for the API and the broker: here, or elsewhere. */
  const handlers = (): { urls: string; token: string } => ({
    urls: serves ? originOf(settings!.host, privatePort!.port) : (process.env['API_HANDLER_URL'] ?? ''),
    token: settings!.token,
  });
  const hasDatabase = parts.has('broker') || parts.has('api');
  const ofDatabase =
    hasDatabase || (serves && process.env['DATABASE_URL'])
      ? eventServices({
          environment: process.env,
          folder,
          onEngineUrl: (url) => (environment['ENGINE_DATABASE_URL'] = url),
          onOwnerUrl: (url) => (ownerUrl = url),
          onSandboxUrl: (url) => (sandboxUrl = url),
          delivers: settings !== null && parts.has('broker'),
          handlers,
        })
      : [];
  const aiSockets = gatewaySockets(sockets);
  const runsGateway = ofDatabase.length > 0 && (serves || parts.has('api')) && hasGateway(process.env);
  Object.assign(environment, engineAi(process.env, runsGateway ? aiSockets : null), engineSandboxes(process.env));
  const servers = serverParts(process.env, { parts, folder, sockets, limits });
  Object.assign(environment, servers.engineEnvironment);
  const specs: ServiceSpec[] = [
    ...(parts.has('databases') ? [databaseService(process.env, folder, sockets)] : []).filter((spec) => spec !== null),
    ...ofDatabase,
    ...(runsGateway
      ? [
          gatewayService({
            environment: process.env,
            folder,
            sockets: aiSockets,
            databaseUrl: () => ownerUrl,
            drainMs: limits.gateway.drainMs,
          }),
        ]
      : []),
    ...servers.specs,
  ];
  const hooks: ServiceHooks = {
    onDeath: (service, code, signal, delayMs) =>
      log.error({ service, code, signal, delayMs }, 'Service exited: restarting'),
    onReady: (service) => log.info({ service }, 'Service ready'),
    onFailure: (service, { message }) => log.error({ service, error: message }, 'Service does not start'),
  };
  const services = new Services(specs, hooks);
  // Started last, and stopped first: requests are served without it.
  const runsControl = settings !== null && parts.has('api') && (parts.isChosen || hasControl(process.env, folder));
  // Releases wait for it.
  const runsMigrator =
    migrationsExecutorFrom(process.env) === 'migrator' && parts.has('migrator') && (parts.isChosen || runsControl);
  const runsBuilder = parts.has('builder') && (parts.isChosen || runsControl);
  const webHop = { socket: join(sockets, 'api'), token: randomBytes(32).toString('hex') };
  // With an API of this supervisor, or of another one.
  const web =
    parts.has('web') && (runsControl || parts.isChosen)
      ? webService({
          environment: process.env,
          hop: runsControl ? webHop : null,
          onReady: (state) => process.send?.({ ...controlState, ...state, type: 'control' }),
        })
      : null;
  // Started before engines, for which its requests wait: it also serves while the database is unavailable.
  const edge = new Services(
    (parts.has('edge')
      ? [
          edgeService({
            environment: process.env,
            folder,
            port: claimed.port,
            token: edgeSecret,
            onMetricsSocket: (path) => (edgeMetricsSocket = path),
          }),
        ]
      : []
    ).filter((spec) => spec !== null),
    hooks,
  );
  const control = new Services(
    [
      ...(runsControl
        ? [
            controlService({
              webHop: web === null ? null : webHop,
              aiSocket: runsGateway ? aiSockets.tokens : null,
              operatorAi: runsGateway ? operatorAiOf(process.env) : null,
              edgeToken: edgeSecret,
              environment: process.env,
              folder,
              databaseUrl: () => ownerUrl,
              handlers,
              onReady(state) {
                controlState = state;
                const hasLeft = hasLeftRecord;
                hasLeftRecord = false;
                if (hasLeft) leaveRecord();
                if (web === null) process.send?.({ ...state, uiPort: null, docsPort: null, type: 'control' });
              },
              onWant(service) {
                // A builder elsewhere detects builds by itself.
                if (runsBuilder && !control.want(service)) log.warn({ service }, 'Service unknown');
              },
            }),
          ]
        : []),
      ...(runsMigrator
        ? [
            migratorService({
              environment: process.env,
              folder,
              sockets: parts.has('databases') ? databaseSockets(process.env, sockets) : {},
              databaseUrl: () => ownerUrl || (process.env['DATABASE_URL'] ?? ''),
            }),
          ]
        : []),
      ...(runsBuilder
        ? [
            builderService({
              environment: process.env,
              folder,
              port: claimed.port,
              databaseUrl: () => ownerUrl || (process.env['DATABASE_URL'] ?? ''),
              stays: !runsControl,
              runsServers: servers.specs.length > 0,
            }),
          ]
        : []),
      ...(web === null ? [] : [web]),
    ],
    hooks,
  );

  // Separate: without its container engine everything else is served.
  const sandboxes = new Services(
    runsSandboxes(process.env, parts.has('sandbox'), parts.isChosen)
      ? [
          sandboxService({
            environment: process.env,
            folder,
            databaseUrl: () => sandboxUrl,
            aiUrl: runsControl && runsGateway ? apiAiUrl(process.env) : null,
          }),
        ]
      : [],
    hooks,
  );

  const localRecord = process.env['PLATFORM_LOCAL_RECORD'] ?? '';
  let hasLeftRecord = false;
  /** For commands of this user, once requests are served. */
  function leaveRecord(): void {
    if (localRecord === '' || stopping || hasLeftRecord) return;
    hasLeftRecord = true;
    const privateOrigin = settings === null || privatePort === null ? null : originOf(settings.host, privatePort.port);
    try {
      const where = { folder, port: claimed.port, domain: config.domain, privateOrigin };
      const api =
        controlState === null
          ? {}
          : { apiOrigin: `http://localhost:${controlState.port}`, apiToken: controlState.firstRun.token };
      writeLocalRecord(localRecord, { version: 1, pid: process.pid, ...where, ...api, token: localToken, startedAt });
    } catch (error) {
      log.warn(
        { error: (error as Error).message },
        'Local record not written: `platform deploy` will not find this platform',
      );
    }
  }

  const state = (): SupervisorState => ({
    port: claimed.port,
    startedAt,
    engines: engines.states(),
    ...watch.state(),
    services: [...services.states(), ...control.states(), ...sandboxes.states(), ...edge.states()],
  });

  const stop = async (code: number): Promise<void> => {
    if (stopping) process.exit(1);
    stopping = true;
    if (localRecord !== '') removeLocalRecord(localRecord);
    watch.stop();
    backups?.stop();
    await edge.stop();
    await sandboxes.stop();
    await control.stop();
    await engines.stop();
    await services.stop();
    telemetry.close();
    await privatePort?.close();
    process.exit(code);
  };
  process.on('SIGTERM', () => void stop(0));
  process.on('SIGINT', () => void stop(0));
  process.on('disconnect', () => void stop(0));
  process.on('message', (message: { type?: string; engine?: number; reason?: string }) => {
    if (message.type === 'state') process.send?.({ type: 'state', state: state() });
    const engine = message.type === 'recycle' ? engines.serving().find(({ id }) => id === message.engine) : undefined;
    if (engine !== undefined) watch.recycle(engine, message.reason ?? 'it was asked for', null);
  });

  if (settings !== null) {
    privatePort = await openPrivatePort({
      settings,
      localToken,
      usage,
      telemetry,
      version,
      state,
      isStopping: () => stopping,
      ...(serves ? {} : { isReady: () => isUp }),
      edgeMetricsSocket: () => edgeMetricsSocket,
      metricsDeploymentsMax: limits.metricsDeploymentsMax,
      want: (deployment) => watch.want(deployment),
      ...(backups !== null && { backups: () => lastBackup(folder) }),
      homes: (deployment, places) => homes(deployment, places, places.length),
      eventWallMs: limits.eventWallMs,
      bodyBytesMax: limits.deliveryBytesMax,
      deliveriesMax: limits.deliveriesMax,
    }).catch((error: NodeJS.ErrnoException) => {
      throw portFailure(settings, error);
    });
    log.info({ port: privatePort.port, host: settings.host }, 'Private port listening');
  }

  await edge.start();
  const cacheUrl = process.env['CACHE_URL']?.trim() ?? '';
  if (cacheUrl !== '' && environment['ENGINE_CACHE_URL'] === undefined) {
    const { openCacheUser } = await import('./services/cache-user.ts');
    environment['ENGINE_CACHE_URL'] = await openCacheUser(cacheUrl);
  }
  const databaseUrl = process.env['DATABASE_URL']?.trim() ?? '';
  let isServing = false;
  const hasStarted = await startServices({
    services,
    folder,
    databaseUrl,
    log,
    isStopping: () => stopping,
    serve() {
      environment['ENGINE_DATABASE_URL'] ??= engineUrlOf(databaseUrl);
      engines.start();
      isServing = true;
    },
  });
  if (!hasStarted) return;
  if (folder !== '' && parts.has('databases')) leavePlatformRecord(process.env, folder, about);
  if (!isServing) engines.start();
  try {
    await control.start();
  } catch (error) {
    if (stopping) return;
    log.fatal((error as Error).message);
    await stop(EXIT_CONFIGURATION);
  }
  try {
    await sandboxes.start();
  } catch (error) {
    const { message } = error as Error;
    if (stopping) return;
    log.error({ error: message }, 'Sandboxes are not available: the service does not start');
    if (!serves && services.states().length + control.states().length === 0)
      return void (await stop(EXIT_CONFIGURATION));
  }
  isUp = true;
}
