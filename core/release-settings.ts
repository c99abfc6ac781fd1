// `release` in platform.yaml and in a project's settings: the steps of a guarded release, and its limits. Read by the
// parser, the check of manifests and control/releases/guarded/. Pure.

/** Settings of a guarded release, as in platform.yaml. */
export interface ReleaseSettings {
  /** Rising shares of the visitors in percent; the last share is 100. */
  readonly steps: readonly number[];
  /** Duration of each step. */
  readonly minutes: number;
  /** How many more requests may fail than before, in percentage points, such as `1%`. */
  readonly errors: string;
  /** Limit of the p99 of the time to first byte, relative to before, such as `1.5x`. */
  readonly p99: string;
  /** Limit of the CPU per request, relative to before, such as `2x`. */
  readonly cpu: string;
}

/** The defaults. */
export const defaultReleaseSettings: ReleaseSettings = {
  steps: [5, 25, 100],
  minutes: 5,
  errors: '1%',
  p99: '1.5x',
  cpu: '2x',
};

/** Patterns and ranges, for the schemas of platform.yaml, of manifests and of the API. */
export const releaseRules = {
  stepsMax: 10,
  percentMin: 1,
  percentMax: 100,
  minutesMin: 1,
  minutesMax: 240,
  errors: '^(?:100|\\d{1,2}(?:\\.\\d{1,2})?)%$',
  factor: '^[1-9]\\d?(?:\\.\\d{1,2})?x$',
} as const;

/**
 * A problem of the steps that a schema cannot express, or null.
 *
 * @example stepsProblem([25, 5, 100]) // 'must rise: 5 follows 25'
 */
export function stepsProblem(steps: readonly number[]): string | null {
  const at = steps.findIndex((percent, index) => index > 0 && percent <= steps[index - 1]!);
  if (at > 0) return `must rise: ${steps[at]} follows ${steps[at - 1]}`;
  const last = steps.at(-1);
  if (last === 100) return null;
  return last === undefined ? 'must not be empty' : `must end with 100, not with ${last}`;
}

/** Limits of a release as numbers. */
interface ReleaseLimits {
  /** A share: 0.01 for `1%`. */
  readonly errors: number;
  /** Factors: 1.5 for `1.5x`. */
  readonly p99: number;
  readonly cpu: number;
}

/** The limits of valid settings as numbers. */
export function limitsOf({ errors, p99, cpu }: ReleaseSettings): ReleaseLimits {
  return { errors: Number.parseFloat(errors) / 100, p99: Number.parseFloat(p99), cpu: Number.parseFloat(cpu) };
}
