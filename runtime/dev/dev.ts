// Main module of `platform dev` and the Vite plugin: the same handler as main.ts, with one deployment that is served on
// every host, loopback allowed for `fetch`, and logs and requests passed to the caller.
import { mkdirSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { FreeSpace } from '#core/process/free-space.ts';
import { PlatformError } from '#core/errors.ts';
import { limitsFrom } from '#core/limits.ts';
import { AI_TOKEN_VARIABLE, AI_URL_VARIABLE } from '#core/ai-caller.ts';
import { cacheFolder } from '#core/process/cache-folder.ts';
import type { OpenArtifact } from '#artifacts/artifact-source.ts';
import { secretIn } from '#core/process/secret-file.ts';
import { createAuthRoutes } from '../engine/auth/routes.ts';
import { createUsers } from '../engine/auth/users.ts';
import { createAiFunction } from '../engine/bindings/ai-transport.ts';
import { createEngine } from '../engine/serving/engine.ts';
import { createHandler } from '../engine/handler.ts';
import type { LogLine } from '../engine/invocation/log.ts';
import type { ResourceDeps } from '../engine/resources/request-scope.ts';
import type { Route } from '../engine/router/project-routes.ts';
import { createAssetServer } from '../engine/assets/assets.ts';
import type { Exchange } from '../engine/http/listener.ts';
import { openNodeListener } from '../engine/http/listener-node.ts';
import { createClientHeaders } from '../engine/http/client-address.ts';
import { createExposedPorts } from '../engine/servers/exposed-ports.ts';
import { createSignedFiles } from '../engine/http/signed-files.ts';
import { createMemoryCache } from '../stores/cache-memory.ts';
import { createOutbox } from '../stores/outbox.ts';
import { openLocalStores } from '../stores/local-stores.ts';
import { HostWork } from '../engine/work/host-work.ts';
import type { DevMigrations, DevOptions, OpenDeployment, OpenDevEngine } from './contract/dev-engine.ts';
import { changesPath, createChangeStream } from './failures/change-stream.ts';
import { createActivity } from './dashboard/activity.ts';
import { openActivityFile } from './dashboard/activity-file.ts';
import { createDevFailures } from './failures/failures.ts';
import { openLocalDashboard, type LocalDashboard } from './dashboard/open.ts';
import { CalledProjects, devRoute, openBuilt } from './services/called-projects.ts';
import { openLocalDatabases } from './services/databases.ts';
import { createFinishedRequests } from './services/finished-requests.ts';
import { createClassWatch } from './services/object-classes.ts';
import { openLocalSandboxes } from './services/sandboxes.ts';
import { createServedAssets } from './services/served-assets.ts';
import { openLocalEvents } from './services/events.ts';

/** URL of the AI gateway without a dashboard. Only workers can reach it. */
const NO_DASHBOARD = 'http://platform.invalid';
/** Namespace of the resources, which all projects of a workspace share. */
const namespace = 'local';

/** Opens the port; rejects with the system's error (`EADDRINUSE`) if it is not available. */
export async function startDev(options: DevOptions): Promise<OpenDevEngine> {
  const limits = options.limits ?? limitsFrom(process.env);
  mkdirSync(options.stateFolder, { recursive: true, mode: 0o700 });
  // Projects of a workspace share the folder, but each has its own file.
  const history = openActivityFile(
    join(options.stateFolder, `activity-${options.project ?? 'dev'}.jsonl`),
    limits.dashboardRecordsMax,
    (message) => options.log({ level: 'warn', message }),
  );
  const activity = createActivity({ recordsMax: limits.dashboardRecordsMax, textCharsMax: 10_000 }, Date.now, history);
  const log = (level: LogLine['level'], message: string, invocation: string | null = null): void => {
    activity.note({ type: 'log', level, message, ...(invocation !== null && { invocation }) });
    options.log({ level, message });
  };
  const local = openLocalStores(options.stateFolder, limits);
  /** The secret that signs file URLs and sessions. */
  const secret = secretIn(join(options.stateFolder, 'signing-key'));
  const databases = openLocalDatabases(join(options.stateFolder, 'databases'), (message) => log('warn', message));
  const migrate = async (migrations: readonly DevMigrations[]): Promise<void> => {
    for (const { resource, files } of migrations) await databases.migrate({ namespace, resource }, files);
  };
  const called = new CalledProjects(namespace, migrate);
  const work = new HostWork();
  const users = createUsers({
    databases: databases.store,
    work,
    secret,
    protocol: 'http',
    deliversMail: () => Promise.resolve(false),
    // In development, emails are not sent, but printed for the author.
    sendMail: async ({ to, subject, text }) => log('info', `Mail to ${to}: ${subject}\n${text}`),
    log,
  });
  const finished = createFinishedRequests(activity, options.onRequest);
  let route: Route | null = null;
  /** Created again for each deployment. */
  let shown: readonly Route[] = [];
  let dashboard: LocalDashboard | null = null;
  /** Artifacts of the current deployment, and of the previous one, which may still be running. */
  let opened: readonly OpenArtifact[] = [];
  /** Variables of the deployment that the platform adds to those of the project. */
  let added: Readonly<Record<string, string>> = {};
  const front = (): { host: string; port: number } => options.front?.() ?? { host: options.host, port: listener.port };
  /** Requests that arrived before there was a build to serve. */
  let waiting: Exchange[] | null = [];
  const { ai } = options;
  const aiUrl = (): string => ai?.url ?? `${dashboard?.url ?? NO_DASHBOARD}/ai`;
  const changes = createChangeStream();
  const failures = createDevFailures(options.host, changes);
  const project = options.project ?? 'dev';
  const sandboxes = openLocalSandboxes({
    // The projects of a workspace do not share these resources, because they belong to one process.
    folder: join(options.stateFolder, 'sandboxes', project),
    limits: limits.sandbox,
    environment: process.env,
    ai: ai === undefined ? null : (request, caller) => ai.fetch(request, caller),
    project,
    portOrigin: () => `http://*.localhost:${listener.port}`,
    log,
  });
  const exposedPorts = createExposedPorts({
    transport: sandboxes,
    domains: ['localhost'],
    protocol: 'http',
    publicPort: null,
    clientHeaders: createClientHeaders([]),
    webSocketMessageBytesMax: limits.webSocketMessageBytesMax,
  });
  const engine = await createEngine({
    work,
    limits,
    egress: { loopback: true, private: false },
    cacheFolder: cacheFolder(process.env),
    blanks: 2,
    ...(ai === undefined ? {} : { ai: { transport: createAiFunction(ai.fetch), url: aiUrl } }),
    sandboxes,
  });
  const cache = createMemoryCache({ bytesMax: limits.cacheBytesMax });
  const events = openLocalEvents({
    folder: options.stateFolder,
    namespace,
    project,
    branch: 'dev',
    environment: process.env,
    queueBytesMax: limits.projectQueueBytesMax,
    space: new FreeSpace(options.stateFolder, limits.diskFreeBytesMin, statfsSync),
    deliver: (deployment, kind, event) => handler.deliver(dashboard?.eventsOf(deployment) ?? deployment, kind, event),
    log,
  });
  const outbox = createOutbox({
    databases: databases.store,
    queue: events.stores.queue,
    index: events.stores.outboxes,
    limits: events.bindings.limits,
    log,
    owns: (owner) => owner === namespace,
    now: Date.now,
  });
  const stores = { ...local.stores, database: databases.store, auth: users, events: { ...events.bindings, outbox } };
  const handler = createHandler({
    engine,
    limits,
    protocol: 'http',
    trustedProxies: [],
    matchRoute: () => (route === null ? null : { route, gate: null, others: null }),
    openArtifact(id) {
      const artifact = dashboard?.openArtifact(id) ?? opened.find((known) => known.id === id) ?? called.artifact(id);
      if (artifact === undefined)
        throw new PlatformError('deployment_unavailable', { deployment: id, reason: 'it is gone' });
      return artifact;
    },
    assets: options.files === undefined ? createAssetServer() : createServedAssets(options.files),
    stores,
    databases: null,
    authRoutes: createAuthRoutes(users),
    signedFiles: local.stores.files && createSignedFiles(local.stores.files, secret, limits.bodyBytesMax),
    hostOf: () => `${front().host}:${front().port}`,
    namespaceOf: () => namespace,
    calledRoute: (name) => called.route(name) ?? (name === route?.project ? route : null),
    findDeployment: (id) => (route?.deployment === id ? route : (dashboard?.findDeployment(id) ?? null)),
    cache,
    explain: failures.explain,
    onLog: (_deployment, { level, text, invocation }) => log(level, text, invocation),
    onRequest: finished.ended,
  });
  function answer(exchange: Exchange): void {
    if (route === null && failures.broken.length > 0) failures.answerUnbuilt(exchange);
    else handler.onExchange(options.dashboardPort === undefined ? exchange : finished.recording(exchange));
  }

  /** Called when the served deployment or the build error has changed. */
  function goOn(): void {
    changes.advance();
    const asked = waiting ?? [];
    waiting = null;
    for (const exchange of asked) answer(exchange);
  }

  const resources: ResourceDeps = {
    databases: databases.owned,
    stores,
    objects: handler.objects,
    cron: events.stores.cron,
    cache,
    cacheEntryBytesMax: limits.cacheEntryBytesMax,
    folder: options.stateFolder,
    copiesMax: limits.database.snapshotsMax,
    namespaceOf: () => namespace,
  };
  const classes = createClassWatch(join(options.stateFolder, `object-classes-${project}.json`), resources, (text) =>
    log('warn', text),
  );
  const listener = await openNodeListener({
    host: options.host,
    port: options.port,
    limits,
    onExchange(exchange) {
      // All other hosts are routed to the project.
      if (exposedPorts.take(exchange)) return;
      if (exchange.target === changesPath) changes.serve(exchange);
      else if (waiting === null) answer(exchange);
      else waiting.push(exchange);
    },
  });
  if (options.dashboardPort !== undefined) {
    dashboard = await openLocalDashboard({
      project,
      limits,
      activity,
      log,
      sandboxes,
      resources,
      stateFolder: options.stateFolder,
      address: { host: options.host, port: options.dashboardPort },
      url: urlOf(front().host, front().port),
      ai: ai === undefined ? null : (request) => ai.fetch(request, null),
      serveHere: (key, exchange) => handler.serveHere(key, exchange),
    });
  }
  async function deployOpen({
    artifact,
    vars,
    migrations,
    config = null,
    services = [],
  }: OpenDeployment): Promise<void> {
    await migrate(migrations);
    await called.open(services);
    opened = [artifact, ...opened.filter(({ id }) => id !== artifact.id).slice(0, 1)];
    added = {
      ...dashboard?.vars,
      // The project's server accepts events with the token of its calls.
      ...(artifact.manifest.kind === 'ssr' &&
        dashboard !== null && {
          PLATFORM_APP_URL: urlOf(front().host, front().port),
          PLATFORM_APP_TOKEN: dashboard.vars['PLATFORM_MOCK_SERVER_TOKEN'],
        }),
      ...(ai !== undefined && artifact.manifest.ai && { [AI_URL_VARIABLE]: aiUrl(), [AI_TOKEN_VARIABLE]: ai.token }),
    };
    route = devRoute(namespace, project, artifact, { ...vars, ...added });
    const gone = shown;
    shown = [route, ...(dashboard?.show(route, artifact, config) ?? []), ...called.routes];
    handler.changeRoutes({ current: shown, gone: gone.filter((one) => !shown.includes(one)) });
    handler.warm(route);
    await events.deploy(route.deployment, artifact.manifest);
    failures.built([]);
    goOn();
    await classes.deployed(route, artifact);
  }
  return {
    port: listener.port,
    dashboardUrl: dashboard?.url ?? null,
    get variables() {
      return added;
    },
    deployOpen,
    async deploy({ artifactFolder, ...deployment }) {
      await deployOpen({ ...deployment, artifact: openBuilt(artifactFolder) });
    },
    fail(errors) {
      failures.built(errors);
      goOn();
    },
    async close() {
      changes.close();
      await dashboard?.close();
      await listener.close();
      await events.stop();
      handler.close();
      await engine.close();
      await outbox.close();
      await events.close();
      await databases.close();
      history.close();
      local.close();
    },
  };
}

function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
