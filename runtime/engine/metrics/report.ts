// What an engine tells of its counters when it is asked: plain JSON, summed over the engines by totals.ts in the
// supervisor. Labels are made into text here and nowhere on the path of a request.

/**
 * One value: metric name (with `_bucket`, `_sum`, `_count` for histograms), its labels as they are printed, the value.
 *
 * @example ['platform_invocations_total', 'kind="http",outcome="ok"', 12]
 */
export type Sample = readonly [name: string, labels: string, value: number];

/** What a deployment is served as. One that is promoted counts anew as production. */
export interface Serves {
  readonly branch: string;
  readonly target: 'production' | 'preview';
}

/** Counters of one deployment. */
export interface DeploymentReport {
  readonly id: string;
  readonly project: string;
  /** Whose resources it works on, with its branch: absent in the row of others. */
  readonly serves?: Serves;
  /** Without the labels of the deployment. */
  readonly counters: readonly Sample[];
}

/** All an engine has counted since it started. */
export interface MetricsReport {
  /** Only ever grow. */
  readonly counters: readonly Sample[];
  /** How things are now. */
  readonly gauges: readonly Sample[];
  readonly deployments: readonly DeploymentReport[];
}

/** A deployment, and what it is served as: what has a row of its own. */
export function keyOf(id: string, serves: Serves | undefined): string {
  return serves === undefined ? id : `${id} ${serves.target} ${serves.branch}`;
}

/** Label values that say that a deployment is one of many without a row of their own. */
export const otherDeployments = { id: 'other', project: 'other' } as const;

/** Labels as the exposition format has them. */
export function labels(pairs: Readonly<Record<string, string>>): string {
  let text = '';
  for (const [name, value] of Object.entries(pairs)) text += `${text === '' ? '' : ','}${name}="${escapeLabel(value)}"`;
  return text;
}

function escapeLabel(value: string): string {
  return value
    .replaceAll('\\', String.raw`\\`)
    .replaceAll('"', String.raw`\"`)
    .replaceAll('\n', String.raw`\n`);
}

/**
 * The samples of a histogram.
 *
 * @param counts of each bucket by itself, one more than there are bounds
 */
export function histogram(
  name: string,
  given: string,
  bounds: readonly number[],
  counts: ArrayLike<number>,
  sum: number,
): Sample[] {
  const samples: Sample[] = [];
  const before = given === '' ? '' : `${given},`;
  let total = 0;
  for (const [at, bound] of bounds.entries())
    samples.push([`${name}_bucket`, `${before}le="${bound}"`, (total += counts[at] ?? 0)]);
  total += counts[bounds.length] ?? 0;
  samples.push(
    [`${name}_bucket`, `${before}le="+Inf"`, total],
    [`${name}_sum`, given, sum],
    [`${name}_count`, given, total],
  );
  return samples;
}

/** Whether something that came from another process is a report; nothing of it is trusted further than that. */
export function isReport(value: unknown): value is MetricsReport {
  const { counters, gauges, deployments } = (value ?? {}) as Record<string, unknown>;
  return (
    areSamples(counters) &&
    areSamples(gauges) &&
    Array.isArray(deployments) &&
    deployments.every((entry) => {
      const { id, project, serves, counters: own } = (entry ?? {}) as Record<string, unknown>;
      return typeof id === 'string' && typeof project === 'string' && isServes(serves) && areSamples(own);
    })
  );
}

function isServes(value: unknown): boolean {
  if (value === undefined) return true;
  const { branch, target } = (value ?? {}) as Record<string, unknown>;
  return typeof branch === 'string' && (target === 'production' || target === 'preview');
}

function areSamples(value: unknown): value is Sample[] {
  return (
    Array.isArray(value) &&
    value.every(
      (sample) =>
        Array.isArray(sample) &&
        typeof sample[0] === 'string' &&
        typeof sample[1] === 'string' &&
        typeof sample[2] === 'number',
    )
  );
}
