// Joins the parts of the handler: a request comes in from the listener, the route table names its deployment, static
// assets are served before the worker, and an isolate gets the rest. It chooses no implementation: main.ts and dev.ts
// do.
import { PlatformError, type ErrorDetails } from '#core/errors.ts';
import type { Limits } from '#core/limits.ts';
import { ofPreview } from '#core/preview.ts';
import { authPath, type AuthRoutes } from './auth/routes.ts';
import { createAssetCalls } from './bindings/assets.ts';
import { createBindingCalls, type BindingStores, type BindingTools } from './bindings/bindings.ts';
import { createCacheCalls, type CacheStore } from './bindings/cache.ts';
import type { HostFunctions } from './bridge/host-calls.ts';
import { prepareDatabases, type ProjectDatabases } from './deployments/database-preparation.ts';
import { Deployment, type DeploymentParts, type Explain, type RequestRecord } from './deployments/deployment.ts';
import type { Engine } from './engine.ts';
import type { Placed, Remote } from './cluster/placement.ts';
import type { EventKind } from '#core/event.ts';
import type { DeliveryEnd } from './invocation/delivery.ts';
import { CHECK_MS } from './deployments/stuck-entry.ts';
import { createInvocationIds } from './invocation/invocation-id.ts';
import type { LogLine } from './invocation/log.ts';
import { DeploymentCounters } from './metrics/counters.ts';
import { failed, failureResponse, isFailureCode, ok, type FailureCode, type Outcome } from './invocation/outcome.ts';
import type { DeploymentConfig } from './deployments/config.ts';
import type { OpenArtifact } from '#deployments/artifact-source.ts';
import type { Route } from './router/route-table.ts';
import { assetDecision, type AssetAnswer, type AssetServer } from './assets/assets.ts';
import { createClientHeaders, createTrust } from './http/client-address.ts';
import { createProxyRequestIds } from './http/request-id.ts';
import type { Exchange } from './http/listener.ts';
import { signedFilesPath, type SignedFiles } from './http/signed-files.ts';
import { hostNotFound } from './http/pages.ts';
import { publicOrigin } from './http/public-origin.ts';
import { Shedder } from './deployments/shedding.ts';

/** What a handler is made of. */
export interface HandlerParts {
  readonly engine: Engine;
  readonly limits: Limits;
  readonly protocol: 'http' | 'https';
  /** Port of the addresses that are given to others; null: as requests say. */
  readonly publicPort?: number | null;
  /** Addresses and CIDR ranges. */
  readonly trustedProxies: readonly string[];
  readonly findRoute: (host: string) => Route | null;
  /** @throws {PlatformError} `artifact_corrupt`, `deployment_unavailable`. */
  readonly openArtifact: (id: string) => OpenArtifact;
  readonly assets: AssetServer;
  readonly cache: CacheStore;
  readonly stores: BindingStores;
  /** Null without a database service, and where deployments come with their databases ready. */
  readonly databases: ProjectDatabases | null;
  /** Null: no `/auth/*`. */
  readonly authRoutes: AuthRoutes | null;
  /** Null: no signed addresses of files. */
  readonly signedFiles: SignedFiles | null;
  /** Host that a project's production answers on. */
  readonly hostOf: (project: string) => string;
  /** Whose bindings a project has: its own name, or that of the workspace it shares them with. */
  readonly namespaceOf: (project: string) => string;
  /** The route of a deployment by its id. */
  readonly findDeployment: (id: string) => Route | null;
  /** Where a deployment's requests go instead; null: all are served here. `before`: what it said last. */
  readonly remoteOf?: (deployment: string, placed: Placed, before: Remote | null) => Remote | null;
  /** Whether workers of new routes are compiled before anybody asks for them. */
  readonly compilesAhead?: boolean;
  /** Answers failed requests with what the worker's author wants to know; absent: as visitors may see it. */
  readonly explain?: Explain;
  readonly onLog: (deployment: DeploymentConfig, line: LogLine) => void;
  readonly onRequest: ((record: RequestRecord) => void) | null;
  /** Whether `onRequest` wants only those that failed. */
  readonly onlyFailures?: boolean;
}

/** How the start of a worker went, and what it wrote meanwhile. */
interface CheckEnd {
  readonly outcome: Outcome;
  readonly lines: readonly LogLine[];
}

