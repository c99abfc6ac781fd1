// Entry point of the API process (port 4002, and a private address for web/): reads the environment, connects to
// Postgres, serves the API. Started by the supervisor, which receives `{type: 'ready', port}`. Runs no tenant code.
import { createEdgeStateReader } from '#core/edge-state.ts';
import { limitsFrom } from '#core/limits.ts';
import { openLog } from '#core/log/log.ts';
import { routeKeysOf } from '#artifacts/sealed-route.ts';
import { openArtifactStore } from '#artifacts/store/open.ts';
import { tellFigures } from '#core/process/figures.ts';
import { runProcess } from '#core/process/run-process.ts';
import { readInstallation } from '#postgres/installation-id.ts';
import { openHandlerMachines } from '#postgres/handler-machines.ts';
import { openSql, statementsOf, type Sql } from '#postgres/sql.ts';
import { deliverAlerts } from './alerts/deliver.ts';
import { evaluateAlerts } from './alerts/evaluate.ts';
import { createApi } from './api/app.ts';
import { createClientAddress } from './http/client-address.ts';
import { sweepApi } from './api/sweep.ts';
import { watchMachines } from './alerts/machines.ts';
import { recheckDomains } from './domains/recheck.ts';
import { runDrains } from './drains/deliver.ts';
import { openRoutesDisk } from './releases/routes/routes-disk.ts';
import { openRoutesPostgres } from './releases/routes/routes-postgres.ts';
import { startDeployments } from './releases/start.ts';
import { watchBuilds } from './releases/request-builder.ts';
import { openGitPush } from './git-push/git-push.ts';
import { gitHostPages } from './git-host/pages.ts';
import { startGitHost } from './git-host/start.ts';
import type { Dependencies } from './process/dependencies.ts';
import { readConfiguration, type Configuration } from './process/configuration.ts';
import { deliverMail, publishMailChannel } from './outbound/mail-queue.ts';
import { createMailer } from './outbound/send-mail.ts';
import { openAiProxy } from './process/ai-proxy.ts';
import { liveGit } from './process/live-git.ts';
import { followSettings, openLiveSettings } from './process/live-settings.ts';
import { openPrivatePort, type HandlerPorts } from './process/private-port.ts';
import { RequestCounts } from './process/request-counts.ts';
import { createKeyedMutex } from './process/keyed-mutex.ts';
import { openNameRecords } from './process/name-records.ts';
import { openSandboxService, portOrigin } from './process/sandbox-service.ts';
import { serveApi } from './process/servers.ts';
import { behindWeb, webClient } from './process/web-proxy.ts';
import { ensureFirstRun } from './sign-in/first-run.ts';
import { openSignIn, withLiveSettings } from './sign-in/open.ts';
import { createUi } from './sign-in/ui.ts';
import { sweepSignIn } from './sign-in/ui-app.ts';
import { collectTelemetry, TelemetryCounts } from './telemetry/collect.ts';
import { createDatabaseFigures } from './telemetry/database-figures.ts';
import { collectorAddress } from './telemetry/export-spans.ts';
import { collectUsage } from './usage/collect.ts';
import { followStorage } from './storage/follow.ts';
import { deliverWebhooks } from './webhooks/deliver.ts';

const SWEEP_MS = 10 * 60_000;
/** How long a request waits for a storage of artifacts that does not answer. */
const STORE_AWAY_MS_MAX = 5000;

const log = openLog('api', process.env);
const stopping = new AbortController();
const running = new Set<Promise<void>>();

