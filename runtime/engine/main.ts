// Root of an engine process: the only reader of the environment in the runtime. Started by supervisor/main.ts.
import { randomBytes } from 'node:crypto';
import { errorMessage } from '#core/errors.ts';
import { Failure, isFailure } from '#core/failure.ts';
import { REFUSED_STATUS } from '#core/object-address.ts';
import { exposedNameOf } from '#core/sandbox/exposed-port.ts';
import { cacheFolder } from '#core/process/cache-folder.ts';
import { createArtifactSource } from '#artifacts/artifact-source.ts';
import { openRouteFiles } from '#artifacts/route-source-files.ts';
import { portFailureText } from '#core/process/handler-port.ts';
import { EXIT_CONFIGURATION, runProcess, type RunningProcess } from '#core/process/run-process.ts';
import { keepPrivate } from '../supervisor/data-folder/private-folders.ts';
import { createEngine } from './serving/engine.ts';
import { openEngineStores, type EngineStores } from './process/stores.ts';
import { openEngineLog, type EngineLog } from './process/log.ts';
import { createSandboxTransport, type SandboxTransport } from './bindings/sandbox-transport.ts';
import { createAiOrigin, createAiSocket, type AiAddress } from './bindings/ai-transport.ts';
import { Forwarder } from './cluster/forwarder.ts';
import { Placement } from './cluster/placement.ts';
import { linkOf } from './cluster/engine-link.ts';
import { createEngineReports } from './process/reports.ts';
import { createHandler } from './handler.ts';
import type { HostWork } from './work/host-work.ts';
import { createLastResort } from './process/uncaught-errors.ts';
import { RecentLog } from './process/recent-log.ts';
import { RouteWaits } from './process/route-waits.ts';
import { failed, failureResponse, type Outcome } from './invocation/outcome.ts';
import { createClientAddress, createClientHeaders } from './http/client-address.ts';
import { createExposedPorts, type ExposedPorts } from './servers/exposed-ports.ts';
import { sendFailure } from './http/error-pages.ts';
import { publicOrigin } from './http/public-origin.ts';
import { createPlatformHosts } from './http/platform-hosts.ts';
import { createRouteTable, type RouteChanges } from './router/route-table.ts';
import { createAssetServer } from './assets/assets.ts';
import { engineRoutes } from './process/engine-routes.ts';
import { serveEngine } from './process/serve-engine.ts';
import type { Exchange, Listener } from './http/listener.ts';
import type { LostThreads } from './isolates/lost-threads.ts';
import { engineConfig, type EngineConfig } from './process/configuration.ts';
import { createAppEvents } from './servers/app-events.ts';
import { openBindingCalls } from './servers/binding-calls.ts';
import { preparedByMigrator } from './serving/database-preparation.ts';
import { ServerLink } from './servers/server-link.ts';
import { startSupervisorMessages } from './process/supervisor-messages.ts';
import { TelemetryRecorder } from './telemetry/recorder.ts';

const { log, ...logging } = openLog();

/** Set when the engine runs. */
let lostThreads: LostThreads | null = null;

await runProcess(log, start, { obeysSignals: true, onFailure, exit: end });

/** The process is killed, because a normal exit would wait for a lost thread, which does not end. */
function end(code: number): never {
  if (lostThreads?.isEmpty === false) process.kill(process.pid, 'SIGKILL');
  process.exit(code);
}

function onFailure(error: unknown): number {
  const { code, message } = error as NodeJS.ErrnoException;
  if (isFailure(error, 'configuration') || code === 'EADDRINUSE' || code === 'EACCES') {
    log.fatal(portFailureText(error) ?? message);
    return EXIT_CONFIGURATION;
  }
  log.fatal(error);
  return 1;
}

function openLog(): EngineLog {
  try {
    return openEngineLog(process.env);
  } catch (error) {
    openEngineLog({}).log.fatal((error as Error).message);
    return process.exit(EXIT_CONFIGURATION);
  }
}

/** Invalid options of the stores are configuration errors. */
async function openStores(
  { folder, limits, protocol, publicPort, trustedProxies, edgeToken, supervision }: EngineConfig,
  work: HostWork,
): Promise<EngineStores> {
  try {
    return await openEngineStores({
      environment: process.env,
      folder,
      limits,
      protocol,
      publicPort,
      trustedProxies,
      edgeToken,
      work,
      link: supervision === null ? '' : linkOf(supervision),
      log: (level, message) => log[level](message),
    });
  } catch (error) {
    throw new Failure('configuration', (error as Error).message);
  }
}

