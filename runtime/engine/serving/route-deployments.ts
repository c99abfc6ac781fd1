// Creates the deployment of a route: its configuration, its host functions with the bindings of its project, and the
// shared dependencies of the engine. handler.ts calls it for deployments that it serves, and for deployments that it
// only checks.
import { createHash } from 'node:crypto';
import { descriptorOf } from '#core/bindings/kinds.ts';
import { parseObject } from '#core/bindings/object.ts';
import type { Limits } from '#core/limits.ts';
import type { ServerRules } from '#core/manifest.ts';
import type { ServerSpec } from '#core/ssr/protocol.ts';
import { pooledVariables } from '#core/bindings/hyperdrive.ts';
import { AI_TOKEN_VARIABLE, LOCAL_ORGANIZATION } from '#core/ai-caller.ts';
import { objectClassKey } from '#core/object-address.ts';
import { ofPreview } from '#core/preview.ts';
import { toWorkerText } from '#core/worker-text.ts';
import type { OpenArtifact } from '#artifacts/artifact-source.ts';
import type { AssetServer } from '../assets/assets.ts';
import { createAiCalls } from '../bindings/ai.ts';
import { createAssetCalls } from '../bindings/assets.ts';
import type { BindingStores, BindingTools } from '../bindings/bindings.ts';
import { createExportCalls } from '../bindings/service.ts';
import type { WorkerCalls } from '../bindings/worker-calls.ts';
import { createCacheCalls, type CacheStore } from '../bindings/cache.ts';
import { createObjectCalls, type ObjectClass } from '../bindings/object.ts';
import type { HostFunctions } from '../bridge/host-calls.ts';
import type { Engine } from './engine.ts';
import { createTrust } from '../http/client-address.ts';
import { publicOrigin } from '../http/public-origin.ts';
import { createProxyRequestIds } from '../http/request-id.ts';
import type { SignedFiles } from '../http/signed-files.ts';
import { createInvocationIds } from '../invocation/invocation-id.ts';
import type { LogLine } from '../invocation/log.ts';
import type { RequestRecord } from '../invocation/request-record.ts';
import { createBindingCalls } from '../kinds/calls.ts';
import type { DeploymentCounters } from '../metrics/counters.ts';
import type { DeploymentUsage } from '../metrics/usage.ts';
import type { Route } from '../router/project-routes.ts';
import type { TelemetryRecorder } from '../telemetry/recorder.ts';
import { noServers, type ServerLink } from '../servers/server-link.ts';
import type { DeploymentConfig, ServingDeps } from './config.ts';
import { objectSocketCalls, objectStorageCall } from './objects/isolate-objects.ts';
import type { LiveObjects } from './objects/live-objects.ts';
import type { ObjectEvents } from './object-events.ts';
import type { ObjectHomes } from './object-homes.ts';
import { prepareDatabases, type ProjectDatabases } from './database-preparation.ts';
import { Deployment, type DeploymentDeps } from './deployment.ts';
import type { Explain } from './failed-requests.ts';

/** Used for deployments without a worker. */
const NO_TEXT = toWorkerText(Buffer.alloc(0));

/** Dependencies for creating deployments. */
export interface RouteDeploymentDeps {
  readonly engine: Engine;
  readonly limits: Limits;
  readonly protocol: 'http' | 'https';
  /** Port in public URLs; null means the port of the request. */
  readonly publicPort?: number | null;
  /** Addresses and CIDR ranges of trusted proxies. */
  readonly trustedProxies: readonly string[];
  readonly assets: AssetServer;
  readonly cache: CacheStore;
  readonly stores: BindingStores;
  /**
   * Prepares databases; null without a database service, or if databases are ready before a deployment is published.
   */
  readonly databases: ProjectDatabases | null;
  /** Whether a route is its project's production; if absent, no route is. */
  readonly isProduction?: (route: Route) => boolean;
  /** Signed file URLs; null if there are none. */
  readonly signedFiles: SignedFiles | null;
  /** The production host of a project. */
  readonly hostOf: (project: string) => string;
  /** The namespace of a project's bindings: its own name, or that of the workspace whose bindings it shares. */
  readonly namespaceOf: (project: string) => string;
  /**
   * Creates responses with details for the author of the worker; if absent, responses only have details that visitors
   * may see.
   */
  readonly explain?: Explain;
  /** The link to servers of ssr projects; undefined if none run with this engine. */
  readonly servers?: ServerLink;
  readonly onLog: (deployment: DeploymentConfig, line: LogLine) => void;
  readonly onRequest: ((record: RequestRecord) => void) | null;
  /** Whether `onRequest` receives only failed requests. */
  readonly onlyFailures?: boolean;
  /** How events reach the server of an ssr deployment; if absent, they do not. */
  readonly appVariablesOf?: (route: Route) => Readonly<Record<string, string>>;
  /** Records log lines, invocations and spans for the control plane; if absent, nothing is recorded. */
  readonly telemetry?: Pick<TelemetryRecorder, 'open'>;
}

