// Usage of deployments since the last report: invocations, failures, status classes, latency and CPU by kind and route,
// for the control plane. Counted at the end of each invocation. main.ts sends the counts to the supervisor once a
// second, so that a dying engine loses at most one second. For requests with a known path, nothing is allocated.
import { bucketOf, cpuScale, latencyScale, NO_COUNTS, toSparse } from '#core/histogram.ts';
import type { MeasuredKind } from '#core/bindings/kinds.ts';
import type { InvocationKind } from '#core/plans.ts';
import { ofPreview } from '#core/preview.ts';
import { statusClasses, type UsageKind, type UsageRow } from '#core/usage-row.ts';
import { routeOf } from './routes.ts';

/**
 * Maximum number of routes and names of events of a deployment that have separate rows; all others are summed as `*`.
 */
const ROUTES_MAX = 50;
const EVENTS_MAX = 200;
/** Maximum number of paths whose route is cached, and their maximum length. */
const PATHS_MAX = 512;
const PATH_CHARS_MAX = 200;
/** Maximum number of rows in one report; other rows wait for the next report. */
const ROWS_MAX = 5000;
/** Name of the row for static files, which have no worker and no route. */
const FILES = '(files)';
/** Name of the row for code that no request started. */
const NO_REQUEST = '(no request)';
/** Number of unused histograms that are kept, so that none is allocated for each report. */
const SPARE_MAX = 256;

/** The invocations of one route, by their CPU and latency. */
class Histograms {
  readonly cpu = new Uint32Array(cpuScale.buckets);
  readonly firstByte = new Uint32Array(latencyScale.buckets);
  readonly answer = new Uint32Array(latencyScale.buckets);

  clear(): void {
    this.cpu.fill(0);
    this.firstByte.fill(0);
    this.answer.fill(0);
  }
}

/** Index of a status code in {@link statusClasses}. */
function classOf(status: number): number {
  return status >= 200 && status < 600 ? ((status / 100) | 0) - 2 : statusClasses.length - 1;
}

class Count {
  readonly project: string;
  readonly deployment: string;
  readonly kind: UsageKind;
  readonly route: string;
  invocations = 0;
  failures = 0;
  cpuMs = 0;
  hostCpuMs = 0;
  cpuMsMax = 0;
  /** Id of the most expensive invocation. */
  worstId = '';
  worstAt = 0;
  worstIsFailure = false;
  readonly statuses = statusClasses.map(() => 0);
  /** The histograms; null until an invocation ends, so that only used routes have them. */
  histograms: Histograms | null = null;
  /** Whether the row is queued to be reported. */
  isWaiting = false;

  constructor(project: string, deployment: string, kind: UsageKind, route: string) {
    this.project = project;
    this.deployment = deployment;
    this.kind = kind;
    this.route = route;
  }
}

/** What is counted about an invocation that has ended. */
interface EndedInvocation {
  readonly kind: InvocationKind;
  /** Id of the invocation, which is only read for the most expensive one. */
  readonly uid: string;
  /** Status of the response; 0 if there is none. */
  readonly status: number;
  readonly cpuMs: number;
  readonly hostCpuMs: number;
}

/** The usage of one deployment in {@link EngineUsage}. */
export interface DeploymentUsage {
  /**
   * @param target the target of a request; for another event, the name of its queue, timer, schedule or workflow; ''
   * for an object's event. @param isFailure whether the status is 5xx, or the outcome is not `ok`.
   * @param budgetMs CPU limit of its last budget. @param firstByteMs the time from its arrival to the first byte of its
   * response; negative if it has no response. @param answerMs the time from its arrival to the end of its response;
   * negative if this is not counted.
   */
  ended(
    invocation: EndedInvocation,
    target: string,
    isFailure: boolean,
    budgetMs: number,
    firstByteMs: number,
    answerMs: number,
  ): void;
  /**
   * Counts code that continued after its invocation, or ran without one. @param target the target of a request; '' for
   * other events, and if there is no event.
   */
  burnt(kind: InvocationKind, target: string, cpuMs: number): void;
  /** Counts a served file, or a redirect or an error instead. */
  served(status: number): void;
  /** Counts calls of bindings. @param resource the resource of the binding. */
  calls(kind: MeasuredKind, resource: string): ResourceUsage;
}

/** The counter for calls of one resource. */
interface ResourceUsage {
  /** Called when a call has ended. */
  ended(ms: number, isFailure: boolean): void;
}

/** The usage of all deployments of an engine. */
export class EngineUsage {
  #waiting: Count[] = [];
  #spare: Histograms[] = [];