async function start(running: RunningProcess): Promise<() => Promise<void>> {
  const config = engineConfig(process.env);
  if (config.supervision === null) keepPrivate(config.folder);
  let listeningPort = config.port;
  const hostOf = (name: string): string => `${name}.${config.domains[0]}${portSuffixOf(config)}`;
  const sandboxes = sandboxesOf(config, hostOf('*'));
  const engine = await createEngine({
    limits: config.limits,
    egress: config.egress,
    nameServers: config.nameServers,
    ...aiOf(config),
    sandboxes,
    platformHosts: createPlatformHosts({
      has: (target) =>
        appEvents.has(target) ||
        (isOwnAddress(target, config, listeningPort) &&
          (table.find(target.hostname) !== null || (sandboxes !== null && exposedNameOf(target.hostname) !== null))),
      serve: (exchange) =>
        appEvents.has(new URL(`http://${exchange.host}`)) ? appEvents.serve(exchange) : handler.onExchange(exchange),
      domains: config.domains,
      bodyBytesMax: config.limits.bodyBytesMax,
    }),
    cacheFolder: cacheFolder(process.env),
    blanks: 2,
    crashDescriptor: config.supervision?.crashFd ?? -1,
  });
  ({ lostThreads } = engine);
  const source = await openRouteFiles({
    folder: config.folder,
    onProblem: (problem) => log.error(problem, 'route file rejected'),
  });
  const table = createRouteTable(config.domains);
  let place: number | null = null;
  const serveHere = (key: string, exchange: Exchange): void => {
    if (!handler.serveHere(key, exchange))
      answerFailure(exchange, failed('deployment_unavailable', { deployment: key, reason: 'it is gone' }));
  };
  const { forwarder, placement } = joinCluster(config, () => place, serveHere);
  const opened = await openStores(config, engine.work);
  const { stores, cache, signedFiles, authRoutes, databases, passGate, eventsKey } = opened;
  const appEvents = createAppEvents({
    secret: eventsKey,
    serveHere,
    refuse: (exchange) => answerFailure(exchange, failed('deployment_not_found', { deployment: exchange.host })),
  });
  const recent = new RecentLog({
    bytesMax: config.limits.logKeptBytesMax,
    projectsMax: config.limits.logKeptProjectsMax,
  });
  const telemetry = new TelemetryRecorder(
    config.limits.telemetry,
    config.traceSampleRate,
    createClientAddress(config.trustedProxies, config.edgeToken),
  );
  if (config.supervision === null) telemetry.stop();
  const openArtifact = createArtifactSource(config.folder);
  const callsPath = bindingCallsPath(config);
  const servers = new ServerLink({
    socket: config.ssrSocket,
    calls: callsPath,
    want: () => process.send?.({ type: 'want-service', service: 'ssr' }),
  });
  const handler = createHandler({
    engine,
    limits: config.limits,
    protocol: config.protocol,
    publicPort: config.publicPort,
    trustedProxies: config.trustedProxies,
    edgeToken: config.edgeToken,
    matchRoute: (host) => table.match(host),
    ...(sandboxes === null ? {} : { exposedPorts: exposedPortsOf(config, sandboxes) }),
    passGate,
    openArtifact,
    assets: createAssetServer(),
    stores,
    cache,
    databases:
      databases !== null && config.migrationsExecutor === 'migrator' ? preparedByMigrator(databases) : databases,
    authRoutes,
    signedFiles,
    hostOf,
    namespaceOf: (project) => project,
    calledRoute: (project, branch) => table.called(project, branch),
    findDeployment: (id) => table.findDeployment(id),
    ...(opened.objectLeases === null ? {} : { objectLeases: opened.objectLeases }),
    ...(config.supervision === null
      ? {}
      : {
          forwardObject: (link: string, key: string, exchange: Exchange) =>
            forwarder.forward(link, key, exchange, { inFlight: 0 }),
        }),
    isProduction: (route) => table.isProduction(route),
    ...(config.supervision === null ? {} : { remoteOf: placement.remoteOf.bind(placement) }),
    compilesAhead: true,
    servers,
    appVariablesOf: (route) => appEvents.variablesOf(route),
    telemetry,
    ...withRecent(recent),
  });
  const bindingCalls =
    config.ssrSocket === ''
      ? null
      : await openBindingCalls({
          path: callsPath,
          bodyBytesMax: config.limits.bodyBytesMax,
          call: (key, exchange) => handler.call(key, exchange),
        });
  const waits = new RouteWaits();
  const follow = (changes: RouteChanges): void => {
    for (const conflict of changes.conflicts) log.error(conflict, 'host claimed by two projects');
    handler.changeRoutes(changes);
    waits.changed();
  };
  follow(table.replace(source.routes));
  source.onChange((changes) => follow(table.change(changes)));

  let technology: Listener['technology'] | null = null;
  const reports = createEngineReports({
    engine,
    handler,
    listener: () => technology,
    forwarded: () => forwarder.count,
    routes: () => table.size,
  });
  const messages = startSupervisorMessages(engine, telemetry);
  const routes = engineRoutes({
    config,
    handler,
    stores: opened,
    sandboxes,
    openArtifact,
    table,
    waits,
    recent,
    reports,
    isRouted: (project, hash) => (source.hashOf(project) ?? '') === hash,
  });
  const finish = async (): Promise<void> => {
    source.close();
    handler.close();
    servers.close();
    bindingCalls?.close();
    reports.close();
    await messages.close(reports.metrics());
    await engine.close();
    opened.close();
    end(0);
  };
  const drain = await serveEngine({
    config,
    engine,
    handler,
    forwarder,
    placement,
    routes,
    telemetry,
    onAssigned: (assigned) => (place = assigned),
    onListening(listener, reason) {
      ({ technology, port: listeningPort } = listener);
      const { snapshotBytes } = engine;
      log.info(
        { port: listener.port, listener: technology, snapshotBytes, ...(reason !== null && { reason }) },
        'engine listening',
      );
    },
    onFailure: (error) => end(onFailure(error)),
    finish,
  });
  process.on(
    'uncaughtException',
    createLastResort({
      isSupervised: () => config.supervision !== null && process.connected && !running.isStopping,
      askForReplacement: (reason) => process.send?.({ type: 'recycle', reason, blamed: null }),
      log: (error) => log.fatal(error),
      end: () => end(1),
    }),
  );
  // If the supervisor was killed while this engine started, it cannot stop the engine.
  if (config.supervision !== null && !process.connected) running.stop();
  // `finish` ends the process, even while the engine drains on request of the supervisor.
  return async () => {
    await drain();
    await new Promise<never>(() => {});
  };
}

