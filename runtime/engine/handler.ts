// Connects the parts of the handler: the listener passes a request, the route table selects its deployment, static
// assets are served before the worker, and an isolate gets all other requests. main.ts and dev.ts choose the
// implementations.
import { PlatformError, type ErrorDetails } from '#core/errors.ts';
import type { EventContent, EventKind } from '#core/event.ts';
import { isObjectKey } from '#core/object-address.ts';
import { ofPreview } from '#core/preview.ts';
import { assetDecision } from './assets/asset-rules.ts';
import { authPath, type AuthRoutes } from './auth/routes.ts';
import type { Deployment } from './serving/deployment.ts';
import { createRouteDeployments, type RouteDeploymentDeps } from './serving/route-deployments.ts';
import { ServedDeployments, type Served, type ServedDependencies } from './serving/served.ts';
import { startForCheck, StartLines, startServed, type StartEnd } from './serving/starts.ts';
import type { ServiceTarget } from '#core/bindings/service.ts';
import type { WorkerCalls } from './bindings/worker-calls.ts';
import { HeadCache } from './http/header-block.ts';
import { createWorkerCalls } from './http/worker-calls.ts';
import { createClientHeaders } from './http/client-address.ts';
import type { ExposedPorts } from './servers/exposed-ports.ts';
import { failureHeaders, sendFailure } from './http/error-pages.ts';
import type { PassGate } from './http/gates.ts';
import type { Exchange } from './http/listener.ts';
import { hostNotFound } from './http/pages.ts';
import { publicOrigin } from './http/public-origin.ts';
import { SIGNED_FILES_PATH } from './http/signed-files.ts';
import { createSkewProtection, type PinnedTarget } from './serving/skew-protection.ts';
import type { DeliveryEnd } from './invocation/delivery.ts';
import { failed, failureResponse, isFailureCode, type FailureCode } from './invocation/outcome.ts';
import type { ObjectLeases } from './bindings/object-leases.ts';
import { LiveObjects } from './serving/objects/live-objects.ts';
import { createObjectOperator, type ObjectOperator } from './serving/object-operator.ts';
import { ObjectEvents } from './serving/object-events.ts';
import { createObjectHomes } from './serving/object-homes.ts';
import { createLocalLeases } from './serving/objects/local-leases.ts';
import { dueAlarm, ObjectAlarms } from './serving/objects/object-alarms.ts';
import type { RouteMatch, Route } from './router/project-routes.ts';

/** Dependencies of a handler. */
export interface HandlerDeps extends RouteDeploymentDeps, ServedDependencies {
  readonly matchRoute: (host: string) => RouteMatch | null;
  /** The token that identifies requests that came through the edge. */
  readonly edgeToken?: string;
  /** Handles requests to hosts of sandboxes, which belong to no deployment; absent if there are no such hosts. */
  readonly exposedPorts?: ExposedPorts;
  /** Sends an event of an object to the engine that has the object. Undefined if there are no other engines. */
  readonly forwardObject?: (link: string, key: string, exchange: Exchange) => void;
  /** Leases of durable objects; undefined if this process has all objects. */
  readonly objectLeases?: ObjectLeases;
  /** The check for hosts with a gate; undefined if there are no such hosts. */
  readonly passGate?: PassGate;
  /** Null: no `/auth/*`. */
  readonly authRoutes: AuthRoutes | null;
  /**
   * The route that a call between projects reaches: that of a branch if the project has the branch, otherwise
   * production. Undefined if there are no such calls.
   */
  readonly calledRoute?: (project: string, branch: string | null) => Route | null;
  /** Finds the route of a deployment by its id. */
  readonly findDeployment: (id: string) => Route | null;
}

