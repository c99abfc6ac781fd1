// Runs of workflows over `Sql`: what workers start and steer, what runs tell of their steps, and what the broker claims and settles.
// A run that is being worked on holds a lease; its token `<seq>.<lease>` comes with the event, and once the lease is another's, what
// an abandoned stretch still says changes nothing.
import type { DeliveryLimits } from '#core/delivery-limits.ts';
import { PlatformError } from '#core/errors.ts';
import type { Wake } from '#postgres/wake.ts';
import type { StepWord, StoredExecution, StoredStep, WorkflowPlace, WorkflowStore } from '../bindings/workflow.ts';
import { createClaims, createLanes, type Claims, type LaneRow, type Lanes } from './claims-sql.ts';
import { createFlights } from './flights.ts';
import type { Sql, SqlValue } from './sql.ts';

/** A claimed run. */
export interface ExecutionRow extends LaneRow {
  readonly execution_id: string;
  readonly deployment: string;
  readonly input: string;
  readonly project: string;
  readonly branch: string;
  readonly created_at: number;
  /** Null: no stretch of it has begun. */ readonly started_at: number | null;
}

/** What became of a stretch of a run. */
export type StretchEnd =
  | { readonly status: 'completed'; readonly output: string }
  | { readonly status: 'failed'; readonly error: string }
  | { readonly status: 'suspended' };

/** The broker's side of workflows. */
export interface WorkflowDeliveries {
  readonly lanes: Lanes;
  readonly claims: Claims<ExecutionRow>;
  /** Begins a stretch: the token for what the run tells, and what it has behind it. Null: the lease is another's. */
  begin(row: ExecutionRow, now: number): Promise<{ run: string; steps: StoredStep[] } | null>;
  settle(row: ExecutionRow, end: StretchEnd, now: number): Promise<void>;
  /** Whether a step of the run has ended since. */
  hasProgressed(row: ExecutionRow, since: number): Promise<boolean>;
  /** Drops runs that ended long ago. */
  sweep(now: number): Promise<void>;
}

/** What a run tells of a step, on its way. */
interface Telling {
  /** The parameters of one statement, in their order. */ readonly row: readonly SqlValue[];
  /** Whether the run is paused; null: it was not written down. */ readonly resolve: (paused: number | null) => void;
  readonly reject: (error: unknown) => void;
}

const [nameColumn, resultColumn] = [3, 7];
/** Words of runs that go to the database together, trips at a time, and how long others wait for one before they make their own. */
const tellingsMax = 100;
const tellingCharsMax = 1024 * 1024;
const flightsMax = 4;
const patienceMs = 5;

const active = `status IN ('pending', 'running')`;
const shown = `execution_id AS id, CASE WHEN paused = 1 AND ${active} THEN 'paused' ELSE status END AS status, input, output, error,
  deployment, created_at AS "createdAt", started_at AS "startedAt", completed_at AS "completedAt"`;
const stepShown = `name, kind, status, attempts, result, error, wake_at AS "wakeAt", event_type AS "eventType",
  started_at AS "startedAt", ended_at AS "endedAt"`;
const sweepRows = 500;
/** JSON of a page of runs, beyond which it ends; one run is on it however large. */
const pageBytesMax = 8 * 1024 * 1024;

interface Found {
  readonly seq: number;
  readonly lane_id: number;
  readonly status: string;
  readonly paused: number;
  readonly lease: string | null;
}

