// Root of an engine process: the only reader of the environment in the runtime. Started by supervisor/main.ts.
import { randomBytes } from 'node:crypto';
import { exposedNameOf } from '#core/sandbox/exposed-port.ts';
import { cacheFolder } from '#core/process/cache-folder.ts';
import { createArtifactSource } from '#artifacts/artifact-source.ts';
import { openRouteFiles } from '#artifacts/route-source-files.ts';
import { EXIT_CONFIGURATION } from '#core/process/run-process.ts';
import { keepPrivate } from '../supervisor/data-folder/private-folders.ts';
import { createEngine } from './engine.ts';
import { openEngineStores, type EngineStores } from './process/stores.ts';
import { openEngineLog, type EngineLog } from './process/log.ts';
import { createSandboxRemoval } from './bindings/sandbox-removal.ts';
import { createSandboxTransport, type SandboxTransport } from './bindings/sandbox-transport.ts';
import { createAiOrigin, createAiSocket, type AiAddress } from './bindings/ai-transport.ts';
import { Forwarder } from './cluster/forwarder.ts';
import { Placement } from './cluster/placement.ts';
import { createEngineReports } from './process/reports.ts';
import { createHandler } from './handler.ts';
import type { HostWork } from './work/host-work.ts';
import { createLastResort } from './process/uncaught-errors.ts';
import { internalRoutes } from './process/internal-routes.ts';
import { operationRoutes } from './process/operation-routes.ts';
import { RecentLog } from './process/recent-log.ts';
import { RouteWaits } from './process/route-waits.ts';
import { failed, failureResponse, type Outcome } from './invocation/outcome.ts';
import { createClientHeaders } from './http/client-address.ts';
import { createExposedPorts, type ExposedPorts } from './servers/exposed-ports.ts';
import { publicOrigin } from './http/public-origin.ts';
import { createOwnHosts } from './http/own-hosts.ts';
import { createRouteTable, type RouteChanges } from './router/route-table.ts';
import { createAssetServer } from './assets/assets.ts';
import { chooseListener } from './http/choose-listener.ts';
import { answerJson, type InternalRoutes } from './process/internal-server.ts';
import type { Exchange, Listener, ListenerOptions } from './http/listener.ts';
import { ConfigurationError, engineConfig, type EngineConfig } from './process/configuration.ts';
import { createAppEvents } from './servers/app-events.ts';
import { openBindingCalls } from './servers/binding-calls.ts';
import { preparedByMigrator } from './serving/database-preparation.ts';
import { ServerLink } from './servers/server-link.ts';
import { superviseEngine } from './cluster/supervised.ts';
import { startSupervisorMessages } from './process/supervisor-messages.ts';
import { TelemetryRecorder } from './telemetry/recorder.ts';

/** Overhead around a file in a request about bindings. */
const DATA_HEAD_BYTES = 64 * 1024;

const { log, ...logging } = openLog();

await start().catch(fail);

function fail(error: unknown): never {
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof ConfigurationError || code === 'EADDRINUSE' || code === 'EACCES') {
    log.fatal(
      code === 'EADDRINUSE'
        ? `Port ${process.env['HANDLER_PORT'] ?? ''} is taken: stop what listens there, or set HANDLER_PORT`
        : message,
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

/** Errors in their options are configuration errors. */
async function openStores(
  { folder, limits, protocol, publicPort, trustedProxies, edgeToken }: EngineConfig,
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
      log: (level, message) => log[level](message),
    });
  } catch (error) {
    throw new ConfigurationError((error as Error).message);
  }
}

