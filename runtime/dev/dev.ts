// Main module of `platform dev` and the Vite plugin: the same handler as main.ts, with one deployment that is served on
// every host, loopback allowed for `fetch`, and logs and requests passed to the caller.
import { mkdirSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { FreeSpace } from '#core/process/free-space.ts';
import { PlatformError } from '#core/errors.ts';
import { limitsFrom, type Limits } from '#core/limits.ts';
import { AI_TOKEN_VARIABLE, AI_URL_VARIABLE, type AiCaller } from '#core/ai-caller.ts';
import type { InvocationKind } from '#core/plans.ts';
import { cacheFolder } from '#core/process/cache-folder.ts';
import type { OpenArtifact } from '#artifacts/artifact-source.ts';
import { secretIn } from '#core/process/secret-file.ts';
import { createAuthRoutes } from '../engine/auth/routes.ts';
import { createUsers } from '../engine/auth/users.ts';
import { createAiFunction } from '../engine/bindings/ai-transport.ts';
import { createEngine } from '../engine/serving/engine.ts';
import { createHandler } from '../engine/handler.ts';
import type { EventRecord } from '../engine/invocation/event-record.ts';
import { outcomeLabel, reasonOf } from '../engine/invocation/outcome.ts';
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
import { changesPath, createChangeStream } from './failures/change-stream.ts';
import { createActivity } from './dashboard/activity.ts';
import { openActivityFile } from './dashboard/activity-file.ts';
import { RecordedExchange } from './dashboard/recorded-exchange.ts';
import { createDevFailures } from './failures/failures.ts';
import type { ShownError } from './failures/failure-page.ts';
import { isOfDashboard, openLocalDashboard, type LocalDashboard } from './dashboard/open.ts';
import {
  CalledProjects,
  devRoute,
  openBuilt,
  type DevMigrations,
  type DevService,
} from './services/called-projects.ts';
import { openLocalDatabases } from './services/databases.ts';
import { createClassWatch } from './services/object-classes.ts';
import { openLocalSandboxes } from './services/sandboxes.ts';
import { createServedAssets, type ServedFiles } from './services/served-assets.ts';
import { openLocalEvents } from './services/events.ts';

/** A finished request or event. */
export interface DevRequest {
  readonly kind: InvocationKind;
  /** Method of a request; empty for events. */
  readonly method: string;
  /** Path and query; empty for events. */
  readonly path: string;
  /** 0 for events. */
  readonly status: number;
  /** Null for requests. */
  readonly event: EventRecord | null;
  /** `ok` or an error's code. */
  readonly outcome: string;
  /** Reason of an error in words: the error that the worker threw. */
  readonly reason: string;
  readonly cpuMs: number;
  readonly wallMs: number;
}

/** The deployment to serve from now on. */
export interface DevDeployment {
  /** An artifact as written by the builder: `<folder>/artifacts/<id>`. */
  readonly artifactFolder: string;
  /** Migrations are applied before the deployment is served. */
  readonly migrations: readonly DevMigrations[];
  readonly vars: Readonly<Record<string, string>>;
  /** platform.yaml with its defaults, for the dashboard. */
  readonly config?: unknown;
  /** Projects that it calls; default none. */
  readonly services?: readonly DevService[];
}

/** Options of {@link startDev}. */
export interface DevOptions {
  readonly host: string;
  /** 0 = a free port. */
  readonly port: number;
  /** Folder of state, files and other data: `.platform` of the project or its workspace. */
  readonly stateFolder: string;
  /** Limits; by default those of the environment, as in production. */
  readonly limits?: Limits;
  readonly log: (record: { level: LogLine['level']; message: string }) => void;
  readonly onRequest: (request: DevRequest) => void;
  /**
   * Name of the project, which distinguishes its timers and schedules from those of other projects in its workspace; by
   * default `dev`.
   */
  readonly project?: string;
  /** Serves requests to the AI gateway, if there is one. */
  readonly ai?: DevAi;
  /** Public host and port of a server in front of this one, if there is one. */
  readonly front?: () => { readonly host: string; readonly port: number };
  /** Files of the worker in the server in front of this one; if absent, they are in the artifact. */
  readonly files?: () => ServedFiles | null;
  /**
   * Port of the dashboard; 0 means a free port; if absent, there is no dashboard. If the port is taken, dev prints a
   * warning and continues without a dashboard.
   */
  readonly dashboardPort?: number;
}

/** The AI gateway of `platform dev`. */
export interface DevAi {
  /** @param caller null when a token identifies the caller. */
  fetch(request: Request, caller: AiCaller | null): Promise<Response>;
  /** `PLATFORM_AI_TOKEN`. */
  readonly token: string;
  /** `PLATFORM_AI_URL`; null means the dashboard's URL. */
  readonly url: string | null;
}

/** The deployment to serve from now on, with an artifact that is not in a folder. */
export interface OpenDeployment extends Omit<DevDeployment, 'artifactFolder'> {
  readonly artifact: OpenArtifact;
}

/** An engine that also accepts artifacts that are not folders. */
export interface OpenDevEngine extends DevEngine {
  /** As `deploy`. */
  deployOpen(deployment: OpenDeployment): Promise<void>;
}

/** A running engine with one deployment. */
export interface DevEngine {
  readonly port: number;
  /** URL of the dashboard, or null. */
  readonly dashboardUrl?: string | null;
  /** Variables that the platform adds to the project's, for its code outside of isolates. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Running requests finish with their old code; the next request uses the new code. */
  deploy(deployment: DevDeployment): Promise<void>;
  /**
   * The project does not build: requests get the errors if no build can be served yet, and pages of failures show them.
   */
  fail(errors: readonly ShownError[]): void;
  close(): Promise<void>;
}

/** Without a dashboard, only workers reach the gateway, under this URL. */
const NO_DASHBOARD = 'http://platform.invalid';
/** Projects of a workspace share their resources. */
const namespace = 'local';
/** Limit for pending requests whose headers are recorded. */
const UNDER_WAY_MAX = 500;

/** Opens the port; rejects with the system's error (`EADDRINUSE`) if it is not available. */
export async function startDev(options: DevOptions): Promise<OpenDevEngine> {
  const limits = options.limits ?? limitsFrom(process.env);
  mkdirSync(options.stateFolder, { recursive: true, mode: 0o700 });
  // Projects of a workspace share the folder: each has its own file.
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
  /** Signs file URLs, and sessions. */
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
    // Emails are not sent in development, but printed for the author.
    sendMail: async ({ to, subject, text }) => log('info', `Mail to ${to}: ${subject}\n${text}`),
    log,
  });
  /** Pending requests whose headers are recorded. */
  const underWay = new Set<RecordedExchange>();
  let route: Route | null = null;
  /** Recreated by each deployment. */
  let shown: readonly Route[] = [];
  let dashboard: LocalDashboard | null = null;
  /** Artifacts of the current deployment, and of the previous one, which may still run. */
  let opened: readonly OpenArtifact[] = [];
  /** Variables of the deployment that are not the project's. */
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
    // Unlike other resources, a workspace does not share these, because they belong to one process.
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
    onRequest(record) {
      const {
        kind,
        deployment,
        method,
        target: path,
        status,
        event,
        outcome: ending,
        cpuMs,
        wallMs,
        invocation,
      } = record;
      // Calls of the dashboard to bindings are not requests to the project.
      if (isOfDashboard(deployment)) return;
      const outcome = outcomeLabel(ending);
      const reason = ending.kind === 'ok' ? '' : reasonOf(ending);
      const ended = { outcome, cpuMs, wallMs, invocation, ...(reason !== '' && { reason }) };
      if (kind === 'http') {
        const id = record.requestId ?? invocation;
        const exchange = [...underWay].find(({ requestId }) => requestId === id);
        if (exchange !== undefined) underWay.delete(exchange);
        activity.note({ type: 'request', method, path, status, ...ended }, exchange?.recorded());
      } else if (event !== null && kind !== 'object')
        activity.note({ type: 'event', kind, name: event.name, id: event.id, ...ended });
      options.onRequest({ kind, method, path, status, event, outcome, reason, cpuMs, wallMs });
    },
  });
  function answer(exchange: Exchange): void {
    if (route === null && failures.broken.length > 0) failures.answerUnbuilt(exchange);
    else if (options.dashboardPort === undefined) handler.onExchange(exchange);
    else {
      const recorded = new RecordedExchange(exchange);
      underWay.add(recorded);
      // Requests for static files end without a record.
      if (underWay.size > UNDER_WAY_MAX) underWay.delete(underWay.values().next().value!);
      handler.onExchange(recorded);
    }
  }

  /** The served deployment, or the build error, has changed. */
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
      // All other hosts lead to the project.
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