export function createWorkflowStore(sql: Sql, wake: Wake, limits: DeliveryLimits): WorkflowStore & WorkflowDeliveries {
  const lanes = createLanes(sql, 'workflow');
  const claims = createClaims<ExecutionRow>({ sql, kind: 'workflow', table: 'workflow_execution', concurrency: limits.laneConcurrency });
  /** The run that a token names, as long as its lease and its namespace are right. */
  const ofRun = `workflow_execution e JOIN lane l ON l.id = e.lane_id WHERE e.seq = $1 AND e.lease = $2 AND l.namespace = $3`;
  const stepsOf = `(SELECT count(*) FROM workflow_step s WHERE s.execution_seq = e.seq)`;
  const bytesOf = `(SELECT CAST(coalesce(sum(coalesce(octet_length(s.result), 0) + coalesce(octet_length(s.error), 0)), 0) AS bigint)
    FROM workflow_step s WHERE s.execution_seq = e.seq)`;
  // Of a step that is known already, its word about how it ended is no further one.
  const isKnown = `EXISTS (SELECT 1 FROM workflow_step s WHERE s.execution_seq = e.seq AND s.name = $4)`;
  const room = `((${stepsOf} < ${limits.workflowStepsMax} OR ${isKnown}) AND ${bytesOf} < ${limits.workflowHistoryBytesMax})`;

  const onConflict = `ON CONFLICT (execution_seq, name) DO UPDATE SET status = excluded.status, attempts = CASE WHEN excluded.attempts = 0
         THEN workflow_step.attempts ELSE excluded.attempts END,
       result = excluded.result, error = excluded.error, wake_at = excluded.wake_at, ended_at = excluded.ended_at
       WHERE workflow_step.status = 'waiting'
     RETURNING execution_seq, name, (SELECT x.paused FROM workflow_execution x WHERE x.seq = workflow_step.execution_seq) AS paused`;
  const tellStep = `INSERT INTO workflow_step (execution_seq, name, kind, status, attempts, result, error, wake_at, started_at, ended_at)
     SELECT e.seq, CAST($4 AS text), CAST($5 AS text), CAST($6 AS text), $7, $8, $9, $10, CAST($11 AS bigint), CASE WHEN CAST($6 AS text) = 'waiting' THEN NULL ELSE CAST($11 AS bigint) END FROM ${ofRun} AND ${room}
     ${onConflict}`;
  const tellSteps = `INSERT INTO workflow_step (execution_seq, name, kind, status, attempts, result, error, wake_at, started_at, ended_at)
     SELECT e.seq, w.name, w.kind, w.status, w.attempts, w.result, w.error, w.wake_at, w.now, CASE WHEN w.status = 'waiting' THEN NULL ELSE w.now END
     FROM (SELECT *, row_number() OVER (PARTITION BY seq) AS n FROM
         unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::int[], $8::text[], $9::text[], $10::bigint[], $11::bigint[])
           AS u (seq, lease, namespace, name, kind, status, attempts, result, error, wake_at, now)) w
       JOIN workflow_execution e ON e.seq = w.seq AND e.lease = w.lease JOIN lane l ON l.id = e.lane_id AND l.namespace = w.namespace
     WHERE (${stepsOf} + w.n <= ${limits.workflowStepsMax} OR EXISTS (SELECT 1 FROM workflow_step s WHERE s.execution_seq = e.seq AND s.name = w.name))
       AND ${bytesOf} < ${limits.workflowHistoryBytesMax}
     ${onConflict}`;

  const tellings = createFlights<Telling>({
    fly: (items) => (items.length === 1 || sql.technology === 'sqlite' ? tellAlone(items) : tellTogether(items)),
    togetherMax: tellingsMax,
    flightsMax,
    patienceMs,
    sizeOf: ({ row }) => ((row[resultColumn] as string | null) ?? '').length,
    sizeMax: tellingCharsMax,
  });

  async function tellAlone(items: readonly Telling[]): Promise<void> {
    for (const { row, resolve, reject } of items) {
      try {
        const [told] = await sql.all<{ paused: number }>(tellStep, ...row);
        resolve(told?.paused ?? null);
      } catch (error) {
        reject(error);
      }
    }
  }

  async function tellTogether(items: readonly Telling[]): Promise<void> {
    const idOf = (seq: unknown, name: unknown): string => `${String(seq)} ${String(name)}`;
    const first = new Map<string, Telling>();
    const twice: Telling[] = [];
    for (const telling of items) {
      const id = idOf(telling.row[0], telling.row[nameColumn]);
      if (first.has(id)) twice.push(telling);
      else first.set(id, telling);
    }
    const together = [...first.values()].toSorted((a, b) => (a.row[0] as number) - (b.row[0] as number));
    try {
      const lists = together[0]!.row.map((_, column) => together.map(({ row }) => row[column] ?? null));
      const rows = await sql.all<{ execution_seq: number; name: string; paused: number }>(tellSteps, ...(lists as never[]));
      const told = new Map(rows.map(({ execution_seq: seq, name, paused }) => [idOf(seq, name), paused]));
      for (const { row, resolve } of together) resolve(told.get(idOf(row[0], row[nameColumn])) ?? null);
    } catch (error) {
      // One of them may be to blame; but nobody knows what became of a lost connection.
      if ((error as { code?: unknown }).code === 'store_unavailable') for (const { reject } of together) reject(error);
      else await tellAlone(together);
    }
    await tellAlone(twice);
  }

  function parse(run: string): [seq: number, lease: string] {
    const dot = run.indexOf('.');
    return [Number(run.slice(0, dot)), run.slice(dot + 1)];
  }

  /** Changes a run alone with it. */
  function change<Result>(place: WorkflowPlace, id: string, work: (inside: Sql, found: Found) => Promise<Result>): Promise<Result> {
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

  /** The run goes on now, or at the end of the stretch it is in. */
  async function goOn(inside: Sql, found: Found, now: number): Promise<void> {
    await inside.all(
      `UPDATE workflow_execution SET signalled = 1, due_at = CASE WHEN lease IS NULL AND paused = 0 THEN $2 ELSE due_at END WHERE seq = $1`,
      found.seq,
      now,
    );
    wake.notify('workflow', found.lane_id, now);
  }

  /** Why the run may tell of nothing more: what it told was not written down for that reason. Null: for another one. */
  async function refusal(on: Sql, namespace: string, run: string, name: string): Promise<PlatformError | null> {
    const [found] = await on.all<{ steps: number; bytes: number; known: number }>(
      `SELECT ${stepsOf} AS steps, ${bytesOf} AS bytes, CASE WHEN ${isKnown} THEN 1 ELSE 0 END AS known FROM ${ofRun}`,
      ...parse(run),
      namespace,
      name,
    );
    if (found === undefined) return null;
    if (found.steps >= limits.workflowStepsMax && found.known === 0)
      return new PlatformError('invalid_argument', { reason: `A run has at most ${limits.workflowStepsMax} steps` });
    return found.bytes >= limits.workflowHistoryBytesMax ? tooMuchHistory() : null;
  }

  function tooMuchHistory(): PlatformError {
    const reason = `The results of the steps of a run may have ${limits.workflowHistoryBytesMax} bytes as JSON together`;
    return new PlatformError('invalid_argument', { reason });
  }

  async function find({ namespace, resource }: WorkflowPlace): Promise<number> {
    return (await lanes.find(namespace, resource)) ?? 0;
  }

  return {
    lanes,
    claims,
    async trigger({ namespace, resource }, owner, { id, input }, now) {
      const lane = await lanes.open(namespace, resource);
      const made = await sql.all(
        `INSERT INTO workflow_execution (lane_id, due_at, execution_id, project, branch, deployment, status, input, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, 'pending', $7, $2) ON CONFLICT (lane_id, execution_id) DO NOTHING RETURNING seq`,
        lane,
        now,
        id,
        owner.project,
        owner.branch,
        owner.deployment,
        input,
      );
      if (made.length > 0) wake.notify('workflow', lane, now);
    },
    async get(place, id) {
      const [row] = await sql.all<StoredExecution>(
        `SELECT ${shown} FROM workflow_execution WHERE lane_id = $1 AND execution_id = $2`,
        await find(place),
        id,
      );
      return row ?? null;
    },
    async list(place, { status, limit, before }) {
      const rows = await sql.all<StoredExecution & { seq: number; found: number }>(
        `SELECT * FROM (
           SELECT y.*, count(*) OVER () AS found, sum(y.bytes) OVER (ORDER BY y.seq DESC) AS total FROM (
             SELECT * FROM (
               SELECT seq, ${shown}, octet_length(input) + coalesce(octet_length(output), 0) AS bytes
               FROM workflow_execution WHERE lane_id = $1 AND seq < $2) x
             WHERE CAST($3 AS text) IS NULL OR status = $3 ORDER BY seq DESC LIMIT $4) y) z
         WHERE total - bytes < ${pageBytesMax} ORDER BY seq DESC`,
        await find(place),
        before ?? Number.MAX_SAFE_INTEGER,
        status,
        limit,
      );
      const next = rows.length === limit || rows.length < (rows[0]?.found ?? 0) ? rows.at(-1)!.seq : null;
      return { executions: rows.map(toExecution), next };
    },
    async history(place, id) {
      const [row] = await sql.all<{ seq: number }>(
        'SELECT seq FROM workflow_execution WHERE lane_id = $1 AND execution_id = $2',
        await find(place),
        id,
      );
      if (row === undefined) return null;
      return {
        steps: await sql.all<StoredStep>(`SELECT ${stepShown} FROM workflow_step WHERE execution_seq = $1 ORDER BY seq`, row.seq),
        log: await sql.all('SELECT at, message, content FROM workflow_log WHERE execution_seq = $1 ORDER BY seq', row.seq),
      };
    },
    async cancel(place, id, now) {
      await change(place, id, async (inside, found) => {
        if (!isActive(found)) return;
        await inside.all(
          `UPDATE workflow_execution SET status = 'cancelled', completed_at = $2, due_at = NULL, lease = NULL WHERE seq = $1`,
          found.seq,
          now,
        );
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
        await goOn(inside, found, now);
      });
    },
    async restart(place, id, { fromStep, deployment }, now) {
      await change(place, id, async (inside, found) => {
        let from = 0;
        if (fromStep !== null) {
          const [step] = await inside.all<{ seq: number }>(
            'SELECT seq FROM workflow_step WHERE execution_seq = $1 AND name = $2',
            found.seq,
            fromStep,
          );
          if (step === undefined) throw new PlatformError('invalid_argument', { reason: `Run ${id} has no step ${fromStep}` });
          from = step.seq;
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
          const [waiting] = await inside.all<{ n: number }>('SELECT count(*) AS n FROM workflow_event WHERE execution_seq = $1', found.seq);
          if (waiting!.n >= limits.workflowEventsMax)
            throw new PlatformError('invalid_argument', {
              reason: `Run ${id} has ${waiting!.n} events that nothing waits for, and may have ${limits.workflowEventsMax}`,
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
          `SELECT ${bytesOf} AS bytes FROM workflow_execution e WHERE e.seq = $1`,
          found.seq,
        );
        if (known!.bytes + Buffer.byteLength(result) > limits.workflowHistoryBytesMax) throw tooMuchHistory();
        await inside.all(
          `UPDATE workflow_step SET status = 'done', result = $2, wake_at = NULL, ended_at = $3 WHERE seq = $1`,
          step.seq,
          result,
          now,
        );
        await goOn(inside, found, now);
      });
    },
    async step(namespace, run, name, word, now) {
      const [seq, lease] = parse(run);
      const { kind, status, attempts, result, error, wakeAt } = toColumns(word);
      const row = [seq, lease, namespace, name, kind, status, attempts, result, error, wakeAt, now];
      const paused = await new Promise<number | null>((resolve, reject) => tellings.add({ row, resolve, reject }));
      const refused = paused === null ? await refusal(sql, namespace, run, name) : null;
      if (refused !== null) throw refused;
      return paused === 0;
    },
    async waitForEvent(namespace, run, { name, type, timeoutAt }, now) {
      const [seq, lease] = parse(run);
      return sql.transaction(async (inside) => {
        const [found] = await inside.all<Found>(
          `SELECT e.seq, e.paused FROM ${ofRun}${inside.lock === '' ? '' : ' FOR UPDATE OF e'}`,
          seq,
          lease,
          namespace,
        );
        if (found === undefined) return false;
        const refused = await refusal(inside, namespace, run, name);
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
    async log(namespace, run, { message, content }, now) {
      const [seq, lease] = parse(run);
      await sql.all(
        `INSERT INTO workflow_log (execution_seq, at, message, content)
         SELECT e.seq, CAST($4 AS bigint), CAST($5 AS text), CAST($6 AS text) FROM ${ofRun}
           AND (SELECT count(*) FROM workflow_log g WHERE g.execution_seq = e.seq) < ${limits.workflowLogLinesMax}`,
        seq,
        lease,
        namespace,
        now,
        message,
        content,
      );
    },
    async begin(row, now) {
      // Forgotten with its claim, should the server crash: then the run is claimed anew.
      const [found] = await sql.fleeting<{ seq: number }>(
        `UPDATE workflow_execution SET status = 'running', signalled = 0, started_at = coalesce(started_at, $3)
         WHERE seq = $1 AND lease = $2 RETURNING seq`,
        row.seq,
        row.lease,
        now,
      );
      if (found === undefined) return null;
      // The first stretch has nothing behind it.
      if (row.started_at === null) return { run: `${row.seq}.${row.lease}`, steps: [] };
      const read = (): Promise<StoredStep[]> =>
        sql.all<StoredStep>(`SELECT ${stepShown} FROM workflow_step WHERE execution_seq = $1 ORDER BY seq`, row.seq);
      const steps = await read();
      const isDue = ({ kind, status, wakeAt }: StoredStep): boolean =>
        kind !== 'run' && status === 'waiting' && wakeAt !== null && wakeAt <= now;
      if (!steps.some(isDue)) return { run: `${row.seq}.${row.lease}`, steps };
      // Alone with the run, so that an event and the end of its wait do not both count.
      await sql.transaction(async (inside) => {
        await inside.all(`SELECT seq FROM workflow_execution WHERE seq = $1${inside.lock}`, row.seq);
        await inside.all(
          `UPDATE workflow_step SET ended_at = wake_at, status = CASE WHEN kind = 'sleep' THEN 'done' ELSE 'failed' END,
             error = CASE WHEN kind = 'event' THEN $3 END
           WHERE execution_seq = $1 AND status = 'waiting' AND kind <> 'run' AND wake_at <= $2`,
          row.seq,
          now,
          JSON.stringify({ name: 'TimeoutError', message: 'The event did not come in time' }),
        );
      });
      return { run: `${row.seq}.${row.lease}`, steps: await read() };
    },
    async settle(row, end, now) {
      if (end.status === 'suspended') {
        const [settled] = await sql.all<{ due_at: number | null }>(
          `UPDATE workflow_execution SET lease = NULL, attempt = 0, signalled = 0,
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
      return (await sql.all('SELECT 1 FROM workflow_step WHERE execution_seq = $1 AND ended_at >= $2 LIMIT 1', row.seq, since)).length > 0;
    },
    async sweep(now) {
      await sql.all(
        `DELETE FROM workflow_execution WHERE seq IN
           (SELECT seq FROM workflow_execution WHERE completed_at IS NOT NULL AND completed_at <= $1 LIMIT ${sweepRows})`,
        now - limits.workflowRetentionMs,
      );
    },
  };
}

function toExecution(row: StoredExecution): StoredExecution {
  const { id, status, input, output, error, deployment, createdAt, startedAt, completedAt } = row;
  return { id, status, input, output, error, deployment, createdAt, startedAt, completedAt };
}

/** What the handler gets of an event. */
function eventJson(type: string, payload: string, sentAt: number): string {
  return `{"type":${JSON.stringify(type)},"payload":${payload},"timestamp":${sentAt}}`;
}

function toColumns(word: StepWord): {
  kind: string;
  status: string;
  attempts: number;
  result: string | null;
  error: string | null;
  wakeAt: number | null;
} {
  const none = { attempts: 0, result: null, error: null, wakeAt: null };
  if (word.kind === 'done') return { ...none, kind: 'run', status: 'done', result: word.result };
  if (word.kind === 'sleep') return { ...none, kind: 'sleep', status: 'waiting', wakeAt: word.wakeAt };
  const { attempts, error, wakeAt } = word;
  return { ...none, kind: 'run', status: wakeAt === null ? 'failed' : 'waiting', attempts, error, wakeAt };
}