/** Creates the deployments of routes. */
export interface RouteDeployments {
  /** Opens a deployment to serve it. Its migrations run before its first request. */
  open(route: Route, artifact: OpenArtifact, counters: DeploymentCounters, usage: DeploymentUsage): Deployment;
  /** Opens a deployment to check it. Nothing is prepared, and its log lines are returned to the caller. */
  openForCheck(
    route: Route,
    artifact: OpenArtifact,
    counters: DeploymentCounters,
    onLog: (line: LogLine) => void,
  ): Deployment;
}

/**
 * @param serving dependencies shared by all deployments.
 * @param workersOf how the worker of a route calls other workers.
 */
export function createRouteDeployments(
  deps: RouteDeploymentDeps,
  serving: Pick<ServingDeps, 'clientHeaders' | 'fallBackToAssets' | 'sendErrorPage'> & {
    readonly objects: LiveObjects;
    readonly objectEvents: Pick<ObjectEvents, 'reach' | 'connect'>;
    readonly homes: Pick<ObjectHomes, 'own' | 'of'>;
  },
  workersOf: (route: Route) => WorkerCalls,
): RouteDeployments {
  const { engine } = deps;
  const shared: Omit<DeploymentDeps, 'counters' | 'usage' | 'hostFunctions' | 'telemetry'> = {
    ...serving,
    engineCounters: engine.counters,
    pool: engine.pool,
    hostMemory: engine.hostMemory,
    limits: deps.limits,
    protocol: deps.protocol,
    onLog: deps.onLog,
    onRequest: deps.onRequest,
    recordsAll: deps.onlyFailures !== true,
    ids: createInvocationIds(),
    explain: deps.explain ?? null,
    servers: deps.servers ?? noServers,
    proxyRequestId: createProxyRequestIds(deps.trustedProxies.length === 0 ? null : createTrust(deps.trustedProxies)),
  };

  /** The engine's host functions, and the project's own: its cache and its files. */
  function hostFunctionsOf(route: Route, artifact: OpenArtifact, usage: DeploymentUsage): HostFunctions {
    const { hostFunctions, counters, work } = engine;
    const { project, branch, deployment, preview } = route;
    const cache = createCacheCalls(ofPreview(project, preview), deps.cache, {
      entryBytesMax: deps.limits.cacheEntryBytesMax,
    });
    const owner = { namespace: deps.namespaceOf(project), project, branch, deployment, preview };
    const workers = workersOf(route);
    const tools: BindingTools = {
      workers,
      signUrl: signUrlOf(route),
      work,
      cache: deps.cache,
      cacheEntryBytesMax: deps.limits.cacheEntryBytesMax,
      pools: { ...engine.pooled, places: engine.openFetches, vars: route.vars },
      sandboxes: engine.sandboxes === null ? null : { transport: engine.sandboxes, places: engine.openFetches },
    };
    const bindings = createBindingCalls(owner, artifact.manifest, deps.stores, tools, usage);
    const objects = objectCalls(route, artifact);
    const own = counters.calls.count({
      ...cache,
      ...bindings,
      ...createExportCalls(workers),
      ...assetCalls(artifact),
      ...aiCalls(route, artifact),
      ...objects?.async,
    });
    const calls = { ...hostFunctions, async: { ...hostFunctions.async, ...own } };
    if (objects === null) return calls;
    const { sync, waiting } = hostFunctions;
    return {
      ...calls,
      sync: { ...sync, ...objects.sync, ...objectSocketCalls },
      waiting: { ...waiting, ...objectStorageCall },
    };
  }

  function objectCalls(
    route: Route,
    { manifest: { objects, objectClasses = {} } }: OpenArtifact,
  ): ReturnType<typeof createObjectCalls> | null {
    if (objects === undefined) return null;
    const classIn = (text: string): ObjectClass => {
      const { class: written, owner } = parseObject(text);
      const home =
        owner === null ? serving.homes.own(route, objectClasses, written) : serving.homes.of(route, owner, written);
      const { route: found, firstName } = home;
      return {
        key: objectClassKey(found.project, found.preview, firstName),
        class: home.class,
        firstName,
        isForeign: owner !== null || home.isReceived,
        project: owner?.project ?? null,
        reach: (address, target, request) => serving.objectEvents.reach(found, address, target, request),
        connect: (address, session) => serving.objectEvents.connect(found, address, session),
      };
    };
    const own = new Map<string, ObjectClass>();
    return createObjectCalls({
      find(binding) {
        const known = own.get(binding);
        if (known !== undefined) return known;
        if (!Object.hasOwn(objects, binding)) return null;
        const found = classIn(objects[binding]!);
        // Objects of another project are looked up each time, because the branch that has them may change, and a
        // transfer may end.
        if (!found.isForeign) own.set(binding, found);
        return found;
      },
      places: engine.openFetches,
    });
  }

  function aiCalls(route: Route, artifact: OpenArtifact): HostFunctions['async'] {
    if (!artifact.manifest.ai) return {};
    const { owner, project, deployment: deploymentId, branch, plan } = route;
    // A deployment published without a control plane belongs to the operator.
    const { organization: organizationId, project: projectId } = owner ?? { organization: LOCAL_ORGANIZATION, project };
    const caller = { organizationId, projectId, deploymentId, branch, plan };
    const token = route.vars[AI_TOKEN_VARIABLE] ?? null;
    return createAiCalls({ transport: engine.ai, places: engine.openFetches, caller, token });
  }

  function signUrlOf({ project }: Route): BindingTools['signUrl'] {
    const { signedFiles } = deps;
    if (signedFiles === null) return null;
    return (host) =>
      (...grant) =>
        signedFiles.sign(publicOrigin(deps.protocol, deps.publicPort ?? null, host ?? deps.hostOf(project)), ...grant);
  }

  // `env.ASSETS.fetch` returns the same response as the asset layer.
  function assetCalls(artifact: OpenArtifact): HostFunctions['async'] {
    if (artifact.manifest.assets?.binding == null) return {};
    return createAssetCalls((request) => deps.assets.fetch(request, artifact));
  }

  function objectsOf(
    { project, branch, preview }: Route,
    { manifest }: OpenArtifact,
  ): Pick<DeploymentConfig, 'objects'> {
    if (manifest.objects === undefined) return {};
    const classes = manifest.objectClasses ?? {};
    return { objects: { namespace: deps.namespaceOf(project), branch, preview, classes } };
  }

  return {
    open(route, artifact, counters, usage) {
      const { databases } = deps;
      const prepare =
        databases === null
          ? null
          : prepareDatabases(
              databases,
              deps.namespaceOf(route.project),
              route,
              artifact,
              () => deps.isProduction?.(route) ?? false,
            );
      const hostFunctions = hostFunctionsOf(route, artifact, usage);
      const telemetry = deps.telemetry?.open(route.project, route.deployment) ?? null;
      return new Deployment(
        { ...configOf(route, artifact, deps.appVariablesOf), ...objectsOf(route, artifact), prepare },
        { ...shared, counters, usage, hostFunctions, telemetry },
      );
    },
    openForCheck(route, artifact, counters, onLog) {
      const usage = engine.usage.open(route.project, route.deployment, route.preview);
      const hostFunctions = hostFunctionsOf(route, artifact, usage);
      return new Deployment(configOf(route, artifact, deps.appVariablesOf), {
        ...shared,
        counters,
        usage,
        hostFunctions,
        telemetry: null,
        onLog: (_deployment, line) => onLog(line),
      });
    },
  };
}

