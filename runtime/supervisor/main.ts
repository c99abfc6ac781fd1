// Root of the handler's parent process: claims the port, starts services and engines, keeps the crash ledger, and
// stops everything gracefully. No tenant code runs here, and the supervisor does not depend on an engine's health.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { removedSettings } from '#core/removed-variables.ts';
import { logFormatFrom, logLevelFrom } from '#core/log/log-level.ts';
import { openLog } from '#core/log/log.ts';
import { lastBackup } from '#core/process/backup-runs.ts';
import { portFailureText } from '#core/process/handler-port.ts';
import { EXIT_CONFIGURATION, runProcess, type RunningProcess } from '#core/process/run-process.ts';
import { engineUrlOf } from '#postgres/engine-role.ts';
import { homes } from '../engine/cluster/homes.ts';
import { claimPlace } from './start/claim-place.ts';
import { handlersOf } from './machine/handlers.ts';
import { createOwnMachine } from './machine/own-machine.ts';
import { openOwnRecord } from './data-folder/local-record.ts';
import { privatePortToken } from './data-folder/private-port-token.ts';
import { supervisorConfig, type SupervisorConfig } from './engines/configuration.ts';
import { createEngineGroup, type EngineGroup } from './start/engine-group.ts';
import { engineSecret } from './engines/engine-secret.ts';
import { compileCache, engineEnvironment } from './engines/environment.ts';
import { openPrivatePort, type PrivatePort } from './private-port/private-port.ts';
import { routesAgeSeconds } from './services/routes-age.ts';
import { originOf, portFailure, privatePortSettings } from './private-port/settings.ts';
import type { SupervisorState } from './engines/state.ts';
import { UsageLedger } from './private-port/usage.ts';
import { startBackupSchedule } from './services/backup-schedule.ts';
import type { ControlState } from './services/control-service.ts';
import { databaseSockets } from './services/database-service.ts';
import { edgeToken } from './services/edge-service.ts';
import { createServiceGroups, type ServiceGroups } from './services/service-groups.ts';
import { startServices } from './services/start-services.ts';

/** Maximum path length of a Unix socket, minus the names added to the folder's. */
const SOCKET_PATH_MAX = 107 - '/platform-XXXXXX/ai-engines.sock'.length;

const log = openSupervisorLog();

await runProcess(log, (running) => start(supervisorConfig(process.env), running), {
  obeysSignals: true,
  onFailure(error) {
    log.fatal(portFailureText(error) ?? (error as Error).message);
    return EXIT_CONFIGURATION;
  },
});

/** Uses the default log settings if the variables are invalid: the start fails then, and the reason must be visible. */
function openSupervisorLog(): Logger {
  try {
    return openLog('supervisor', process.env);
  } catch {
    return openLog('supervisor', {});
  }
}

