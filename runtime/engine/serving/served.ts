// The deployments that this engine serves, by route. A deployment is opened by its first request, retired when its
// route is removed, and closed when it is idle.
import type { Limits } from '#core/limits.ts';
import type { OpenArtifact } from '#artifacts/artifact-source.ts';
import type { Placed, Remote } from '../cluster/placement.ts';
import type { Engine } from './engine.ts';
import type { DeploymentCounters } from '../metrics/counters.ts';
import type { DeploymentUsage } from '../metrics/usage.ts';
import type { Route } from '../router/project-routes.ts';
import type { Deployment } from './deployment.ts';
import type { RouteDeployments } from './route-deployments.ts';
import { startUpkeep, type Upkeep } from './upkeep.ts';

/** A deployment as this process serves it. */
export interface Served {
  readonly route: Route;
  readonly artifact: OpenArtifact;
  /** The deployment with the worker; null for static projects. */
  readonly deployment: Deployment | null;
  readonly counters: DeploymentCounters | null;
  readonly usage: DeploymentUsage;
  /** The engine to which its requests are forwarded; null if this engine serves them. */
  remote: Remote | null;
  isProduction: boolean;
}

/** Dependencies of {@link ServedDeployments}. */
export interface ServedDependencies {
  readonly engine: Engine;
  readonly limits: Limits;
  /** @throws {PlatformError} `artifact_corrupt`, `deployment_unavailable`. */
  readonly openArtifact: (id: string) => OpenArtifact;
  /** Whether a route is its project's production; if absent, no route is. */
  readonly isProduction?: (route: Route) => boolean;
  /**
   * Determines the engine to which requests of a deployment are forwarded; if absent, all requests are served here.
   * @param before the previous result.
   */
  readonly remoteOf?: (deployment: string, placed: Placed, before: Remote | null) => Remote | null;
  /** Whether workers of new routes are compiled before their first request. */
  readonly compilesAhead?: boolean;
}

/**
 * The deployments by route object. If the variables, plan or artifact of a route change, it is a new object, and so a
 * new deployment.
 *
 * @example const { deployment } = served.find(route);
 */
export class ServedDeployments {
  /** Deployments that are being checked and are not served. */
  readonly tried = new Set<Deployment>();
  readonly #served = new Map<Route, Served>();
  readonly #retired = new Map<Deployment, DeploymentCounters>();
  readonly #known = new WeakSet<Route>();
  readonly #routeDeployments: RouteDeployments;
  readonly #dependencies: ServedDependencies;
  readonly #upkeep: Upkeep;
  #closed = false;

