// The operations of the broker on workflows, over `Sql`: claims, and results of attempts at a run.
import type { DeliveryLimits } from '#core/limits.ts';
import type { Wake } from '#postgres/wake.ts';
import type { StoredStep } from '../engine/bindings/workflow.ts';
import { createClaims, type Claims, type LaneRow, type Lanes } from './claims-sql.ts';
import type { Sql } from './sql.ts';

/** A claimed run. */
interface RunRow extends LaneRow {
  readonly execution_id: string;
  readonly deployment: string;
  readonly input: string;
  readonly project: string;
  readonly branch: string;
  readonly created_at: number;
  readonly trace: string | null;
  /** When the first attempt started; null if none has started yet. */
  readonly started_at: number | null;
}

/** The result of an attempt at a run. */
type RunEnd =
  | { readonly status: 'completed'; readonly output: string }
  | { readonly status: 'failed'; readonly error: string }
  | { readonly status: 'suspended' };

/** The operations of the broker on workflows. */
export interface WorkflowDeliveries {
  readonly lanes: Lanes;
  readonly claims: Claims<RunRow>;
  /** Begins an attempt, and returns its lease and the run's completed steps; null if the lease is lost. */
  begin(row: RunRow, now: number): Promise<{ lease: string; steps: StoredStep[] } | null>;
  settle(row: RunRow, end: RunEnd, now: number): Promise<void>;
  /** Whether a step of the run has ended since then. */
  hasProgressed(row: RunRow, since: number): Promise<boolean>;
  /** Deletes runs that ended long ago. */
  sweep(now: number): Promise<void>;
}

/** A step, as read by the bindings. */
export const stepShown = `name, kind, status, attempts, result, error, wake_at AS "wakeAt", event_type AS "eventType",
  started_at AS "startedAt", ended_at AS "endedAt"`;
const SWEEP_ROWS = 500;

/** Claims and settles the runs in these lanes. */
export function createWorkflowDeliveries(
  sql: Sql,
  lanes: Lanes,
  wake: Wake,
  limits: DeliveryLimits,
): WorkflowDeliveries {
  return {
    lanes,
    claims: createClaims<RunRow>({
      sql,
      kind: 'workflow',
      table: 'workflow_execution',
      concurrency: limits.laneConcurrency,
    }),
    async begin(row, now) {
      // If the server crashes, this is lost together with the claim, and the run is claimed again.
      const [found] = await sql.asyncCommit<{ seq: number }>(
        `UPDATE workflow_execution SET status = 'running', signalled = 0, started_at = coalesce(started_at, $3)
         WHERE seq = $1 AND lease = $2 RETURNING seq`,
        row.seq,
        row.lease,
        now,
      );
      if (found === undefined) return null;
      // The first attempt has no steps.
      if (row.started_at === null) return { lease: `${row.seq}.${row.lease}`, steps: [] };
      const read = (): Promise<StoredStep[]> =>
        sql.all<StoredStep>(`SELECT ${stepShown} FROM workflow_step WHERE execution_seq = $1 ORDER BY seq`, row.seq);
      const steps = await read();
      const isDue = ({ kind, status, wakeAt }: StoredStep): boolean =>
        kind !== 'run' && status === 'waiting' && wakeAt !== null && wakeAt <= now;
      if (!steps.some(isDue)) return { lease: `${row.seq}.${row.lease}`, steps };
      // The run is locked, so that either an event or the timeout of its wait has an effect, but not both.
      await sql.transaction(async (inside) => {
        await inside.all(`SELECT seq FROM workflow_execution WHERE seq = $1${inside.lock}`, row.seq);
        await inside.all(
          `UPDATE workflow_step SET ended_at = wake_at, status = CASE WHEN kind = 'sleep' THEN 'done' ELSE 'failed' END,
             error = CASE WHEN kind = 'event' THEN $3 END
           WHERE execution_seq = $1 AND status = 'waiting' AND kind <> 'run' AND wake_at <= $2`,
          row.seq,
          now,
          JSON.stringify({ name: 'TimeoutError', message: 'The event did not arrive in time' }),
        );
      });
      return { lease: `${row.seq}.${row.lease}`, steps: await read() };
    },
    async settle(row, end, now) {
      if (end.status === 'suspended') {
        const [settled] = await sql.all<{ due_at: number | null }>(
          `UPDATE workflow_execution SET status = 'pending', lease = NULL, attempt = 0, signalled = 0,
             due_at = CASE WHEN paused = 1 THEN NULL WHEN signalled = 1 THEN $3
               ELSE (SELECT min(s.wake_at) FROM workflow_step s WHERE s.execution_seq = $1 AND s.status = 'waiting') END
           WHERE seq = $1 AND lease = $2 RETURNING due_at`,
          row.seq,
          row.lease,
          now,
        );
        if (settled !== undefined && settled.due_at !== null) wake.notify('workflow', row.lane_id, settled.due_at);
        return;
      }
      await sql.all(
        `UPDATE workflow_execution SET status = $3, output = $4, error = $5, completed_at = $6, due_at = NULL, lease = NULL, paused = 0
         WHERE seq = $1 AND lease = $2`,
        row.seq,
        row.lease,
        end.status,
        end.status === 'completed' ? end.output : null,
        end.status === 'failed' ? end.error : null,
        now,
      );
    },
    async hasProgressed(row, since) {
      return (
        (
          await sql.all(
            'SELECT 1 FROM workflow_step WHERE execution_seq = $1 AND ended_at >= $2 LIMIT 1',
            row.seq,
            since,
          )
        ).length > 0
      );
    },
    async sweep(now) {
      await sql.all(
        `DELETE FROM workflow_execution WHERE seq IN
           (SELECT seq FROM workflow_execution WHERE completed_at IS NOT NULL AND completed_at <= $1 LIMIT ${SWEEP_ROWS})`,
        now - limits.workflowRetentionMs,
      );
    },
  };
}
