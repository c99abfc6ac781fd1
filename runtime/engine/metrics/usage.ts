// Usage of deployments since it was last taken: invocations, failures and CPU by kind and route, for the ledger of
// the control plane. Counted at the end of each invocation; main.ts sends it to the supervisor once a second, so that
// a dying engine loses at most that. Nothing is allocated for a request whose path was seen before.
import { CPU_BUCKETS, cpuBucket } from '#core/cpu-histogram.ts';
import type { InvocationKind } from '#core/plans.ts';
import type { UsageRow } from '#core/usage-row.ts';

/** Routes of a deployment with rows of their own; others are `*`. */
const ROUTES_MAX = 50;
/** Paths whose route is cached, and their maximum length. */
const PATHS_MAX = 512;
const PATH_CHARS_MAX = 200;
/** Rows taken at a time; others wait for the next time. */
const ROWS_MAX = 5000;
/** Row of static files, which have no worker and no route of their own. */
const FILES = '(files)';
/** Row of code that no request started. */
const NO_REQUEST = '(no request)';

class Count {
  readonly project: string;
  readonly deployment: string;
  readonly kind: InvocationKind;
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
  /** Invocations by their CPU; created on first use. */
  buckets: Uint32Array | null = null;
  /** Whether it is queued to be taken. */
  isWaiting = false;

  constructor(project: string, deployment: string, kind: InvocationKind, route: string) {
    this.project = project;
    this.deployment = deployment;
    this.kind = kind;
    this.route = route;
  }
}

/** One deployment's part of {@link EngineUsage}. */
export interface DeploymentUsage {
  /**
   * @param target of a request; '' for other events.
   * @param budgetMs CPU of its last budget.
   * @param invocation whose id is read when it is the most expensive one.
   */
  ended(
    kind: InvocationKind,
    target: string,
    isFailure: boolean,
    cpuMs: number,
    hostCpuMs: number,
    budgetMs: number,
    invocation: { readonly uid: string },
  ): void;
  /**
   * Code that continued after its invocation, or had none. @param target of a request; '' for other events, and for
   * none.
   */
  burnt(kind: InvocationKind, target: string, cpuMs: number): void;
  /** A file was served. */
  served(): void;
}

/** Usage of all deployments of an engine. */
export class EngineUsage {
  #waiting: Count[] = [];

  open(project: string, deployment: string): DeploymentUsage {
    const routes = new Map<string, Count>();
    const paths = new Map<string, Count>();
    const kinds = new Map<InvocationKind, Count>();
    const waiting = (): Count[] => this.#waiting;

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
        // A copy: a substring would retain the whole text of the request.
        paths.set(Buffer.from(path, 'latin1').toString('latin1'), count);
      }
      return count;
    }

    function ofKind(kind: InvocationKind): Count {
      let count = kinds.get(kind);
      if (count === undefined) kinds.set(kind, (count = new Count(project, deployment, kind, '')));
      return count;
    }

    function wait(count: Count): void {
      if (count.isWaiting) return;
      count.isWaiting = true;
      waiting().push(count);
    }

    return {
      ended(kind, target, isFailure, cpuMs, hostCpuMs, budgetMs, invocation) {
        const count = kind === 'http' ? ofTarget(target) : ofKind(kind);
        if (isFailure) count.failures++;
        count.cpuMs += cpuMs;
        count.hostCpuMs += hostCpuMs;
        (count.buckets ??= new Uint32Array(CPU_BUCKETS))[cpuBucket(budgetMs)]!++;
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
        const count = kind !== 'http' ? ofKind(kind) : target === '' ? ofRoute(NO_REQUEST) : ofTarget(target);
        count.cpuMs += cpuMs;
        wait(count);
      },
      served() {
        const count = ofRoute(FILES);
        count.invocations++;
        wait(count);
      },
    };
  }

  /** Usage since the last call. */
  take(): UsageRow[] {
    if (this.#waiting.length === 0) return [];
    const taken = this.#waiting.slice(0, ROWS_MAX);
    this.#waiting = this.#waiting.slice(ROWS_MAX);
    return taken.map((count) => {
      const { project, deployment, kind, route, invocations, failures, cpuMs, hostCpuMs, cpuMsMax } = count;
      const { worstId: id, worstAt: at, worstIsFailure: isFailure, buckets } = count;
      const cpuCounts = buckets === null ? [] : withoutZeros(buckets);
      buckets?.fill(0);
      count.isWaiting = false;
      count.invocations = count.failures = count.cpuMs = count.hostCpuMs = count.cpuMsMax = 0;
      const costliest = cpuMsMax === 0 ? [] : [{ id, at, cpuMs: cpuMsMax, isFailure }];
      const counted = { invocations, failures, cpuMs, hostCpuMs, cpuMsMax, cpuCounts, costliest };
      return { project, deployment, kind, route, ...counted };
    });
  }
}

function withoutZeros(buckets: Uint32Array): number[] {
  let length = buckets.length;
  while (length > 0 && buckets[length - 1] === 0) length--;
  return Array.from(buckets.subarray(0, length));
}

/** Path segments that are names; numbers, ids and keys are not. */
const NAME = /^(?:[a-z][a-z_.-]{0,31}|v\d{1,2})$/i;

/**
 * The route of a path: its first two segments, with `*` for those that are not names and for all further ones.
 *
 * @example routeOf('/api/users/7') // '/api/users/*'
 * @example routeOf('/posts/8f14e45f') // '/posts/*'
 */
export function routeOf(path: string): string {
  const [, ...parts] = path.split('/', 5);
  const named = parts.filter((part) => part !== '');
  const shown = named.slice(0, 2).map((part) => (NAME.test(part) ? part : '*'));
  if (named.length > 2 && shown.at(-1) !== '*') shown.push('*');
  return `/${shown.join('/')}`;
}
