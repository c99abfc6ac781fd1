// Joins the parts of the handler: a request comes in from the listener, the route table names its deployment, static
// assets are served before the worker, and an isolate gets the rest. It chooses no implementation: main.ts and dev.ts
// do.
import { PlatformError, type ErrorDetails } from '#core/errors.ts';
import type { EventContent, EventKind } from '#core/event.ts';
import { ofPreview } from '#core/preview.ts';
import type { OpenArtifact } from '#artifacts/artifact-source.ts';
import { assetDecision } from './assets/asset-rules.ts';
import { authPath, type AuthRoutes } from './auth/routes.ts';
import type { Placed, Remote } from './cluster/placement.ts';
import type { Deployment } from './serving/deployment.ts';
import { createRouteDeployments, type RouteDeploymentParts } from './serving/route-deployments.ts';
import { startUpkeep } from './serving/upkeep.ts';
import { createClientHeaders } from './http/client-address.ts';
import type { ExposedPorts } from './servers/exposed-ports.ts';
import type { PassGate } from './http/gates.ts';
import type { Exchange } from './http/listener.ts';
import { hostNotFound } from './http/pages.ts';
import { publicOrigin } from './http/public-origin.ts';
import { SIGNED_FILES_PATH } from './http/signed-files.ts';
import { createSkewProtection, type Aim } from './http/skew-protection.ts';
import type { DeliveryEnd } from './invocation/delivery.ts';
import type { LogLine } from './invocation/log.ts';
import { failed, failureResponse, isFailureCode, ok, type FailureCode, type Outcome } from './invocation/outcome.ts';
import { DeploymentCounters } from './metrics/counters.ts';
import type { DeploymentUsage } from './metrics/usage.ts';
import type { Lead, Route } from './router/project-routes.ts';

/** What a handler is made of. */
export interface HandlerParts extends RouteDeploymentParts {
  readonly findLead: (host: string) => Lead | null;
  /** By it requests over the edge are known. */
  readonly edgeToken?: string;
  /** Hosts of sandboxes, which no deployment has; absent: there are none. */
  readonly exposedPorts?: ExposedPorts;
  /** For hosts with a gate; absent where none has one. */
  readonly passGate?: PassGate;
  /** @throws {PlatformError} `artifact_corrupt`, `deployment_unavailable`. */
  readonly openArtifact: (id: string) => OpenArtifact;
  /** Null: no `/auth/*`. */
  readonly authRoutes: AuthRoutes | null;
  /** The route of a deployment by its id. */
  readonly findDeployment: (id: string) => Route | null;
  /** Where a deployment's requests go instead; null: all are served here. `before`: what it said last. */
  readonly remoteOf?: (deployment: string, placed: Placed, before: Remote | null) => Remote | null;
  /** Whether workers of new routes are compiled before anybody asks for them. */
  readonly compilesAhead?: boolean;
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
  deliver(deployment: string, kind: EventKind, event: EventContent): Promise<DeliveryEnd>;
  /**
   * Starts the worker of an artifact that no host leads to yet, runs its top level and disposes it; never rejects.
   *
   * @param route what it is going to be: its project, plan, variables.
   */
  check(route: Route): Promise<CheckEnd>;
  /**
   * Serves a request in this engine, unless its deployment is quarantined; false when this engine does not know it.
   *
   * @param key `<project>/<deployment id>`.
   */
  serveHere(key: string, exchange: Exchange): boolean;
  /**
   * A server of an ssr project calls a binding; false when this engine does not know its deployment.
   *
   * @param key of the server: `<project>/<deployment id>/...`
   */
  call(key: string, exchange: Exchange): boolean;
  /** Engines came or went: asks for every remote again. */
  replace(): void;
  /** Deployments whose code is running at this moment, as keys. */
  running(): string[];
  /**
   * Starts the worker of a route as it is going to serve, so that its first request finds it ready; where its requests
   * go to another engine, it is started once and not kept. Never rejects.
   */
  start(route: Route): Promise<CheckEnd>;
  /** Compiles and starts a route's worker ahead of its first request. */
  warm(route: Route): void;
  /**
   * Closes deployments whose route is gone, once they are idle, and has those of new ones compiled. @param changes all
   * routes of the projects that changed, and those that they have no more.
   */
  changeRoutes(changes: { readonly current: readonly Route[]; readonly gone: readonly Route[] }): void;
  /** Requests that run or wait. */
  readonly load: number;
  close(): void;
}

