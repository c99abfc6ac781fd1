// Reads the metrics of both deployments during a step of a guarded release, from the ledger by minute (control/usage/).
// Called by ../judge-next.ts.
import { NO_COUNTS, type SparseCounts } from '#core/histogram.ts';
import type { Sql, Transaction } from '#postgres/sql.ts';

/** Requests of a deployment during a step, without requests answered by files. */
export interface Figures {
  readonly requests: number;
  /** Requests that were answered with a 5xx status. */
  readonly failures: number;
  /**
   * Requests for the comparison of latency and CPU: those after the first, partial minute of the step, in which caches
   * fill and code is compiled.
   */
  readonly measured: number;
  /** Time to first byte of these requests, on `latencyScale`. */
  readonly firstByte: SparseCounts;
  /** Total CPU of these requests, in ms. */
  readonly cpuMs: number;
  /**
   * An upper bound of the sum of the squares of their CPU times, in ms^2, because the ledger only has sums and maxima.
   */
  readonly cpuSquares: number;
}

/** No requests. */
const NO_FIGURES: Figures = {
  requests: 0,
  failures: 0,
  measured: 0,
  firstByte: NO_COUNTS,
  cpuMs: 0,
  cpuSquares: 0,
};

/** Figures of a step. */
export interface StepFigures {
  /** Figures of the new deployment. */
  readonly now: Figures;
  /** Figures of the current production deployment. */
  readonly before: Figures;
}

interface SumRow extends Omit<Figures, 'firstByte' | 'cpuMs' | 'cpuSquares'> {
  readonly deployment_id: string;
  readonly cpu_ms: number;
  readonly cpu_squares: number;
}

interface BucketRow extends SparseCounts {
  readonly deployment_id: string;
}

/** @param tx has a statement timeout. */
export async function readFigures(
  tx: Transaction | Sql,
  step: {
    readonly projectId: string;
    readonly deploymentId: string;
    readonly previousId: string;
    readonly since: Date;
  },
): Promise<StepFigures> {
  const rows = tx`
    SELECT *, cpu_ms + host_cpu_ms AS cpu, minute > date_trunc('minute', ${step.since}::timestamptz) AS is_measured
    FROM control.usage_minute
    WHERE project_id = ${step.projectId} AND minute >= date_trunc('minute', ${step.since}::timestamptz)
      AND deployment_id = ANY(${[step.deploymentId, step.previousId]}) AND kind = 'http' AND route <> '(files)'`;
  // If each value x is at most m ms, the sum of x^2 is at most m times the sum of x.
  const sums = await tx<SumRow[]>`
    SELECT deployment_id, sum(invocations)::bigint AS requests, sum(status_5xx)::bigint AS failures,
      coalesce(sum(invocations) FILTER (WHERE is_measured), 0)::bigint AS measured,
      coalesce(sum(cpu) FILTER (WHERE is_measured), 0) AS cpu_ms,
      coalesce(sum(cpu * cpu_ms_max) FILTER (WHERE is_measured), 0) AS cpu_squares
    FROM (${rows}) AS used GROUP BY deployment_id`;
  const buckets = await tx<BucketRow[]>`
    SELECT deployment_id, array_agg(bucket::int ORDER BY bucket) AS buckets,
      array_agg(count::float ORDER BY bucket) AS counts
    FROM (
      SELECT deployment_id, bucket, sum(count) AS count
      FROM (${rows}) AS used, unnest(first_byte_buckets, first_byte_counts) AS counted (bucket, count)
      WHERE is_measured GROUP BY deployment_id, bucket) AS summed
    GROUP BY deployment_id`;
  const figuresOf = (id: string): Figures => {
    const found = sums.find(({ deployment_id: of }) => of === id);
    if (found === undefined) return NO_FIGURES;
    const { requests, failures, measured, cpu_ms: cpuMs, cpu_squares: cpuSquares } = found;
    const { buckets: at, counts } = buckets.find(({ deployment_id: of }) => of === id) ?? NO_COUNTS;
    return { requests, failures, measured, firstByte: { buckets: at, counts }, cpuMs, cpuSquares };
  };
  return { now: figuresOf(step.deploymentId), before: figuresOf(step.previousId) };
}