  /** @param preview slug of the branch whose resources the deployment uses; null means production's resources. */
  open(project: string, deployment: string, preview: string | null = null): DeploymentUsage {
    const routes = new Map<string, Count>();
    const paths = new Map<string, Count>();
    /** Counts of events, by kind and name. */
    const events = new Map<string, Count>();
    const waiting = (): Count[] => this.#waiting;
    const histograms = (): Histograms => this.#spare.pop() ?? new Histograms();

    function ofRoute(route: string): Count {
      let count = routes.get(route);
      if (count === undefined) {
        if (routes.size >= ROUTES_MAX && route !== '*') return ofRoute('*');
        routes.set(route, (count = new Count(project, deployment, 'http', route)));
      }
      return count;
    }

    function ofTarget(target: string): Count {
      const end = target.indexOf('?');
      const path = end < 0 ? target : target.slice(0, end);
      const known = paths.get(path);
      if (known !== undefined) return known;
      const count = ofRoute(routeOf(path));
      if (path.length <= PATH_CHARS_MAX) {
        if (paths.size >= PATHS_MAX) paths.clear();
        // The path is copied, because a substring would retain the whole text of the request.
        paths.set(Buffer.from(path, 'latin1').toString('latin1'), count);
      }
      return count;
    }

    function ofEvent(kind: InvocationKind, name: string): Count {
      const key = `${kind} ${name}`;
      let count = events.get(key);
      if (count === undefined) {
        if (events.size >= EVENTS_MAX && name !== '*') return ofEvent(kind, '*');
        const route = name === '' || name === '*' ? name : ofPreview(name, preview);
        events.set(key, (count = new Count(project, deployment, kind, route)));
      }
      return count;
    }

    function wait(count: Count): void {
      if (count.isWaiting) return;
      count.isWaiting = true;
      waiting().push(count);
    }

    return {
      ended(invocation, target, isFailure, budgetMs, firstByteMs, answerMs) {
        const { kind } = invocation;
        const count = kind === 'http' ? ofTarget(target) : ofEvent(kind, target);
        if (isFailure) count.failures++;
        if (kind === 'http') count.statuses[classOf(invocation.status)]!++;
        count.cpuMs += invocation.cpuMs;
        count.hostCpuMs += invocation.hostCpuMs;
        const { cpu, firstByte, answer } = (count.histograms ??= histograms());
        cpu[bucketOf(cpuScale, budgetMs)]!++;
        if (firstByteMs >= 0) firstByte[bucketOf(latencyScale, firstByteMs)]!++;
        if (answerMs >= 0) answer[bucketOf(latencyScale, answerMs)]!++;
        if (budgetMs > count.cpuMsMax) {
          count.cpuMsMax = budgetMs;
          count.worstId = invocation.uid;
          count.worstAt = Date.now();
          count.worstIsFailure = isFailure;
        }
        count.invocations++;
        wait(count);
      },
      burnt(kind, target, cpuMs) {
        const count = kind !== 'http' ? ofEvent(kind, '') : target === '' ? ofRoute(NO_REQUEST) : ofTarget(target);
        count.cpuMs += cpuMs;
        wait(count);
      },
      served(status) {
        const count = ofRoute(FILES);
        count.invocations++;
        count.statuses[classOf(status)]!++;
        if (status >= 500) count.failures++;
        wait(count);
      },
      calls(kind, resource) {
        const count = new Count(project, deployment, kind, resource);
        return {
          ended(ms, isFailure) {
            count.invocations++;
            if (isFailure) count.failures++;
            (count.histograms ??= histograms()).answer[bucketOf(latencyScale, ms)]!++;
            wait(count);
          },
        };
      },
    };
  }

  /** Returns the usage since the last call. */
  take(): UsageRow[] {
    if (this.#waiting.length === 0) return [];
    const taken = this.#waiting.slice(0, ROWS_MAX);
    this.#waiting = this.#waiting.slice(ROWS_MAX);
    return taken.map((count) => this.#taken(count));
  }

  #taken(count: Count): UsageRow {
    const { project, deployment, kind, route, invocations, failures, cpuMs, hostCpuMs, cpuMsMax, histograms } = count;
    const { worstId: id, worstAt: at, worstIsFailure: isFailure } = count;
    const row: UsageRow = {
      project,
      deployment,
      kind,
      route,
      invocations,
      failures,
      statuses: [...count.statuses],
      cpuMs,
      hostCpuMs,
      cpuMsMax,
      cpuCounts: histograms === null ? [] : withoutZeros(histograms.cpu),
      firstByte: histograms === null ? NO_COUNTS : toSparse(histograms.firstByte),
      answer: histograms === null ? NO_COUNTS : toSparse(histograms.answer),
      costliest: cpuMsMax === 0 ? [] : [{ id, at, cpuMs: cpuMsMax, isFailure }],
    };
    count.isWaiting = false;
    count.invocations = count.failures = count.cpuMs = count.hostCpuMs = count.cpuMsMax = 0;
    count.statuses.fill(0);
    count.histograms = null;
    if (histograms !== null && this.#spare.length < SPARE_MAX) {
      histograms.clear();
      this.#spare.push(histograms);
    }
    return row;
  }
}

function withoutZeros(buckets: Uint32Array): number[] {
  let length = buckets.length;
  while (length > 0 && buckets[length - 1] === 0) length--;
  return Array.from(buckets.subarray(0, length));
}
