// Runs of workflows over `Sql`, which workers start, read and control. workflow-step-updates-sql.ts stores the updates
// of the runs themselves, and workflow-deliveries-sql.ts has the operations of the broker.
import type { DeliveryLimits } from '#core/limits.ts';
import { PlatformError } from '#core/errors.ts';
import type { Wake } from '#postgres/wake.ts';
import type {
  StepOccurrence,
  StoredRun,
  StoredStep,
  WorkflowPlace,
  WorkflowStore,
} from '../engine/bindings/workflow.ts';
import { createLanes } from './claims-sql.ts';
import type { Sql } from './sql.ts';
import { createWorkflowDeliveries, stepShown, type WorkflowDeliveries } from './workflow-deliveries-sql.ts';
import { createWorkflowStepUpdates, eventJson, historyBytes, tooMuchHistory } from './workflow-step-updates-sql.ts';

const active = `status IN ('pending', 'running')`;
const shown = `execution_id AS id, CASE WHEN paused = 1 AND ${active} THEN 'paused' ELSE status END AS status, input, output, error,
  deployment, created_at AS "createdAt", started_at AS "startedAt", completed_at AS "completedAt"`;
/** Maximum size of the JSON of a page of runs; a page has at least one run of any size. */
const PAGE_BYTES_MAX = 8 * 1024 * 1024;

interface Found {
  readonly seq: number;
  readonly lane_id: number;
  readonly status: StoredRun['status'];
  readonly paused: number;
  readonly lease: string | null;
}