async function start(): Promise<void> {
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
    ownHosts: createOwnHosts({
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
  const forwarder = new Forwarder({
    serveHere,
    answerLost: (exchange) => answerFailure(exchange, failed('engine_lost')),
  });
  const placement = new Placement({
    place: () => place,
    forwarder,
    forwardsMax: config.limits.forwardsMax,
    requestEngine: (deployment) => process.send?.({ type: 'want', deployment }),
    serveHere,
    refuse: (exchange, strikes, retryAfterSeconds) =>
      answerFailure(exchange, failed('deployment_quarantined', { strikes, retryAfterSeconds })),
  });
  const {
    stores,
    cache,
    signedFiles,
    authRoutes,
    databases,
    branchStores,
    kept,
    cron,
    passGate,
    eventsKey,
    close: closeStores,
  } = await openStores(config, engine.work);
  const appEvents = createAppEvents({
    secret: eventsKey,
    serveHere,
    refuse: (exchange) => answerFailure(exchange, failed('deployment_not_found', { deployment: exchange.host })),
  });
  const recent = new RecentLog({
    bytesMax: config.limits.logKeptBytesMax,
    projectsMax: config.limits.logKeptProjectsMax,
  });
  const telemetry = new TelemetryRecorder(config.limits.telemetry, config.traceSampleRate);
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
    findLead: (host) => table.lead(host),
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
    findDeployment: (id) => table.findDeployment(id),
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
  /** On the engine's Unix socket only. */
  const routes: InternalRoutes = {
    ...internalRoutes({
      handler,
      reports,
      recent,
      isRouted: (project, hash) => source.hashOf(project) === hash,
      bodyBytesMax: config.limits.deliveryBytesMax,
    }),
    ...operationRoutes({
      handler,
      openArtifact,
      databases,
      stores: { ...branchStores, sandboxes: sandboxes === null ? null : createSandboxRemoval(sandboxes) },
      resources: {
        databases,
        stores,
        cron,
        cache,
        cacheEntryBytesMax: config.limits.cacheEntryBytesMax,
        folder: config.folder,
        copiesMax: config.limits.database.snapshotsMax,
        namespaceOf: (project) => project,
      },
      dataBytesMax: config.limits.deliveryBytesMax + DATA_HEAD_BYTES,
      waitFor: (find) => waits.waitFor(find),
      findDeployment: (id) => table.findDeployment(id),
      routesOf: (project) => table.routesOf(project),
      isProduction: (route) => table.isProduction(route),
      snapshotsMax: config.limits.database.snapshotsMax,
      kept,
    }),
    'GET /_platform/health': (_request, response) => answerJson(response, 200, { live: true }),
  };

  const { open, reason } = await chooseListener(config.listener);
  const listen = (options: Pick<ListenerOptions, 'port' | 'reusePort' | 'inherited'>): Promise<Listener> =>
    open({
      ...options,
      host: config.host,
      domains: config.domains,
      limits: config.limits,
      onExchange: handler.onExchange,
    });
  const onListening = (listener: Listener): void => {
    ({ technology, port: listeningPort } = listener);
    log.info(
      {
        port: listener.port,
        listener: technology,
        snapshotBytes: engine.snapshotBytes,
        ...(reason === null ? {} : { reason }),
      },
      'engine listening',
    );
  };
  const messages = startSupervisorMessages(engine, telemetry);
  const finish = async (): Promise<void> => {
    source.close();
    handler.close();
    servers.close();
    bindingCalls?.close();
    reports.close();
    await messages.close(reports.metrics());
    await engine.close();
    closeStores();
    end(0);
  };
  // A lost thread does not end, and a normal exit would wait for it.
  const end = (code: number): void => {
    if (!engine.lostThreads.isEmpty) process.kill(process.pid, 'SIGKILL');
    process.exit(code);
  };

  let drain: (patient: boolean) => Promise<void>;
  if (config.supervision === null) {
    const listener = await listen({ port: config.port });
    onListening(listener);
    process.send?.({ type: 'listening', port: listener.port });
    drain = () => listener.drain(config.limits.drainMs).then(finish);
  } else {
    ({ drain } = await superviseEngine({
      supervision: config.supervision,
      limits: config.limits,
      domains: config.domains,
      handler,
      forwarder,
      placement,
      routes,
      lostThreads: engine.lostThreads,
      served: () => engine.counters.joined.requests,
      open: listen,
      onAssigned: (assigned) => (place = assigned),
      onListening,
      onRecording(isOn) {
        if (isOn) telemetry.isOn = true;
        else telemetry.stop();
      },
      onFailure: fail,
      onDrained: () => void finish(),
    }));
  }
  let stopping = false;
  const stop = (): void => {
    if (stopping) end(1);
    stopping = true;
    void drain(false);
  };
  process.on(
    'uncaughtException',
    createLastResort({
      isSupervised: () => config.supervision !== null && process.connected && !stopping,
      askForReplacement: (reason) => process.send?.({ type: 'recycle', reason, blamed: null }),
      log: (error) => log.fatal(error),
      end: () => end(1),
    }),
  );
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  process.on('disconnect', stop);
  // If the supervisor was killed while this engine started, it cannot stop it.
  if (config.supervision !== null && !process.connected) stop();
}

/** The port in request hosts, if clients connect directly; otherwise a proxy decides. */
function portSuffixOf({ protocol, trustedProxies, port }: EngineConfig): string {
  const isDirect = protocol === 'http' && trustedProxies.length === 0;
  return isDirect && port !== 0 && port !== 80 ? `:${port}` : '';
}

function sandboxesOf({ sandboxes, protocol, publicPort }: EngineConfig, host: string): SandboxTransport | null {
  if (sandboxes === null) return null;
  return createSandboxTransport({ ...sandboxes, portOrigin: () => publicOrigin(protocol, publicPort, host) });
}

/**
 * The socket for calls of servers. Handlers share the folder and may number their engines alike, so names are random.
 */
function bindingCallsPath({ ssrCalls, supervision }: EngineConfig): string {
  return ssrCalls === '' ? `${supervision?.sockets ?? ''}.calls` : `${ssrCalls}${randomBytes(8).toString('hex')}.sock`;
}

/** The log of the process, with copies of recent lines and requests. */
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
 * Whether a URL is below the platform's own domains, at its own port. Custom domains are not looked up: one that its
 * owner has moved elsewhere stays in the table for a while.
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
  const { status, headerBlock, body } = failureResponse(outcome);
  exchange.send(status, headerBlock, body);
}