/** A handler at work. */
export interface Handler {
  onExchange(exchange: Exchange): void;
  /**
   * Gives an event that is no request to a deployment; never rejects: what went wrong is the outcome.
   *
   * @param event JSON, as guest/events/ takes it.
   */
  deliver(deployment: string, kind: EventKind, event: string): Promise<DeliveryEnd>;
  /**
   * Starts the worker of an artifact that no host leads to yet, runs its top level and lets go of it; never rejects.
   *
   * @param route what it is going to be: its project, plan, variables.
   */
  check(route: Route): Promise<CheckEnd>;
  /**
   * Serves a request in this engine, unless its deployment is kept apart; false when this engine does not know it.
   *
   * @param key `<project>/<deployment id>`.
   */
  serveHere(key: string, exchange: Exchange): boolean;
  /** Engines came or went: asks for every remote again. */
  replace(): void;
  /** Deployments whose code is running at this moment, as keys. */
  running(): string[];
  /** Compiles and starts a route's worker ahead of its first request. */
  warm(route: Route): void;
  /** Lets go of deployments that no route names any more, once they are idle, and has new ones compiled. */
  retain(routes: Iterable<Route>): void;
  /** Requests that run or wait. */
  readonly load: number;
  close(): void;
}

/** A deployment as this process serves it. */
interface Served {
  readonly artifact: OpenArtifact;
  /** Null for static projects. */
  readonly deployment: Deployment | null;
  readonly counters: DeploymentCounters | null;
  /** Where its requests go instead. */
  remote: Remote | null;
}

/** Lines of a worker's top level that are told. */
const checkLinesMax = 100;
const WALL_MS = 1000;
const SHED_MS = 250;