/** An open handler. */
export interface Handler {
  onExchange(exchange: Exchange): void;
  /**
   * Delivers an event other than a request to a deployment; never rejects: failures are in the outcome.
   *
   * @param event the event as JSON, as guest/events/ expects it.
   */
  deliver(deployment: string, kind: EventKind, event: EventContent): Promise<DeliveryEnd>;
  /**
   * Starts the worker of an artifact that has no host yet, runs its top level and disposes it; never rejects.
   *
   * @param route its future route: project, plan, variables.
   */
  check(route: Route): Promise<StartEnd>;
  /**
   * Serves a request in this engine, unless its deployment is quarantined; returns false when this engine does not know
   * the deployment.
   *
   * @param key `<project>/<deployment id>`.
   */
  serveHere(key: string, exchange: Exchange): boolean;
  /**
   * Serves a binding call of an ssr project's server; returns false when this engine does not know the deployment.
   *
   * @param key the key of the server: `<project>/<deployment id>/...`
   */
  call(key: string, exchange: Exchange): boolean;
  /** Called when engines have started or stopped: determines again which engine serves each deployment. */
  replace(): void;
  /** Keys of the deployments whose code is running at this moment. */
  running(): string[];
  /**
   * Starts the worker of a route as it will serve, so that its first request finds it ready; if its requests go to
   * another engine, it is started once and not kept. Never rejects.
   */
  start(route: Route): Promise<StartEnd>;
  /** Compiles and starts a route's worker ahead of its first request. */
  warm(route: Route): void;
  /**
   * Closes deployments without a route once they are idle, and compiles new ones. @param changes all routes of the
   * changed projects, and their former routes.
   */
  changeRoutes(changes: { readonly current: readonly Route[]; readonly gone: readonly Route[] }): void;
  /** Operations on durable objects, in whichever engine they are. */
  readonly objects: ObjectOperator;
  /** Called when the engine takes no new work, so that other engines may take over its durable objects. */
  drain(): void;
  /** Number of running and waiting requests. */
  readonly load: number;
  /** Number of durable objects in an isolate, and of WebSockets that this engine keeps for objects. */
  readonly objectCounts: { readonly inMemory: number; readonly sockets: number };
  close(): void;
}