async function start(config: SupervisorConfig, running: RunningProcess): Promise<() => Promise<void>> {
  logLevelFrom(process.env);
  logFormatFrom(process.env, false);
  for (const line of removedSettings(process.env)) log.warn(line);
  const startedAt = new Date().toISOString();
  const { limits, folder, parts } = config;
  const serves = parts.has('handler');
  const place = await claimPlace(config, process.env, (reason) => {
    log.fatal(reason);
    process.exit(EXIT_CONFIGURATION);
  });
  const sockets = socketFolder();
  // The compile cache for services and engines: without it, compiling took half of an engine's start.
  const compiled = compileCache(process.env);
  if (compiled !== null) process.env['NODE_COMPILE_CACHE'] = compiled;
  const edgeSecret = edgeToken(process.env);
  const engineVariables = variablesOf(config, sockets, edgeSecret);
  const settings = privatePortSettings(process.env, () => privatePortToken(serves ? folder : ''));
  const localToken = randomBytes(32).toString('hex');
  const usage = new UsageLedger();
  const machine = createOwnMachine({
    environment: process.env,
    config,
    version: place.version,
    privateHost: settings?.host ?? null,
    log,
    stopEngines: () => group.engines.stop(),
    onServing: (upstreams, at) => services.caddy?.setHandlers(upstreams, at),
    edgeReadAt: () => services.caddy?.usedAt() ?? null,
    routesAgeSeconds: () => routesAgeSeconds(services.states()),
    onRefused(reason) {
      log.fatal(reason);
      running.stop(EXIT_CONFIGURATION);
    },
  });
  let privatePort: PrivatePort | null = null;
  let controlState: ControlState | null = null;
  /** Whether everything has been ready once. */
  let isUp = false;
  /** Resolves when an engine accepts requests, because edges send requests to announced handlers. */
  const listening = Promise.withResolvers<void>();

  // The record for commands of this user, which is written when requests are served.
  const record = openOwnRecord(
    process.env['PLATFORM_LOCAL_RECORD'] ?? '',
    () => ({
      folder,
      port: place.port,
      domain: config.domain,
      privateOrigin: settings === null || privatePort === null ? null : originOf(settings.host, privatePort.port),
      ...(controlState !== null && {
        apiOrigin: `http://localhost:${controlState.port}`,
        apiToken: controlState.firstRun.token,
      }),
      token: localToken,
      startedAt,
    }),
    (error) => log.warn({ error }, 'Local record not written: `platform deploy` will not find this platform'),
  );
  const group = createEngineGroup({
    config,
    port: place.port,
    socket: place.socket,
    environment: engineVariables,
    sockets,
    ledgerFolder: place.ledgerFolder,
    usage,
    log,
    onListening(engine) {
      place.shared();
      listening.resolve();
      record.leave();
      process.send?.({
        type: 'listening',
        port: place.port,
        pid: engine.pid,
        listener: engine.listener,
        privatePort: privatePort?.port ?? null,
        hasControl: services.control.states().length > 0,
      });
    },
    onFatal: running.stop,
    onWantService: (name) => services.base.want(name),
    onReport: (engine, report) => privatePort?.keepLastReport(engine, report),
  });
  const backups = parts.has('backups') && folder !== '' ? startBackupSchedule(process.env, folder) : null;
  const services = createServiceGroups({
    environment: process.env,
    config,
    sockets,
    port: place.port,
    edgeSecret,
    engineVariables,
    hasPrivatePort: settings !== null,
    handlers: () => ({
      ...handlersOf(
        process.env['API_HANDLER_URL']?.trim() ?? '',
        serves ? originOf(settings!.host, privatePort!.port) : null,
        machine.origin(privatePort?.port ?? null),
      ),
      token: settings!.token,
    }),
    log,
    onControl(state) {
      controlState = state;
      record.refresh();
    },
    onSites: (control, web) => process.send?.({ ...control, ...web, type: 'control' }),
  });
  const { engines, watch, telemetry } = group;
  const close = async (): Promise<void> => {
    record.remove();
    watch.stop();
    const left = machine.close();
    backups?.stop();
    await services.edge.stop();
    await services.sandboxes.stop();
    await services.control.stop();
    await engines.stop();
    await left;
    await services.mirror.stop();
    await services.base.stop();
    telemetry.close();
    await privatePort?.close();
  };
  running.closeWith(close);
  const state = (): SupervisorState => ({
    port: place.port,
    startedAt,
    engines: engines.states(),
    ...watch.state(),
    services: services.states(),
  });
  obeyParent(group, state);

  if (settings !== null) {
    privatePort = await openPrivatePort({
      settings,
      localToken,
      usage,
      telemetry,
      version: place.version,
      state,
      isStopping: () => running.isStopping || machine.isDraining,
      ...(serves ? {} : { isReady: () => isUp }),
      edgeMetricsSocket: services.edgeMetricsSocket,
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
  isUp = await startAll({
    config,
    group,
    services,
    engineVariables,
    running,
    leaveRecord: place.leaveRecord,
    announce() {
      if (!serves) listening.resolve();
      void listening.promise.then(() => {
        const url = services.ownerUrl();
        if (url === '' || running.isStopping) return;
        machine.start({
          url,
          port: place.port,
          privatePort: privatePort?.port ?? null,
          services: services.states().map(({ name }) => name),
        });
      });
    },
  });
  return close;
}

/** A private folder, which is removed at the exit. */
function socketFolder(): string {
  const sockets = mkdtempSync(join(tmpdir().length <= SOCKET_PATH_MAX ? tmpdir() : '/tmp', 'platform-'));
  process.on('exit', () => rmSync(sockets, { recursive: true, force: true }));
  return sockets;
}

/** Variables of engines that are known before services start. */
function variablesOf(config: SupervisorConfig, sockets: string, edgeSecret: string): Record<string, string> {
  const { folder, parts, engineMemoryMb } = config;
  return {
    ...engineEnvironment(process.env),
    ...(edgeSecret !== '' && { EDGE_TOKEN: edgeSecret }),
    ...databaseSockets(process.env, sockets),
    ...(folder !== '' && parts.has('handler') && { ENGINE_SECRET: engineSecret(process.env, folder) }),
    ENGINE_MEMORY_MB: String(engineMemoryMb),
  };
}

/** Answers a parent process that asks for the state, or requests the replacement of an engine. */
function obeyParent({ engines, watch }: EngineGroup, state: () => SupervisorState): void {
  process.on('message', (message: { type?: string; engine?: number; reason?: string }) => {
    if (message.type === 'state') process.send?.({ type: 'state', state: state() });
    const engine = message.type === 'recycle' ? engines.serving().find(({ id }) => id === message.engine) : undefined;
    if (engine !== undefined) watch.recycle(engine, message.reason ?? 'it was asked for', null);
  });
}

/** Starts the mirror; if that fails, engines still serve the content of the folder. */
async function startMirror(services: ServiceGroups): Promise<void> {
  await services.mirror.start().catch((error: Error) => {
    log.error({ error: error.message }, 'Routes of other machines are not updated: the mirror does not start');
  });
}

/** Starts processes in their order, and returns whether everything is up. */
async function startAll(deps: {
  readonly config: SupervisorConfig;
  readonly group: EngineGroup;
  readonly services: ServiceGroups;
  readonly engineVariables: Record<string, string>;
  readonly running: RunningProcess;
  readonly leaveRecord: () => void;
  /** Announces this machine to the others. */
  readonly announce: () => void;
}): Promise<boolean> {
  const { config, group, services, engineVariables, running } = deps;
  await services.edge.start();
  const cacheUrl = process.env['CACHE_URL']?.trim() ?? '';
  if (cacheUrl !== '' && engineVariables['ENGINE_CACHE_URL'] === undefined) {
    const { openCacheUser } = await import('./services/cache-user.ts');
    engineVariables['ENGINE_CACHE_URL'] = await openCacheUser(cacheUrl);
  }
  const databaseUrl = process.env['DATABASE_URL']?.trim() ?? '';
  let isServing = false;
  const hasStarted = await startServices({
    services: services.base,
    folder: config.folder,
    databaseUrl,
    log,
    isStopping: () => running.isStopping,
    serve() {
      // `||=`, because in a container, a variable that is not set may be an empty text.
      engineVariables['ENGINE_DATABASE_URL'] ||= engineUrlOf(databaseUrl);
      void startMirror(services);
      group.engines.start();
      isServing = true;
    },
  });
  if (!hasStarted) return false;
  deps.leaveRecord();
  if (!isServing) {
    await startMirror(services);
    if (running.isStopping) return false;
    group.engines.start();
  }
  deps.announce();
  try {
    await services.control.start();
  } catch (error) {
    if (!running.isStopping) {
      log.fatal((error as Error).message);
      running.stop(EXIT_CONFIGURATION);
    }
    return false;
  }
  try {
    await services.sandboxes.start();
  } catch (error) {
    if (running.isStopping) return false;
    log.error({ error: (error as Error).message }, 'Sandboxes are not available: the service does not start');
    // Whether this supervisor runs only sandboxes.
    const isAlone =
      !config.parts.has('handler') && services.base.states().length + services.control.states().length === 0;
    if (isAlone) running.stop(EXIT_CONFIGURATION);
    return !isAlone;
  }
  return true;
}