export function createHandler(parts: HandlerParts): Handler {
  // By route object: a route whose variables, plan or artifact change is another object, and so another deployment.
  let served = new Map<Route, Served>();
  const leaving = new Map<Deployment, DeploymentCounters>();
  const known = new WeakSet<Route>();
  let closed = false;

  const engineCounters = parts.engine.counters;

  const deploymentParts: Omit<DeploymentParts, 'counters'> = {
    engineCounters,
    pool: parts.engine.pool,
    hostMemory: parts.engine.hostMemory,
    hostFunctions: parts.engine.hostFunctions,
    limits: parts.limits,
    protocol: parts.protocol,
    clientHeaders: createClientHeaders(parts.trustedProxies),
    onLog: parts.onLog,
    onRequest: parts.onRequest,
    recordsAll: parts.onlyFailures !== true,
    ids: createInvocationIds(),
    explain: parts.explain ?? null,
    proxyRequestId: createProxyRequestIds(parts.trustedProxies.length === 0 ? null : createTrust(parts.trustedProxies)),
    passThrough: (exchange, config) => {
      const found = [...served.values()].find(({ deployment }) => deployment?.config === config);
      return found !== undefined && parts.assets.serve(exchange, found.artifact);
    },
  };

  /** The engine's host calls and those that know their project: its cache, its files. */
  function callsOf(route: Route, artifact: OpenArtifact): HostFunctions {
    const { hostFunctions } = parts.engine;
    const { project, branch, deployment, preview } = route;
    const cache = createCacheCalls(ofPreview(project, preview), parts.cache, {
      entryBytesMax: parts.limits.cacheEntryBytesMax,
    });
    const owner = { namespace: parts.namespaceOf(project), project, branch, deployment, preview };
    const bindings = createBindingCalls(owner, artifact.manifest, parts.stores, {
      signUrl: signUrlOf(route),
      work: parts.engine.work,
      cache: parts.cache,
      cacheEntryBytesMax: parts.limits.cacheEntryBytesMax,
    });
    const own = engineCounters.calls.count({ ...cache, ...bindings, ...assetCalls(artifact) });
    return { ...hostFunctions, async: { ...hostFunctions.async, ...own } };
  }

  const originOf = (host: string): string => publicOrigin(parts.protocol, parts.publicPort ?? null, host);

  function signUrlOf({ project }: Route): BindingTools['signUrl'] {
    const { signedFiles } = parts;
    if (signedFiles === null) return null;
    return (host) =>
      (...grant) =>
        signedFiles.sign(originOf(host ?? parts.hostOf(project)), ...grant);
  }

  // `env.ASSETS.fetch` answers what the asset layer would.
  function assetCalls(artifact: OpenArtifact): HostFunctions['async'] {
    if (artifact.manifest.assets?.binding == null) return {};
    return createAssetCalls({
      answer(request) {
        const { status, headerBlock, body } = parts.assets.answer(request, artifact, true) as AssetAnswer;
        const isFile = body !== null && typeof body === 'object';
        return { status, headerBlock, text: isFile ? null : body, read: isFile ? () => parts.assets.read(body) : null };
      },
    });
  }

  function configOf(route: Route, artifact: OpenArtifact): Omit<DeploymentConfig, 'prepare'> {
    const { manifest } = artifact;
    const bindings: Record<string, string> = {};
    for (const [kind, names] of Object.entries(manifest.bindings))
      for (const name of Object.keys(names)) bindings[name] = kind;
    // Under the name that it is declared with, and under its own (docs/static-files.md).
    if (manifest.bindings['auth'] !== undefined) bindings['PLATFORM_AUTH'] = 'auth';
    if (manifest.assets?.binding) bindings[manifest.assets.binding] = 'assets';
    if (manifest.ai) bindings['AI'] = 'ai';
    return {
      id: route.deployment,
      project: route.project,
      plan: route.plan,
      vars: route.vars,
      bindings,
      code: () => ({ code: artifact.workerCode() ?? '', hash: manifest.worker?.hash ?? '' }),
      sourceMap: () => artifact.sourceMap(),
    };
  }

  function open(route: Route): Served {
    const { databases } = parts;
    const artifact = parts.openArtifact(route.artifact);
    const { manifest } = artifact;
    const config: DeploymentConfig = {
      ...configOf(route, artifact),
      prepare:
        databases === null ? null : prepareDatabases(databases, parts.namespaceOf(route.project), route, artifact),
    };
    const counters =
      manifest.worker === null
        ? null
        : engineCounters.open(route.deployment, route.project, {
            branch: route.branch,
            target: route.preview === null ? 'production' : 'preview',
          });
    const deployment =
      counters === null
        ? null
        : new Deployment(config, { ...deploymentParts, counters, hostFunctions: callsOf(route, artifact) });
    if (deployment !== null) deployment.admitted = shedder.share;
    const remote = deployment === null ? null : (parts.remoteOf?.(keyOf(route), deployment, null) ?? null);
    const opened: Served = { artifact, deployment, counters, remote };
    served.set(route, opened);
    return opened;
  }

  /** Looked up when it is its turn: a change of routes reads no artifact. */
  function compileLater(route: Route): void {
    parts.engine.compileAhead.add(() => {
      const artifact = parts.openArtifact(route.artifact);
      const { worker } = artifact.manifest;
      return worker === null ? null : { owner: keyOf(route), ...worker, code: () => artifact.workerCode() ?? '' };
    });
  }

  function onExchange(exchange: Exchange): void {
    const route = parts.findRoute(exchange.host);
    if (route === null) {
      engineCounters.unroutedRequests++;
      hostNotFound(exchange);
      return;
    }
    let found = served.get(route);
    if (found === undefined) {
      try {
        found = open(route);
      } catch (error) {
        engineCounters.refusedRequests++;
        refuse(exchange, error as PlatformError);
        return;
      }
    }
    if (parts.signedFiles !== null && exchange.target.startsWith(signedFilesPath)) {
      parts.signedFiles.serve(exchange, parts.namespaceOf(route.project));
      return;
    }
    if (
      parts.authRoutes !== null &&
      exchange.target.startsWith(authPath) &&
      found.artifact.manifest.bindings['auth'] !== undefined
    ) {
      const site = {
        namespace: ofPreview(parts.namespaceOf(route.project), route.preview),
        origin: originOf(exchange.host),
        // Where the operator says the port, what a client writes behind the host is nothing.
        askedAt: `${parts.protocol}://${parts.publicPort == null ? exchange.host : exchange.host.replace(/:\d*$/, '')}`,
        vars: route.vars,
      };
      parts.authRoutes.serve(
        exchange,
        site,
        deploymentParts.clientHeaders(exchange.headerBlock, exchange.remoteAddress),
      );
      return;
    }
    const { artifact, deployment, remote } = found;
    const rules = artifact.manifest.assets;
    if (
      rules !== null &&
      (deployment === null || assetDecision(rules, exchange) === 'asset') &&
      parts.assets.serve(exchange, artifact, deployment === null)
    ) {
      engineCounters.assetRequests++;
      return;
    }
    if (remote !== null && remote.take(exchange)) return;
    deployment?.fetch(exchange);
  }

  function serveHere(key: string, exchange: Exchange): boolean {
    const route = parts.findDeployment(key.slice(key.indexOf('/') + 1));
    if (route === null) return false;
    try {
      const { deployment, remote } = served.get(route) ?? open(route);
      if (deployment === null) return false;
      if (remote === null || !remote.isQuarantined || !remote.take(exchange)) deployment.fetch(exchange);
    } catch (error) {
      refuse(exchange, error as PlatformError);
    }
    return true;
  }

  function deliver(id: string, kind: EventKind, event: string): Promise<DeliveryEnd> {
    const refused = (code: FailureCode, details: ErrorDetails): Promise<DeliveryEnd> =>
      Promise.resolve({ outcome: failed(code, details), result: null, cpuMs: 0 });
    const route = parts.findDeployment(id);
    if (route === null) return refused('deployment_not_found', { deployment: id });
    let deployment: Deployment | null;
    try {
      ({ deployment } = served.get(route) ?? open(route));
    } catch (error) {
      const { code, details } = error as PlatformError;
      return isFailureCode(code) ? refused(code, details) : refused('internal', {});
    }
    if (deployment === null) return refused('no_event_handler', { handler: kind });
    return new Promise((onEnd) => deployment.deliver({ kind, event, onEnd, result: null }));
  }

  const checked = new Set<Deployment>();

  async function check(route: Route): Promise<CheckEnd> {
    const lines: LogLine[] = [];
    const counters = new DeploymentCounters(route.deployment, route.project);
    const onLog = (_deployment: DeploymentConfig, line: LogLine): void =>
      void (lines.length < checkLinesMax && lines.push(line));
    let deployment: Deployment | null = null;
    try {
      const artifact = parts.openArtifact(route.artifact);
      if (artifact.manifest.worker === null) return { outcome: ok, lines };
      const own = { ...deploymentParts, onLog, counters, hostFunctions: callsOf(route, artifact) };
      deployment = new Deployment(configOf(route, artifact), own);
      checked.add(deployment);
      const outcome = await deployment.check();
      // One that made room for another was no failure of its worker.
      const isEvicted = outcome.kind === 'failed' && outcome.details['reason'] === 'evicted';
      return { outcome: isEvicted ? ok : outcome, lines };
    } catch (error) {
      const { code, details } = error as PlatformError;
      return { outcome: isFailureCode(code) ? failed(code, details) : failed('internal'), lines };
    } finally {
      if (deployment !== null) checked.delete(deployment);
      deployment?.close();
    }
  }

  function* deployments(): Generator<Deployment> {
    for (const { deployment } of served.values()) if (deployment !== null) yield deployment;
    yield* leaving.keys();
    yield* checked;
  }

  const alive = setInterval(() => {
    if (parts.engine.scheduler.running > 0) for (const deployment of deployments()) deployment.checkAlive();
  }, CHECK_MS).unref();
  const wall = setInterval(() => {
    const now = performance.now();
    for (const deployment of deployments()) deployment.checkWall(now);
    for (const [deployment, counters] of leaving) {
      if (deployment.load > 0) continue;
      leaving.delete(deployment);
      deployment.close();
      engineCounters.close(counters);
    }
  }, WALL_MS).unref();

  const shedder = new Shedder(parts.limits);
  let lookedAt = performance.now();
  const shed = setInterval(() => {
    const now = performance.now();
    const lagMs = now - lookedAt - SHED_MS;
    lookedAt = now;
    const loads: number[] = [];
    for (const { requests } of deployments()) if (requests > 0) loads.push(requests);
    const before = shedder.share;
    const share = shedder.look(loads, lagMs);
    if (share !== before) for (const deployment of deployments()) deployment.admitted = share;
  }, SHED_MS).unref();

  return {
    onExchange,
    deliver,
    check,
    serveHere,
    replace() {
      for (const [route, entry] of served)
        if (entry.deployment !== null)
          entry.remote = parts.remoteOf?.(keyOf(route), entry.deployment, entry.remote) ?? null;
    },
    running() {
      const running: string[] = [];
      for (const { isEntered, config } of deployments()) if (isEntered) running.push(`${config.project}/${config.id}`);
      return running;
    },
    warm(route) {
      if (!closed) (served.get(route) ?? open(route)).deployment?.warm();
    },
    retain(routes) {
      const kept = new Set(routes);
      for (const route of parts.compilesAhead === true ? kept : []) {
        if (known.has(route) || served.has(route)) continue;
        known.add(route);
        compileLater(route);
      }
      const next = new Map<Route, Served>();
      for (const [route, entry] of served) {
        if (kept.has(route)) next.set(route, entry);
        else if (entry.deployment !== null && entry.counters !== null) {
          leaving.set(entry.deployment, entry.counters);
          entry.deployment.leave();
        }
      }
      served = next;
    },
    get load() {
      let load = 0;
      for (const deployment of deployments()) load += deployment.load;
      return load;
    },
    close() {
      closed = true;
      clearInterval(alive);
      clearInterval(wall);
      clearInterval(shed);
      for (const deployment of deployments()) deployment.close();
    },
  };
}

function keyOf({ project, deployment }: Route): string {
  return `${project}/${deployment}`;
}

function refuse(exchange: Exchange, error: PlatformError): void {
  const response = failureResponse(
    error.code === 'artifact_corrupt' || error.code === 'deployment_unavailable'
      ? failed(error.code, error.details)
      : failed('internal'),
  );
  exchange.send(response.status, response.headerBlock, response.body);
}