  /** @param onWall called with the current time about once a second. */
  constructor(dependencies: ServedDependencies, routeDeployments: RouteDeployments, onWall: (now: number) => void) {
    const { engine, limits } = dependencies;
    this.#dependencies = dependencies;
    this.#routeDeployments = routeDeployments;
    this.#upkeep = startUpkeep({
      limits,
      deployments: () => this.#deployments(),
      isEntered: () => engine.scheduler.running > 0,
      beforeAlive: () => engine.growth.look(),
      onWall: () => {
        this.#closeIdle();
        onWall(performance.now());
      },
    });
  }

  /**
   * The deployment of a route, which is opened on first use.
   *
   * @throws {PlatformError} `artifact_corrupt`, `deployment_unavailable`.
   */
  find(route: Route): Served {
    return this.#served.get(route) ?? this.#open(route);
  }

  /** The deployment of a route if it is open, even if the route was removed; null if it is closed. */
  open(route: Route): Deployment | null {
    const served = this.#served.get(route);
    if (served !== undefined) return served.deployment;
    for (const deployment of [...this.#retired.keys(), ...this.tried])
      if (deployment.config.id === route.deployment && deployment.config.project === route.project) return deployment;
    return null;
  }

  /** The open artifact of a deployment; null when it is no longer served. */
  artifactOf(deployment: Deployment['config']): OpenArtifact | null {
    for (const served of this.#served.values()) if (served.deployment?.config === deployment) return served.artifact;
    return null;
  }

  #open(route: Route): Served {
    const { engine, openArtifact, isProduction } = this.#dependencies;
    const artifact = openArtifact(route.artifact);
    const counters =
      artifact.manifest.worker === null
        ? null
        : engine.counters.open(route.deployment, route.project, {
            branch: route.branch,
            target: route.preview === null ? 'production' : 'preview',
          });
    const usage = engine.usage.open(route.project, route.deployment, route.preview);
    const deployment = counters === null ? null : this.#routeDeployments.open(route, artifact, counters, usage);
    if (deployment !== null) deployment.admitted = this.#upkeep.share;
    const served: Served = {
      route,
      artifact,
      deployment,
      counters,
      usage,
      remote: deployment === null ? null : this.#remoteOf(route, deployment, null),
      isProduction: isProduction?.(route) ?? false,
    };
    this.#served.set(route, served);
    return served;
  }

  #remoteOf(route: Route, deployment: Deployment, before: Remote | null): Remote | null {
    return this.#dependencies.remoteOf?.(keyOf(route), deployment.lanes, before) ?? null;
  }

  /** Determines again which engine serves each deployment, after engines have started or stopped. */
  replace(): void {
    for (const [route, served] of this.#served)
      if (served.deployment !== null) served.remote = this.#remoteOf(route, served.deployment, served.remote);
  }

  /** Closes deployments whose route was removed when they are idle, and compiles those of new routes. */
  changeRoutes({ current, gone }: { readonly current: readonly Route[]; readonly gone: readonly Route[] }): void {
    for (const route of current) {
      const served = this.#served.get(route);
      if (served !== undefined) this.#updateProduction(route, served);
      else if (this.#dependencies.compilesAhead === true && !this.#known.has(route)) {
        this.#known.add(route);
        this.#compileLater(route);
      }
    }
    for (const route of gone) {
      const served = this.#served.get(route);
      this.#served.delete(route);
      if (served === undefined || served.deployment === null || served.counters === null) continue;
      this.#retired.set(served.deployment, served.counters);
      served.deployment.lanes.retire();
    }
  }

  /** A deployment keeps its isolate when it becomes production, or stops being production. */
  #updateProduction(route: Route, served: Served): void {
    const isProduction = this.#dependencies.isProduction?.(route) ?? false;
    if (served.isProduction === isProduction) return;
    served.isProduction = isProduction;
    if (isProduction) served.deployment?.promote();
    else served.deployment?.lanes.retire();
  }

  /** The artifact is read when the deployment's turn comes, not while routes change. */
  #compileLater(route: Route): void {
    const { engine, openArtifact } = this.#dependencies;
    engine.compileAhead.add(() => {
      const artifact = openArtifact(route.artifact);
      const { worker } = artifact.manifest;
      return worker === null ? null : { owner: keyOf(route), ...worker, text: () => artifact.workerText() };
    });
  }

  /** Compiles and starts a route's worker ahead of its first request. */
  warm(route: Route): void {
    if (!this.#closed) this.find(route).deployment?.warm();
  }

  /** Keys of the deployments whose code is running at this moment. */
  running(): string[] {
    const running: string[] = [];
    for (const { lanes, config } of this.#deployments())
      if (lanes.isEntered) running.push(`${config.project}/${config.id}`);
    return running;
  }

  /** Number of running and waiting requests. */
  get load(): number {
    let load = 0;
    for (const deployment of this.#deployments()) load += deployment.load;
    return load;
  }

  close(): void {
    this.#closed = true;
    this.#upkeep.close();
    for (const deployment of this.#deployments()) deployment.close();
  }

  #closeIdle(): void {
    for (const [deployment, counters] of this.#retired) {
      if (deployment.load > 0) continue;
      this.#retired.delete(deployment);
      deployment.close();
      this.#dependencies.engine.counters.close(counters);
    }
  }

  *#deployments(): Generator<Deployment> {
    for (const { deployment } of this.#served.values()) if (deployment !== null) yield deployment;
    yield* this.#retired.keys();
    yield* this.tried;
  }
}

function keyOf({ project, deployment }: Route): string {
  return `${project}/${deployment}`;
}
