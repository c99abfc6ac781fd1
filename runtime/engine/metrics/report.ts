// Converts an engine's counters to a report in plain JSON; totals.ts sums the reports of all engines in the supervisor.
// Labels are formatted here, never while a request is served.

/**
 * One sample: the name of the metric (with `_bucket`, `_sum`, `_count` for histograms), its formatted labels, and the
 * value.
 *
 * @example ['platform_invocations_total', 'kind="http",outcome="ok"', 12]
 */
export type Sample = readonly [name: string, labels: string, value: number];

/** The role of a deployment. After its promotion, a deployment is counted separately, as production. */
export interface Serves {
  readonly branch: string;
  readonly target: 'production' | 'preview';
}

/** Counters of one deployment. */
export interface DeploymentReport {
  readonly id: string;
  readonly project: string;
  /** The project and branch that the deployment serves; absent in the row for all other deployments. */
  readonly serves?: Serves;
  /** Labels in addition to those of the deployment. */
  readonly counters: readonly Sample[];
}

/** All counts of an engine since its start. */
export interface MetricsReport {
  /** Never decrease. */
  readonly counters: readonly Sample[];
  /** Current values. */
  readonly gauges: readonly Sample[];
  readonly deployments: readonly DeploymentReport[];
}

/** Key of a row: a deployment and its role. */
export function keyOf(id: string, serves: Serves | undefined): string {
  return serves === undefined ? id : `${id} ${serves.target} ${serves.branch}`;
}

/** Label values of the row that sums the deployments without a separate row. */
export const otherDeployments = { id: 'other', project: 'other' } as const;

/** Labels in the exposition format. */
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
 * @param counts the count of each bucket; there is one more bucket than there are limits
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

/** Whether a value from another process has the shape of a report; its content is still untrusted. */
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
