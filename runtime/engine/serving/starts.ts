// Starts workers without a request: to check a worker before its deployment is published, and to have it ready before
// its first request. Both functions return the worker's log lines.
import type { PlatformError } from '#core/errors.ts';
import type { OpenArtifact } from '#artifacts/artifact-source.ts';
import type { LogLine } from '../invocation/log.ts';
import { failed, isFailureCode, ok, type Outcome } from '../invocation/outcome.ts';
import { DeploymentCounters } from '../metrics/counters.ts';
import type { Route } from '../router/project-routes.ts';
import type { Deployment } from './deployment.ts';
import type { RouteDeploymentDeps, RouteDeployments } from './route-deployments.ts';
import type { ServedDeployments } from './served.ts';

/** The outcome of a start, and the lines that were logged during it. */
export interface StartEnd {
  readonly outcome: Outcome;
  /** At most 100. */
  readonly lines: readonly LogLine[];
}

const LINES_MAX = 100;

/** Collects log lines of workers during their start. */
export class StartLines {
  readonly #open = new Set<{ readonly route: Route; readonly lines: LogLine[] }>();

  /** Wraps `onLog`: forwards each line, and copies it for starts in progress. */
  keep(onLog: RouteDeploymentDeps['onLog']): RouteDeploymentDeps['onLog'] {
    return (config, line) => {
      for (const { route, lines } of this.#open) if (route.deployment === config.id) add(lines, line);
      onLog(config, line);
    };
  }

  /** Runs `start`, and collects the lines that workers of a route log in the meantime. */
  async during(route: Route, start: () => Promise<Outcome>): Promise<StartEnd> {
    const kept = { route, lines: [] };
    this.#open.add(kept);
    try {
      return { outcome: await start(), lines: kept.lines };
    } catch (error) {
      return { outcome: outcomeOf(error), lines: kept.lines };
    } finally {
      this.#open.delete(kept);
    }
  }
}

/**
 * Starts the worker of a route in the same way as for a request. If requests of the deployment go to another engine,
 * the worker is started once and not kept. Never rejects.
 */
export function startServed(served: ServedDeployments, lines: StartLines, route: Route): Promise<StartEnd> {
  return lines.during(route, async () => {
    const { deployment, remote } = served.find(route);
    if (deployment === null) return ok;
    if (remote?.isQuarantined === true)
      return failed('deployment_unavailable', { deployment: route.deployment, reason: 'it is quarantined' });
    const outcome = withoutEviction(await deployment.lanes.start());
    if (remote !== null) deployment.lanes.rest();
    return outcome;
  });
}

/**
 * Starts the worker of an artifact that is not served, runs its top level and disposes it. Never rejects.
 *
 * @param served registers the deployment, so that a start that takes too long is ended.
 * @param route its future route: project, plan, variables.
 */
export async function startForCheck(
  served: ServedDeployments,
  routeDeployments: RouteDeployments,
  openArtifact: (id: string) => OpenArtifact,
  route: Route,
): Promise<StartEnd> {
  const lines: LogLine[] = [];
  let deployment: Deployment | null = null;
  try {
    const artifact = openArtifact(route.artifact);
    if (artifact.manifest.worker === null) return { outcome: ok, lines };
    const counters = new DeploymentCounters(route.deployment, route.project);
    deployment = routeDeployments.openForCheck(route, artifact, counters, (line) => add(lines, line));
    served.tried.add(deployment);
    return { outcome: withoutEviction(await deployment.lanes.start()), lines };
  } catch (error) {
    return { outcome: outcomeOf(error), lines };
  } finally {
    if (deployment !== null) served.tried.delete(deployment);
    deployment?.close();
  }
}

function add(lines: LogLine[], line: LogLine): void {
  if (lines.length < LINES_MAX) lines.push(line);
}

function outcomeOf(error: unknown): Outcome {
  const { code, details } = error as PlatformError;
  return isFailureCode(code) ? failed(code, details) : failed('internal');
}

/** If an isolate is evicted to make room, its worker has not failed. */
function withoutEviction(outcome: Outcome): Outcome {
  return outcome.kind === 'failed' && outcome.details['reason'] === 'evicted' ? ok : outcome;
}