function joinCluster(
  config: EngineConfig,
  place: () => number | null,
  serveHere: (key: string, exchange: Exchange) => void,
): { readonly forwarder: Forwarder; readonly placement: Placement } {
  const forwarder = new Forwarder({
    serveHere,
    answerLost: (exchange) => answerFailure(exchange, failed('engine_lost')),
  });
  const placement = new Placement({
    place,
    forwarder,
    forwardsMax: config.limits.forwardsMax,
    requestEngine: (deployment) => process.send?.({ type: 'want', deployment }),
    serveHere,
    refuse: (exchange, strikes, retryAfterSeconds) =>
      answerFailure(exchange, failed('deployment_quarantined', { strikes, retryAfterSeconds })),
  });
  return { forwarder, placement };
}

/** The port in the hosts of requests, if clients connect directly; otherwise, a proxy determines it. */
function portSuffixOf({ protocol, trustedProxies, port }: EngineConfig): string {
  const isDirect = protocol === 'http' && trustedProxies.length === 0;
  return isDirect && port !== 0 && port !== 80 ? `:${port}` : '';
}

function sandboxesOf({ sandboxes, protocol, publicPort }: EngineConfig, host: string): SandboxTransport | null {
  if (sandboxes === null) return null;
  return createSandboxTransport({ ...sandboxes, portOrigin: () => publicOrigin(protocol, publicPort, host) });
}

/**
 * The socket for calls of servers. The name is random, because handlers share the folder, and may give their engines
 * the same numbers.
 */
function bindingCallsPath({ ssrCalls, supervision }: EngineConfig): string {
  return ssrCalls === '' ? `${supervision?.sockets ?? ''}.calls` : `${ssrCalls}${randomBytes(8).toString('hex')}.sock`;
}

/** Opens the log of the process, with copies of recent lines and requests. */
function withRecent(recent: RecentLog): typeof logging {
  const { onLog, onRequest } = logging;
  return {
    ...logging,
    onLog(deployment, line) {
      onLog(deployment, line);
      recent.line(deployment.project, deployment.id, line);
    },
    onRequest:
      onRequest === null
        ? null
        : (record) => {
            onRequest(record);
            recent.ended(record);
          },
  };
}

/**
 * Whether a URL is below the platform's own domains, at the platform's port. Custom domains are not looked up, because
 * a domain that its owner has moved stays in the table for a while.
 */
function isOwnAddress({ hostname, port }: URL, { domains, publicPort }: EngineConfig, own: number): boolean {
  const isOwnPort = port === '' || port === String(own) || port === String(publicPort ?? own);
  return isOwnPort && domains.some((domain) => hostname.endsWith(`.${domain}`));
}

function exposedPortsOf(config: EngineConfig, transport: SandboxTransport): ExposedPorts {
  const clientHeaders = createClientHeaders(config.trustedProxies, config.edgeToken);
  return createExposedPorts({
    ...config,
    transport,
    clientHeaders,
    webSocketMessageBytesMax: config.limits.webSocketMessageBytesMax,
  });
}

function aiOf({ ai }: EngineConfig): { readonly ai?: AiAddress } {
  if (ai === null) return {};
  const transport = ai.socket === '' ? createAiOrigin(ai.origin) : createAiSocket(ai.socket);
  return { ai: { transport, url: () => ai.url } };
}

function answerFailure(exchange: Exchange, outcome: Outcome & { kind: 'failed' }): void {
  if (exchange.isOfObject === true) {
    const { code, details } = outcome;
    exchange.send(REFUSED_STATUS, '', JSON.stringify({ code, message: errorMessage(code, details) }));
    return;
  }
  sendFailure(exchange, failureResponse(outcome));
}
