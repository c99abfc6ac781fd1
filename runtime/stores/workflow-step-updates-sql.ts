// Step updates of workflow runs over `Sql`: results, waits, log. A running run holds a lease, and sends it with each
// update as `<seq>.<lease>`. When the lease is lost, its updates have no effect.
import type { DeliveryLimits } from '#core/limits.ts';
import { PlatformError } from '#core/errors.ts';
import type { StepUpdate, WorkflowStore } from '../engine/bindings/workflow.ts';
import { createBatcher } from './batcher.ts';
import type { Sql, SqlValue } from './sql.ts';

/** An update that waits for its flush. */
interface PendingUpdate {
  /** The parameters of one statement, in order. */
  readonly row: readonly SqlValue[];
  /** Whether the run is paused; null if the update was not stored. */
  readonly resolve: (paused: number | null) => void;
  readonly reject: (error: unknown) => void;
}

const [nameColumn, resultColumn] = [3, 7];
/** Maximum number of updates per flush and of concurrent flushes, and how long an update waits for a running flush. */
const UPDATES_MAX = 100;
const UPDATE_CHARS_MAX = 1024 * 1024;
const FLUSHES_MAX = 4;
const WAIT_MS = 5;

/** SQL for the JSON size of the steps of a run `e`. */
export const historyBytes = `(SELECT CAST(coalesce(sum(coalesce(octet_length(s.result), 0) + coalesce(octet_length(s.error), 0)), 0) AS bigint)
    FROM workflow_step s WHERE s.execution_seq = e.seq)`;