export function createWorkflowStore(sql: Sql, wake: Wake, limits: DeliveryLimits): WorkflowStore & WorkflowDeliveries {
  const lanes = createLanes(sql, 'workflow');

  /** Changes a run while it is locked. */
  function change<Result>(
    place: WorkflowPlace,
    id: string,
    work: (inside: Sql, found: Found) => Promise<Result>,
  ): Promise<Result> {
    return sql.transaction(async (inside) => {
      const [found] = await inside.all<Found>(
        `SELECT seq, lane_id, status, paused, lease FROM workflow_execution
         WHERE lane_id = (SELECT id FROM lane WHERE kind = 'workflow' AND namespace = $1 AND resource = $2) AND execution_id = $3${inside.lock}`,
        place.namespace,
        place.resource,
        id,
      );
      if (found === undefined) throw new PlatformError('execution_not_found', { id, workflow: place.resource });
      return work(inside, found);
    });
  }

  function isActive(found: Found): boolean {
    return found.status === 'pending' || found.status === 'running';
  }

  function requireActive(found: Found, id: string, action: string): void {
    if (!isActive(found)) throw new PlatformError('execution_state', { id, status: found.status, action });
  }

  /** Resumes the run now, or at the end of the running attempt. */
  async function wakeRun(inside: Sql, found: Found, now: number): Promise<void> {
    await inside.all(
      `UPDATE workflow_execution SET signalled = 1, due_at = CASE WHEN lease IS NULL AND paused = 0 THEN $2 ELSE due_at END WHERE seq = $1`,
      found.seq,
      now,
    );
    wake.notify('workflow', found.lane_id, now);
  }

  /** Number of the step in the history, or null. */
  async function findStep(
    inside: Sql,
    { seq }: Found,
    step: string,
    { count, kind }: StepOccurrence,
  ): Promise<number | null> {
    const steps = await inside.all<{ seq: number; name: string; kind: string }>(
      'SELECT seq, name, kind FROM workflow_step WHERE execution_seq = $1 ORDER BY seq',
      seq,
    );
    const isNamed = (name: string): boolean =>
      name === step ||
      (count !== undefined && name.startsWith(`${step}#`) && /^\d+$/.test(name.slice(step.length + 1)));
    const named = steps.filter((one) => isNamed(one.name) && (kind === undefined || one.kind === kind));
    return named[(count ?? 1) - 1]?.seq ?? null;
  }

  async function find({ namespace, resource }: WorkflowPlace): Promise<number> {
    return (await lanes.find(namespace, resource)) ?? 0;
  }

  return {
    ...createWorkflowDeliveries(sql, lanes, wake, limits),
    ...createWorkflowStepUpdates(sql, limits),
    async trigger({ namespace, resource }, owner, { id, input }, now) {
      const lane = await lanes.open(namespace, resource);
      const made = await sql.all(
        `INSERT INTO workflow_execution (lane_id, due_at, execution_id, project, branch, deployment, status, input, created_at, trace)
         VALUES ($1, $2, $3, $4, $5, $6, 'pending', $7, $2, $8) ON CONFLICT (lane_id, execution_id) DO NOTHING RETURNING seq`,
        lane,
        now,
        id,
        owner.project,
        owner.branch,
        owner.deployment,
        input,
        owner.trace ?? null,
      );
      if (made.length > 0) wake.notify('workflow', lane, now);
      return made.length > 0;
    },
    async get(place, id) {
      const [row] = await sql.all<StoredRun>(
        `SELECT ${shown} FROM workflow_execution WHERE lane_id = $1 AND execution_id = $2`,
        await find(place),
        id,
      );
      return row ?? null;
    },
    async list(place, { status, limit, before }) {
      const rows = await sql.all<StoredRun & { seq: number; found: number }>(
        `SELECT * FROM (
           SELECT y.*, count(*) OVER () AS found, sum(y.bytes) OVER (ORDER BY y.seq DESC) AS total FROM (
             SELECT * FROM (
               SELECT seq, ${shown}, octet_length(input) + coalesce(octet_length(output), 0) AS bytes
               FROM workflow_execution WHERE lane_id = $1 AND seq < $2) x
             WHERE CAST($3 AS text) IS NULL OR status = $3 ORDER BY seq DESC LIMIT $4) y) z
         WHERE total - bytes < ${PAGE_BYTES_MAX} ORDER BY seq DESC`,
        await find(place),
        before ?? Number.MAX_SAFE_INTEGER,
        status,
        limit,
      );
      const next = rows.length === limit || rows.length < (rows[0]?.found ?? 0) ? rows.at(-1)!.seq : null;
      return { runs: rows.map(toRun), next };
    },
    async history(place, id) {
      const [row] = await sql.all<{ seq: number }>(
        'SELECT seq FROM workflow_execution WHERE lane_id = $1 AND execution_id = $2',
        await find(place),
        id,
      );
      if (row === undefined) return null;
      return {
        steps: await sql.all<StoredStep>(
          `SELECT ${stepShown} FROM workflow_step WHERE execution_seq = $1 ORDER BY seq`,
          row.seq,
        ),
        log: await sql.all(
          'SELECT at, message, content FROM workflow_log WHERE execution_seq = $1 ORDER BY seq',
          row.seq,
        ),
      };
    },
    async cancel(place, id, now) {
      return change(place, id, async (inside, found) => {
        if (!isActive(found)) return found.status;
        await inside.all(
          `UPDATE workflow_execution SET status = 'cancelled', completed_at = $2, due_at = NULL, lease = NULL WHERE seq = $1`,
          found.seq,
          now,
        );
        return found.paused === 1 ? 'paused' : found.status;
      });
    },
    async delete(place, id) {
      await change(place, id, async (inside, found) => {
        await inside.all('DELETE FROM workflow_execution WHERE seq = $1', found.seq);
      });
    },
    async pause(place, id) {
      await change(place, id, async (inside, found) => {
        requireActive(found, id, 'be paused');
        await inside.all(
          'UPDATE workflow_execution SET paused = 1, due_at = CASE WHEN lease IS NULL THEN NULL ELSE due_at END WHERE seq = $1',
          found.seq,
        );
      });
    },
    async resume(place, id, now) {
      await change(place, id, async (inside, found) => {
        requireActive(found, id, 'be resumed');
        await inside.all('UPDATE workflow_execution SET paused = 0 WHERE seq = $1', found.seq);
        await wakeRun(inside, found, now);
      });
    },
    async restart(place, id, { fromStep, deployment, ...occurrence }, now) {
      await change(place, id, async (inside, found) => {
        let from = 0;
        if (fromStep !== null) {
          const step = await findStep(inside, found, fromStep, occurrence);
          if (step === null)
            throw new PlatformError('invalid_argument', { reason: `Run ${id} has no step ${fromStep}` });
          from = step;
        } else await inside.all('DELETE FROM workflow_event WHERE execution_seq = $1', found.seq);
        await inside.all('DELETE FROM workflow_step WHERE execution_seq = $1 AND seq >= $2', found.seq, from);
        await inside.all(
          `UPDATE workflow_execution SET status = 'pending', paused = 0, signalled = 0, output = NULL, error = NULL, completed_at = NULL,
             lease = NULL, attempt = 0, due_at = $2, deployment = coalesce($3, deployment) WHERE seq = $1`,
          found.seq,
          now,
          deployment,
        );
        wake.notify('workflow', found.lane_id, now);
      });
    },
    async sendEvent(place, id, { type, payload }, now) {
      await change(place, id, async (inside, found) => {
        requireActive(found, id, 'take an event');
        const [step] = await inside.all<{ seq: number }>(
          `SELECT seq FROM workflow_step WHERE execution_seq = $1 AND kind = 'event' AND status = 'waiting' AND event_type = $2
             AND (wake_at IS NULL OR wake_at > $3) ORDER BY seq LIMIT 1`,
          found.seq,
          type,
          now,
        );
        if (step === undefined) {
          const [waiting] = await inside.all<{ n: number }>(
            'SELECT count(*) AS n FROM workflow_event WHERE execution_seq = $1',
            found.seq,
          );
          if (waiting!.n >= limits.workflowEventsMax)
            throw new PlatformError('invalid_argument', {
              reason: `Run ${id} has ${waiting!.n} unread events, the limit is ${limits.workflowEventsMax}`,
            });
          await inside.all(
            'INSERT INTO workflow_event (execution_seq, type, payload, sent_at) VALUES ($1, $2, $3, $4)',
            found.seq,
            type,
            payload,
            now,
          );
          return;
        }
        const result = eventJson(type, payload, now);
        const [known] = await inside.all<{ bytes: number }>(
          `SELECT ${historyBytes} AS bytes FROM workflow_execution e WHERE e.seq = $1`,
          found.seq,
        );
        if (known!.bytes + Buffer.byteLength(result) > limits.workflowHistoryBytesMax) throw tooMuchHistory(limits);
        await inside.all(
          `UPDATE workflow_step SET status = 'done', result = $2, wake_at = NULL, ended_at = $3 WHERE seq = $1`,
          step.seq,
          result,
          now,
        );
        await wakeRun(inside, found, now);
      });
    },
  };
}

function toRun(row: StoredRun): StoredRun {
  const { id, status, input, output, error, deployment, createdAt, startedAt, completedAt } = row;
  return { id, status, input, output, error, deployment, createdAt, startedAt, completedAt };
}