async function start(): Promise<() => Promise<void>> {
  const config = readConfiguration(process.env);
  for (const warning of config.warnings) log.warn(warning);
  const limits = limitsFrom(process.env);
  const collector = collectorAddress(process.env);
  const sql = openSql({ url: config.databaseUrl, name: 'platform api' });
  const settings = await openLiveSettings({ sql, keys: config.keys, log, environment: process.env });
  const sandboxes = openSandboxService(config.sandboxes, portOrigin(config.addresses));
  const artifacts = await openArtifactStore(process.env, {
    dataFolder: config.folder,
    limits,
    installation: () => readInstallation(sql),
    awayMsMax: STORE_AWAY_MS_MAX,
  });
  const handlers = openHandlers(config, sql);
  const deps: Dependencies = {
    sql,
    log,
    artifacts,
    routes: artifacts.isShared
      ? openRoutesPostgres(sql, routeKeysOf(config.privatePort.token ?? ''), config.folder)
      : openRoutesDisk(config.folder),
    keys: config.keys,
    folder: config.folder,
    privatePort: handlers,
    addresses: config.addresses,
    git: liveGit(config.git, settings),
    limits: limits.control,
    cpuLimits: limits.cpu,
    telemetryLimits: limits.telemetry,
    storage: {
      limits: limits.storage,
      diskFreeBytesMin: limits.diskFreeBytesMin,
      isPostgresLocal: URL.parse(config.databaseUrl)?.searchParams.get('host')?.startsWith('/') === true,
    },
    settings,
    mail: createMailer({ sql, log, keys: config.keys, settings: () => settings.current().mail }),
    names: openNameRecords(config.dnsServers),
    edgeState: createEdgeStateReader(config.folder),
    signIn: withLiveSettings(await openSignIn(config, sql, log), settings),
    clientAddress: createClientAddress(config.trustedProxies, undefined, config.edgeToken),
    // The API's own origin accepts only tokens; sessions are looked up at AUTH_URL's origin (sign-in/ui.ts).
    findSession: () => Promise.resolve(null),
    uploadLimits: limits,
    databaseLimits: limits.database,
    migrationsExecutor: config.migrationsExecutor,
    sandboxes,
    operatorAi: config.operatorAi,
    mutex: createKeyedMutex(),
    async onNotify(channel, listener) {
      const { unlisten } = await sql.listen(channel, listener);
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
  const firstRun = await ensureFirstRun(deps);
  const sweeping = setInterval(() => {
    deps.background('Deleting expired data of sign-in', () => sweepSignIn(deps));
    deps.background('Deleting expired data of the API', () => sweepApi(deps));
  }, SWEEP_MS);
  const telemetry = new TelemetryCounts();
  startDeployments(deps);
  await watchBuilds(deps, () => process.connected && process.send?.({ type: 'want', service: 'builder' }));
  startGitHost(deps);
  deps.background('Sending webhooks', () => deliverWebhooks(deps));
  deps.background('Sending lines to drains', () => runDrains(deps));
  deps.background('Evaluating alerts', () => evaluateAlerts(deps));
  deps.background('Sending alerts', () => deliverAlerts(deps));
  await publishMailChannel(deps);
  deps.background('Following settings', () => followSettings(deps, () => publishMailChannel(deps)));
  deps.background('Sending emails', () => deliverMail(deps));
  deps.background('Checking domains', () => recheckDomains(deps));
  deps.background('Watching machines', () => watchMachines(deps));
  deps.background('Counting storage', () => followStorage(deps));
  deps.background('Collecting usage', () => collectUsage(deps, handlers.each));
  deps.background('Collecting lines and invocations', () =>
    collectTelemetry(deps, handlers.each, collector, telemetry),
  );
  const counts = new RequestCounts();
  const api = createApi();
  const gitPush = await openGitPush(deps);
  const aiProxy = openAiProxy(config.aiSocket);
  const { host, apiPort } = config.listeners;
  const server = await serveApi({
    host,
    port: apiPort,
    fetch: counts.counted((request) => gitPush.fetch(request) ?? aiProxy.fetch(request) ?? api.fetch(request, deps)),
  });
  const forPages = { ...deps, clientAddress: createClientAddress(config.trustedProxies, webClient, config.edgeToken) };
  const ui =
    config.web === null
      ? null
      : await serveApi({
          variable: 'API_WEB_LISTEN',
          ...config.web.address,
          fetch: counts.counted(behindWeb(config.web.token, createUi(forPages, api.fetch, gitHostPages))),
        });
  // The supervisor shows the first-run token and stores it for the user's commands.
  process.send?.({ type: 'ready', port: server.port, firstRun });
  const databaseFigures = createDatabaseFigures(sql);
  tellFigures(async () => [...counts.figures(), ...telemetry.figures(), ...(await databaseFigures().catch(() => []))]);
  return async () => {
    stopping.abort();
    clearInterval(sweeping);
    await Promise.all([server.close(), ui?.close(), gitPush.close(), aiProxy.close()]);
    await Promise.allSettled(running);
    await sandboxes?.close();
    await artifacts.close();
    await deps.signIn.sessions.close();
    await sql.end({ timeout: 5 });
  };
}

/** The handlers in `API_HANDLER_URL`, or the handlers of all machines that have announced themselves. */
function openHandlers({ privatePort: { origins, token, machines } }: Configuration, sql: Sql): HandlerPorts {
  if (machines === null) return openPrivatePort(origins, token);
  const found = openHandlerMachines({
    sql: statementsOf(sql),
    local: origins,
    ownOrigin: machines.ownOrigin,
    onTrouble: (error) =>
      log.warn({ reason: (error as Error).message }, 'Machines could not be read: the last known machines are used'),
  });
  return openPrivatePort(origins, token, found);
}

await runProcess(log, start);