/** The updates of running runs. */
export function createWorkflowStepUpdates(
  sql: Sql,
  limits: DeliveryLimits,
): Pick<WorkflowStore, 'step' | 'waitForEvent' | 'log'> {
  /** SQL that finds the run of a lease, as long as the run holds the lease and its namespace matches. */
  const ofRun = `workflow_execution e JOIN lane l ON l.id = e.lane_id WHERE e.seq = $1 AND e.lease = $2 AND l.namespace = $3`;
  const stepsOf = `(SELECT count(*) FROM workflow_step s WHERE s.execution_seq = e.seq)`;
  // An update of a known step adds no step.
  const isKnown = `EXISTS (SELECT 1 FROM workflow_step s WHERE s.execution_seq = e.seq AND s.name = $4)`;
  const room = `((${stepsOf} < ${limits.workflowStepsMax} OR ${isKnown}) AND ${historyBytes} < ${limits.workflowHistoryBytesMax})`;

  const onConflict = `ON CONFLICT (execution_seq, name) DO UPDATE SET status = excluded.status, attempts = CASE WHEN excluded.attempts = 0
         THEN workflow_step.attempts ELSE excluded.attempts END,
       result = excluded.result, error = excluded.error, wake_at = excluded.wake_at, ended_at = excluded.ended_at
       WHERE workflow_step.status = 'waiting'
     RETURNING execution_seq, name, (SELECT x.paused FROM workflow_execution x WHERE x.seq = workflow_step.execution_seq) AS paused`;
  const writeStep = `INSERT INTO workflow_step (execution_seq, name, kind, status, attempts, result, error, wake_at, started_at, ended_at)
     SELECT e.seq, CAST($4 AS text), CAST($5 AS text), CAST($6 AS text), $7, $8, $9, $10, CAST($11 AS bigint), CASE WHEN CAST($6 AS text) = 'waiting' THEN NULL ELSE CAST($12 AS bigint) END FROM ${ofRun} AND ${room}
     ${onConflict}`;
  const writeSteps = `INSERT INTO workflow_step (execution_seq, name, kind, status, attempts, result, error, wake_at, started_at, ended_at)
     SELECT e.seq, w.name, w.kind, w.status, w.attempts, w.result, w.error, w.wake_at, w.started_at, CASE WHEN w.status = 'waiting' THEN NULL ELSE w.now END
     FROM (SELECT *, row_number() OVER (PARTITION BY seq) AS n FROM
         unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::int[], $8::text[], $9::text[], $10::bigint[], $11::bigint[], $12::bigint[])
           AS u (seq, lease, namespace, name, kind, status, attempts, result, error, wake_at, started_at, now)) w
       JOIN workflow_execution e ON e.seq = w.seq AND e.lease = w.lease JOIN lane l ON l.id = e.lane_id AND l.namespace = w.namespace
     WHERE (${stepsOf} + w.n <= ${limits.workflowStepsMax} OR EXISTS (SELECT 1 FROM workflow_step s WHERE s.execution_seq = e.seq AND s.name = w.name))
       AND ${historyBytes} < ${limits.workflowHistoryBytesMax}
     ${onConflict}`;

  const updates = createBatcher<PendingUpdate>({
    flush: (items) => (items.length === 1 || sql.technology === 'sqlite' ? writeAlone(items) : writeTogether(items)),
    itemsMax: UPDATES_MAX,
    flushesMax: FLUSHES_MAX,
    waitMs: WAIT_MS,
    sizeOf: ({ row }) => ((row[resultColumn] as string | null) ?? '').length,
    sizeMax: UPDATE_CHARS_MAX,
  });

  async function writeAlone(items: readonly PendingUpdate[]): Promise<void> {
    for (const { row, resolve, reject } of items) {
      try {
        const [stored] = await sql.all<{ paused: number }>(writeStep, ...row);
        resolve(stored?.paused ?? null);
      } catch (error) {
        reject(error);
      }
    }
  }

  async function writeTogether(items: readonly PendingUpdate[]): Promise<void> {
    const idOf = (seq: unknown, name: unknown): string => `${String(seq)} ${String(name)}`;
    const first = new Map<string, PendingUpdate>();
    const twice: PendingUpdate[] = [];
    for (const update of items) {
      const id = idOf(update.row[0], update.row[nameColumn]);
      if (first.has(id)) twice.push(update);
      else first.set(id, update);
    }
    const batch = [...first.values()].toSorted((a, b) => (a.row[0] as number) - (b.row[0] as number));
    try {
      const lists = batch[0]!.row.map((_, column) => batch.map(({ row }) => row[column] ?? null));
      const rows = await sql.all<{ execution_seq: number; name: string; paused: number }>(
        writeSteps,
        ...(lists as never[]),
      );
      const stored = new Map(rows.map(({ execution_seq: seq, name, paused }) => [idOf(seq, name), paused]));
      for (const { row, resolve } of batch) resolve(stored.get(idOf(row[0], row[nameColumn])) ?? null);
    } catch (error) {
      // The updates are then run one by one, because one of them may be the cause. After a lost connection, nothing is
      // retried, because the outcome is unknown.
      if ((error as { code?: unknown }).code === 'store_unavailable') for (const { reject } of batch) reject(error);
      else await writeAlone(batch);
    }
    await writeAlone(twice);
  }

  /** The limit that refused the update, or null. */
  async function refusal(on: Sql, namespace: string, lease: string, name: string): Promise<PlatformError | null> {
    const [found] = await on.all<{ steps: number; bytes: number; known: number }>(
      `SELECT ${stepsOf} AS steps, ${historyBytes} AS bytes, CASE WHEN ${isKnown} THEN 1 ELSE 0 END AS known FROM ${ofRun}`,
      ...parseLease(lease),
      namespace,
      name,
    );
    if (found === undefined) return null;
    if (found.steps >= limits.workflowStepsMax && found.known === 0)
      return new PlatformError('invalid_argument', {
        reason: `A run can have at most ${limits.workflowStepsMax} steps`,
      });
    return found.bytes >= limits.workflowHistoryBytesMax ? tooMuchHistory(limits) : null;
  }

  return {
    async step(namespace, lease, name, update, now) {
      const [seq, key] = parseLease(lease);
      const { kind, status, attempts, result, error, wakeAt } = toColumns(update);
      const startedAt = (update.kind === 'sleep' ? null : update.startedAt) ?? now;
      const row = [seq, key, namespace, name, kind, status, attempts, result, error, wakeAt, startedAt, now];
      const paused = await new Promise<number | null>((resolve, reject) => updates.add({ row, resolve, reject }));
      const refused = paused === null ? await refusal(sql, namespace, lease, name) : null;
      if (refused !== null) throw refused;
      return paused === 0;
    },
    async waitForEvent(namespace, lease, { name, type, timeoutAt }, now) {
      const [seq, key] = parseLease(lease);
      return sql.transaction(async (inside) => {
        const [found] = await inside.all<{ seq: number; paused: number }>(
          `SELECT e.seq, e.paused FROM ${ofRun}${inside.lock === '' ? '' : ' FOR UPDATE OF e'}`,
          seq,
          key,
          namespace,
        );
        if (found === undefined) return false;
        const refused = await refusal(inside, namespace, lease, name);
        if (refused !== null) throw refused;
        const [event] = await inside.all<{ seq: number; payload: string; sent_at: number }>(
          'SELECT seq, payload, sent_at FROM workflow_event WHERE execution_seq = $1 AND type = $2 ORDER BY seq LIMIT 1',
          seq,
          type,
        );
        const result = event === undefined ? null : eventJson(type, event.payload, event.sent_at);
        if (event !== undefined) await inside.all('DELETE FROM workflow_event WHERE seq = $1', event.seq);
        await inside.all(
          `INSERT INTO workflow_step (execution_seq, name, kind, status, result, wake_at, event_type, started_at, ended_at)
           VALUES ($1, $2, 'event', $3, $4, $5, $6, $7, $8)`,
          seq,
          name,
          event === undefined ? 'waiting' : 'done',
          result,
          event === undefined ? timeoutAt : null,
          type,
          now,
          event === undefined ? null : now,
        );
        return found.paused === 0 ? result : false;
      });
    },
    async log(namespace, lease, { message, content }, now) {
      const [seq, key] = parseLease(lease);
      await sql.all(
        `INSERT INTO workflow_log (execution_seq, at, message, content)
         SELECT e.seq, CAST($4 AS bigint), CAST($5 AS text), CAST($6 AS text) FROM ${ofRun}
           AND (SELECT count(*) FROM workflow_log g WHERE g.execution_seq = e.seq) < ${limits.workflowLogLinesMax}`,
        seq,
        key,
        namespace,
        now,
        message,
        content,
      );
    },
  };
}