function configOf(
  route: Route,
  artifact: OpenArtifact,
  appVariablesOf: RouteDeploymentDeps['appVariablesOf'],
): Omit<DeploymentConfig, 'prepare'> {
  const { manifest } = artifact;
  const bindings: Record<string, string | null> = {};
  for (const [kind, names] of Object.entries(manifest.bindings)) {
    const module = descriptorOf(kind)?.module ?? null;
    for (const name of Object.keys(names)) bindings[name] = module;
  }
  // Assets are available under their declared name and under a fixed name (docs/static-files.md).
  if (manifest.bindings['auth'] !== undefined) bindings['PLATFORM_AUTH'] = 'auth';
  if (manifest.assets?.binding) bindings[manifest.assets.binding] = 'assets';
  if (manifest.ai) bindings['AI'] = 'ai';
  for (const name of Object.keys(manifest.objects ?? {})) bindings[name] = 'object';
  const { server } = manifest;
  const pooled = pooledVariables(manifest.bindings);
  const own = pooled.size === 0 ? route.vars : without(route.vars, pooled);
  const vars = server === undefined ? own : { ...own, ...appVariablesOf?.(route) };
  return {
    id: route.deployment,
    project: route.project,
    organization: route.owner?.organization ?? null,
    plan: route.plan,
    vars,
    bindings,
    code: () => ({ text: artifact.workerText() ?? NO_TEXT, hash: manifest.worker?.hash ?? '' }),
    sourceMap: () => artifact.sourceMap(),
    server: server === undefined ? null : serverOf({ ...route, vars }, server),
  };
}

/** The accounts of pools are not passed to the isolate. */
function without(vars: Route['vars'], names: ReadonlySet<string>): Route['vars'] {
  return Object.fromEntries(Object.entries(vars).filter(([name]) => !names.has(name)));
}

/** With other variables, the deployment needs another process. */
function serverOf({ project, deployment, artifact, vars }: Route, server: ServerRules): ServerSpec {
  const seen = createHash('sha256').update(JSON.stringify(vars)).digest('hex').slice(0, 16);
  return { key: `${project}/${deployment}/${seen}`, project, deployment, artifact, server, vars };
}