export function createHandler(deps: HandlerDeps): Handler {
  const engineCounters = deps.engine.counters;
  // Memory account of requests to sandboxes, which belong to no deployment.
  const portsMemory = deps.engine.hostMemory.open('sandboxes/ports');

  const clientHeaders = createClientHeaders(deps.trustedProxies, deps.edgeToken);
  const findPinnedTarget = createSkewProtection({
    windowMs: deps.limits.skewProtectionMs,
    protocol: deps.protocol,
    openArtifact: deps.openArtifact,
  });
  const lines = new StartLines();
  const heads = new HeadCache([]);
  const timers = deps.stores.events?.timer ?? null;
  const objects = new LiveObjects({
    store: deps.stores.database ?? null,
    alarms: timers === null ? null : new ObjectAlarms(timers),
    leases: deps.objectLeases ?? createLocalLeases(),
    memory: deps.engine.hostMemory,
    limits: deps.limits,
    deliver: (owner, event) => objectEvents.deliver(owner, event),
  });
  const homes = createObjectHomes({
    find: (route) => served.find(route),
    calledRoute,
    production: (project) => deps.calledRoute?.(project, null) ?? null,
    hasProduction: deps.isProduction !== undefined,
  });
  const objectEvents = new ObjectEvents({
    heads,
    bodyBytesMax: deps.limits.bodyBytesMax,
    namespaceOf: deps.namespaceOf,
    findDeployment: deps.findDeployment,
    branchRoute: (project, branch) => deps.calledRoute?.(project, branch) ?? null,
    homes,
    alarms: objects.alarms,
    forward: deps.forwardObject ?? null,
  });
  const routeDeployments = createRouteDeployments(
    { ...deps, onLog: lines.keep(deps.onLog) },
    {
      clientHeaders,
      fallBackToAssets(exchange, config) {
        const artifact = served.artifactOf(config);
        return artifact === null ? 0 : deps.assets.serve(exchange, artifact);
      },
      objects,
      objectEvents,
      homes,
      sendErrorPage(exchange, config, failure) {
        const artifact = served.artifactOf(config);
        return (
          artifact !== null && deps.assets.serveErrorPage(exchange, artifact, failure.status, failureHeaders(failure))
        );
      },
    },
    workersOf,
  );
  const operator = createObjectOperator({
    objects,
    heads,
    memory: deps.engine.hostMemory.open('objects/operator'),
    bodyBytesMax: deps.limits.bodyBytesMax,
    namespaceOf: deps.namespaceOf,
    findDeployment: deps.findDeployment,
    homes,
    forward: deps.forwardObject,
  });
  const served = new ServedDeployments(deps, routeDeployments, (now) => objects.sweep(now));

  function workersOf(caller: Route): WorkerCalls {
    return createWorkerCalls({
      nameOf: ({ service }) => service?.project ?? caller.project,
      serve: ({ service }, exchange) => serveCall(caller, service, exchange),
      heads,
      bodyBytesMax: deps.limits.bodyBytesMax,
    });
  }

  /** The route of another project for a caller. @throws {PlatformError} `service_not_found`. */
  function calledRoute(caller: Route, { project, previews }: Pick<ServiceTarget, 'project' | 'previews'>): Route {
    const branch = caller.preview === null || previews === 'production' ? null : caller.branch;
    const route = deps.calledRoute?.(project, branch) ?? null;
    // A project of another organization is treated as if it did not exist.
    if (route === null || route.owner?.organization !== caller.owner?.organization)
      throw new PlatformError('service_not_found', { project });
    return route;
  }

  /** Serves a call of another worker in this engine. @throws {PlatformError} when there is no worker to call. */
  function serveCall(caller: Route, service: ServiceTarget | null, exchange: Exchange): void {
    if (service === null) {
      const own = served.open(caller);
      if (own === null) throw new PlatformError('service_not_found', { project: caller.project });
      own.fetch(exchange);
      return;
    }
    const { project } = service;
    const route = calledRoute(caller, service);
    const found = served.find(route);
    const { deployment, remote, artifact } = found;
    if (remote?.isQuarantined === true)
      throw new PlatformError('deployment_unavailable', { deployment: route.deployment, reason: 'it is quarantined' });
    const { callee } = exchange;
    if (callee?.session != null || callee?.entrypoint != null) {
      if (deployment === null || artifact.manifest.server !== undefined)
        throw new PlatformError('service_failed', { project, reason: 'it has no worker with methods, only fetch' });
      deployment.fetch(exchange);
    } else answer(exchange, { ...found, remote: null });
  }

  function onExchange(exchange: Exchange): void {
    const match = deps.matchRoute(exchange.host);
    if (match === null) {
      exchange.memory = portsMemory;
      if (deps.exposedPorts?.take(exchange) === true) return;
      engineCounters.unroutedRequests++;
      hostNotFound(exchange);
      return;
    }
    if (match.gate === null || deps.passGate === undefined) serve(exchange, match.route, match);
    else deps.passGate(exchange, match, serve);
  }

  function serve(exchange: Exchange, route: Route, { others }: RouteMatch): void {
    let found: Served;
    try {
      found = served.find(route);
    } catch (error) {
      engineCounters.refusedRequests++;
      refuse(exchange, error as PlatformError);
      return;
    }
    if (deps.signedFiles !== null && exchange.target.startsWith(SIGNED_FILES_PATH)) {
      deps.signedFiles.serve(exchange, deps.namespaceOf(route.project));
      return;
    }
    if (
      deps.authRoutes !== null &&
      exchange.target.startsWith(authPath) &&
      found.artifact.manifest.bindings['auth'] !== undefined
    ) {
      const site = {
        namespace: ofPreview(deps.namespaceOf(route.project), route.preview),
        origin: publicOrigin(deps.protocol, deps.publicPort ?? null, exchange.host),
        // If the operator sets the port, the port in a client's Host header is ignored.
        askedAt: `${deps.protocol}://${deps.publicPort == null ? exchange.host : exchange.host.replace(/:\d*$/, '')}`,
        vars: route.vars,
      };
      deps.authRoutes.serve(exchange, site, clientHeaders(exchange.headerBlock, exchange.remoteAddress));
      return;
    }
    const pinned = others === null ? null : findPinnedTarget(exchange, route, found.artifact, others);
    if (pinned === null) answer(exchange, found);
    else servePinned(pinned, found);
  }

  /** The exchange of a page that another deployment served, or that learns its own deployment. */
  function servePinned({ exchange, route, file }: PinnedTarget, live: Served): void {
    const status = file === null ? 0 : deps.assets.serve(exchange, file);
    if (status !== 0) {
      engineCounters.assetRequests++;
      live.usage.served(status);
      return;
    }
    answer(exchange, live.route === route ? live : served.find(route));
  }

  function answer(exchange: Exchange, { artifact, deployment, remote, usage }: Served): void {
    const rules = artifact.manifest.assets;
    if (rules !== null && (deployment === null || assetDecision(rules, exchange) === 'asset')) {
      const status = deps.assets.serve(exchange, artifact, deployment === null);
      if (status !== 0) {
        engineCounters.assetRequests++;
        usage.served(status);
        return;
      }
    }
    if (remote !== null && remote.take(exchange)) return;
    deployment?.fetch(exchange);
  }

  function serveHere(key: string, exchange: Exchange): boolean {
    if (operator.serve(key, exchange)) return true;
    if (isObjectKey(key)) return objectEvents.serve(key, exchange);
    const route = deps.findDeployment(key.slice(key.indexOf('/') + 1));
    if (route === null) return false;
    try {
      const { deployment, remote } = served.find(route);
      if (deployment === null) return false;
      if (remote === null || !remote.isQuarantined || !remote.take(exchange)) deployment.fetch(exchange);
    } catch (error) {
      refuse(exchange, error as PlatformError);
    }
    return true;
  }

  function call(key: string, exchange: Exchange): boolean {
    const [project, id = ''] = key.split('/');
    const route = deps.findDeployment(id);
    if (route === null || route.project !== project) return false;
    try {
      const { deployment, remote } = served.find(route);
      if (deployment === null) return false;
      if (remote?.isQuarantined === true)
        refuse(exchange, new PlatformError('deployment_unavailable', { deployment: id, reason: 'it is quarantined' }));
      else deployment.call(exchange);
    } catch (error) {
      refuse(exchange, error as PlatformError);
    }
    return true;
  }

  function deliver(id: string, kind: EventKind, event: EventContent): Promise<DeliveryEnd> {
    const refused = (code: FailureCode, details: ErrorDetails): Promise<DeliveryEnd> =>
      Promise.resolve({ outcome: failed(code, details), result: null, cpuMs: 0 });
    const route = deps.findDeployment(id);
    if (route === null) return refused('deployment_not_found', { deployment: id });
    const due = kind === 'timer' ? dueAlarm(event) : null;
    if (due !== null) return objectEvents.ring(route, due).catch(() => refused('internal', {}));
    let deployment: Deployment | null;
    try {
      ({ deployment } = served.find(route));
    } catch (error) {
      const { code, details } = error as PlatformError;
      return isFailureCode(code) ? refused(code, details) : refused('internal', {});
    }
    if (deployment === null) return refused('no_event_handler', { handler: kind });
    return new Promise((onEnd) => deployment.deliver({ kind, event, onEnd, result: null }));
  }

  return {
    onExchange,
    deliver,
    check: (route) => startForCheck(served, routeDeployments, deps.openArtifact, route),
    start: (route) => startServed(served, lines, route),
    serveHere,
    call,
    replace: () => served.replace(),
    running: () => served.running(),
    warm: (route) => served.warm(route),
    changeRoutes(changes) {
      served.changeRoutes(changes);
      if (changes.gone.length > 0) objects.closeSockets((owner) => objectEvents.isGone(owner));
    },
    objects: operator,
    drain: () => objects.leaveAll(),
    get load() {
      return served.load;
    },
    get objectCounts() {
      return objects.counts;
    },
    close() {
      objects.close();
      served.close();
    },
  };
}

function refuse(exchange: Exchange, error: PlatformError): void {
  const response = failureResponse(
    error.code === 'artifact_corrupt' || error.code === 'deployment_unavailable'
      ? failed(error.code, error.details)
      : failed('internal'),
  );
  sendFailure(exchange, response);
}