/** The error when a run has no room for further results. */
export function tooMuchHistory({ workflowHistoryBytesMax }: DeliveryLimits): PlatformError {
  const reason = `The results of the steps of a run may have ${workflowHistoryBytesMax} bytes as JSON together`;
  return new PlatformError('invalid_argument', { reason });
}

/** An event as JSON for the handler. */
export function eventJson(type: string, payload: string, sentAt: number): string {
  return `{"type":${JSON.stringify(type)},"payload":${payload},"timestamp":${sentAt}}`;
}

function parseLease(lease: string): [seq: number, lease: string] {
  const dot = lease.indexOf('.');
  return [Number(lease.slice(0, dot)), lease.slice(dot + 1)];
}

function toColumns(update: StepUpdate): {
  kind: string;
  status: string;
  attempts: number;
  result: string | null;
  error: string | null;
  wakeAt: number | null;
} {
  const none = { attempts: 0, result: null, error: null, wakeAt: null };
  if (update.kind === 'done') return { ...none, kind: 'run', status: 'done', result: update.result };
  if (update.kind === 'sleep') return { ...none, kind: 'sleep', status: 'waiting', wakeAt: update.wakeAt };
  const { attempts, error, wakeAt } = update;
  return { ...none, kind: 'run', status: wakeAt === null ? 'failed' : 'waiting', attempts, error, wakeAt };
}