/** A deployment as this process serves it. */
interface Served {
  readonly route: Route;
  readonly artifact: OpenArtifact;
  /** Null for static projects. */
  readonly deployment: Deployment | null;
  readonly counters: DeploymentCounters | null;
  readonly usage: DeploymentUsage;
  /** Where its requests go instead. */
  remote: Remote | null;
  /** It is what its project serves. */
  isProduction: boolean;
}

/** Lines of a worker's top level that a check answers with. */
const CHECK_LINES_MAX = 100;

export function createHandler(parts: HandlerParts): Handler {
  // By route object: a route whose variables, plan or artifact change is another object, and so another deployment.
  const served = new Map<Route, Served>();
  const retired = new Map<Deployment, DeploymentCounters>();
  const known = new WeakSet<Route>();
  let closed = false;

  const engineCounters = parts.engine.counters;
  // Of what goes to sandboxes, which no deployment answers.
  const portsMemory = parts.engine.hostMemory.open('sandboxes/ports');

  const clientHeaders = createClientHeaders(parts.trustedProxies, parts.edgeToken);
  const aimRequest = createSkewProtection({
    windowMs: parts.limits.skewProtectionMs,
    protocol: parts.protocol,
    openArtifact: parts.openArtifact,
  });
  const isProduction = (route: Route): boolean => parts.isProduction?.(route) ?? false;
  /** Starts that want to know what their worker writes. */
  const hearing = new Set<{ readonly route: Route; readonly lines: LogLine[] }>();
  const onLog: HandlerParts['onLog'] = (config, line) => {
    for (const { route, lines } of hearing)
      if (route.deployment === config.id && lines.length < CHECK_LINES_MAX) lines.push(line);
    parts.onLog(config, line);
  };
  const routeDeployments = createRouteDeployments(
    { ...parts, onLog },
    {
      clientHeaders,
      passThrough: (exchange, config) => {
        const found = [...served.values()].find(({ deployment }) => deployment?.config === config);
        return found !== undefined && parts.assets.serve(exchange, found.artifact);
      },
    },
  );

  function open(route: Route): Served {
    const artifact = parts.openArtifact(route.artifact);
    const counters =
      artifact.manifest.worker === null
        ? null
        : engineCounters.open(route.deployment, route.project, {
            branch: route.branch,
            target: route.preview === null ? 'production' : 'preview',
          });
    const usage = parts.engine.usage.open(route.project, route.deployment);
    const deployment = counters === null ? null : routeDeployments.open(route, artifact, counters, usage);
    if (deployment !== null) deployment.admitted = upkeep.share;
    const remote = deployment === null ? null : (parts.remoteOf?.(keyOf(route), deployment, null) ?? null);
    const opened: Served = { route, artifact, deployment, counters, usage, remote, isProduction: isProduction(route) };
    served.set(route, opened);
    return opened;
  }

  /** Looked up when it is its turn: a change of routes reads no artifact. */
  function compileLater(route: Route): void {
    parts.engine.compileAhead.add(() => {
      const artifact = parts.openArtifact(route.artifact);
      const { worker } = artifact.manifest;
      return worker === null ? null : { owner: keyOf(route), ...worker, text: () => artifact.workerText() };
    });
  }

  function onExchange(exchange: Exchange): void {
    const lead = parts.findLead(exchange.host);
    if (lead === null) {
      exchange.memory = portsMemory;
      if (parts.exposedPorts?.take(exchange) === true) return;
      engineCounters.unroutedRequests++;
      hostNotFound(exchange);
      return;
    }
    if (lead.gate === null || parts.passGate === undefined) serve(exchange, lead.route, lead);
    else parts.passGate(exchange, lead, serve);
  }

  function serve(exchange: Exchange, route: Route, { others }: Lead): void {
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
    if (parts.signedFiles !== null && exchange.target.startsWith(SIGNED_FILES_PATH)) {
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
        origin: publicOrigin(parts.protocol, parts.publicPort ?? null, exchange.host),
        // Where the operator says the port, what a client writes behind the host is nothing.
        askedAt: `${parts.protocol}://${parts.publicPort == null ? exchange.host : exchange.host.replace(/:\d*$/, '')}`,
        vars: route.vars,
      };
      parts.authRoutes.serve(exchange, site, clientHeaders(exchange.headerBlock, exchange.remoteAddress));
      return;
    }
    const aim = others === null ? null : aimRequest(exchange, route, found.artifact, others);
    if (aim === null) answer(exchange, found);
    else aimed(aim, found);
  }

  /** For a page of another deployment, or a page that is told which deployment it is of. */
  function aimed({ exchange, route, file }: Aim, live: Served): void {
    if (file !== null && parts.assets.serve(exchange, file)) {
      engineCounters.assetRequests++;
      live.usage.served();
      return;
    }
    answer(exchange, live.route === route ? live : (served.get(route) ?? open(route)));
  }

  function answer(exchange: Exchange, { artifact, deployment, remote, usage }: Served): void {
    const rules = artifact.manifest.assets;
    if (
      rules !== null &&
      (deployment === null || assetDecision(rules, exchange) === 'asset') &&
      parts.assets.serve(exchange, artifact, deployment === null)
    ) {
      engineCounters.assetRequests++;
      usage.served();
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

  function call(key: string, exchange: Exchange): boolean {
    const [project, id = ''] = key.split('/');
    const route = parts.findDeployment(id);
    if (route === null || route.project !== project) return false;
    try {
      const { deployment, remote } = served.get(route) ?? open(route);
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
    const onLog = (line: LogLine): void => void (lines.length < CHECK_LINES_MAX && lines.push(line));
    let deployment: Deployment | null = null;
    try {
      const artifact = parts.openArtifact(route.artifact);
      if (artifact.manifest.worker === null) return { outcome: ok, lines };
      deployment = routeDeployments.openForCheck(route, artifact, counters, onLog);
      checked.add(deployment);
      return { outcome: withoutEviction(await deployment.start()), lines };
    } catch (error) {
      return { outcome: outcomeOf(error), lines };
    } finally {
      if (deployment !== null) checked.delete(deployment);
      deployment?.close();
    }
  }

  async function start(route: Route): Promise<CheckEnd> {
    const heard = { route, lines: [] };
    hearing.add(heard);
    try {
      const { deployment, remote } = served.get(route) ?? open(route);
      if (deployment === null) return { outcome: ok, lines: heard.lines };
      if (remote?.isQuarantined === true) {
        const details = { deployment: route.deployment, reason: 'it is quarantined' };
        return { outcome: failed('deployment_unavailable', details), lines: heard.lines };
      }
      const outcome = withoutEviction(await deployment.start());
      if (remote !== null) deployment.rest();
      return { outcome, lines: heard.lines };
    } catch (error) {
      return { outcome: outcomeOf(error), lines: heard.lines };
    } finally {
      hearing.delete(heard);
    }
  }

  function* deployments(): Generator<Deployment> {
    for (const { deployment } of served.values()) if (deployment !== null) yield deployment;
    yield* retired.keys();
    yield* checked;
  }

  /** Whoever becomes production, or was, is the same deployment in the same isolate. */
  function lead(route: Route, entry: Served): void {
    const leads = isProduction(route);
    if (entry.isProduction === leads) return;
    entry.isProduction = leads;
    if (leads) entry.deployment?.promote();
    else entry.deployment?.retire();
  }

  const upkeep = startUpkeep({
    limits: parts.limits,
    deployments,
    isEntered: () => parts.engine.scheduler.running > 0,
    beforeAlive: () => parts.engine.growth.look(),
    onWall() {
      for (const [deployment, counters] of retired) {
        if (deployment.load > 0) continue;
        retired.delete(deployment);
        deployment.close();
        engineCounters.close(counters);
      }
    },
  });

  return {
    onExchange,
    deliver,
    check,
    start,
    serveHere,
    call,
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
    changeRoutes({ current, gone }) {
      for (const route of current) {
        const entry = served.get(route);
        if (entry !== undefined) lead(route, entry);
        else if (parts.compilesAhead === true && !known.has(route)) {
          known.add(route);
          compileLater(route);
        }
      }
      for (const route of gone) {
        const entry = served.get(route);
        served.delete(route);
        if (entry === undefined || entry.deployment === null || entry.counters === null) continue;
        retired.set(entry.deployment, entry.counters);
        entry.deployment.retire();
      }
    },
    get load() {
      let load = 0;
      for (const deployment of deployments()) load += deployment.load;
      return load;
    },
    close() {
      closed = true;
      upkeep.close();
      for (const deployment of deployments()) deployment.close();
    },
  };
}

function outcomeOf(error: unknown): Outcome {
  const { code, details } = error as PlatformError;
  return isFailureCode(code) ? failed(code, details) : failed('internal');
}

/** An isolate that made room for another was no failure of its worker. */
function withoutEviction(outcome: Outcome): Outcome {
  return outcome.kind === 'failed' && outcome.details['reason'] === 'evicted' ? ok : outcome;
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
