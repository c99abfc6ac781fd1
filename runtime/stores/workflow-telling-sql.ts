// What runs of workflows tell of themselves over `Sql`: how their steps went, what they wait for, their log. A run that
// is being worked on holds a lease, and names it in its token `<seq>.<lease>`: once the lease is another's, what it
// still says changes nothing.
import type { DeliveryLimits } from '#core/limits.ts';
import { PlatformError } from '#core/errors.ts';
import type { StepWord, WorkflowStore } from '../engine/bindings/workflow.ts';
import { createFlights } from './flights.ts';
import type { Sql, SqlValue } from './sql.ts';

/** What a run tells of a step, on its way. */
interface Telling {
  /** The parameters of one statement, in their order. */
  readonly row: readonly SqlValue[];
  /** Whether the run is paused; null: it was not written down. */
  readonly resolve: (paused: number | null) => void;
  readonly reject: (error: unknown) => void;
}

const [nameColumn, resultColumn] = [3, 7];
/**
 * Words of runs that go to the database together, trips at a time, and how long others wait for one before they make
 * their own.
 */
const tellingsMax = 100;
const tellingCharsMax = 1024 * 1024;
const flightsMax = 4;
const patienceMs = 5;

/** The bytes that the steps of a run `e` have as JSON. */
export const historyBytes = `(SELECT CAST(coalesce(sum(coalesce(octet_length(s.result), 0) + coalesce(octet_length(s.error), 0)), 0) AS bigint)
    FROM workflow_step s WHERE s.execution_seq = e.seq)`;

/** The side of the running ones. */
export function createWorkflowTelling(
  sql: Sql,
  limits: DeliveryLimits,
): Pick<WorkflowStore, 'step' | 'waitForEvent' | 'log'> {
  /** The run that a token names, as long as its lease and its namespace are right. */
  const ofRun = `workflow_execution e JOIN lane l ON l.id = e.lane_id WHERE e.seq = $1 AND e.lease = $2 AND l.namespace = $3`;
  const stepsOf = `(SELECT count(*) FROM workflow_step s WHERE s.execution_seq = e.seq)`;
  // Of a step that is known already, its word about how it ended is no further one.
  const isKnown = `EXISTS (SELECT 1 FROM workflow_step s WHERE s.execution_seq = e.seq AND s.name = $4)`;
  const room = `((${stepsOf} < ${limits.workflowStepsMax} OR ${isKnown}) AND ${historyBytes} < ${limits.workflowHistoryBytesMax})`;

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
       AND ${historyBytes} < ${limits.workflowHistoryBytesMax}
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
      const rows = await sql.all<{ execution_seq: number; name: string; paused: number }>(
        tellSteps,
        ...(lists as never[]),
      );
      const told = new Map(rows.map(({ execution_seq: seq, name, paused }) => [idOf(seq, name), paused]));
      for (const { row, resolve } of together) resolve(told.get(idOf(row[0], row[nameColumn])) ?? null);
    } catch (error) {
      // One of them may be to blame; but nobody knows what became of a lost connection.
      if ((error as { code?: unknown }).code === 'store_unavailable') for (const { reject } of together) reject(error);
      else await tellAlone(together);
    }
    await tellAlone(twice);
  }

  /** Why the run may tell of nothing more: what it told was not written down for that reason. Null: for another one. */
  async function refusal(on: Sql, namespace: string, run: string, name: string): Promise<PlatformError | null> {
    const [found] = await on.all<{ steps: number; bytes: number; known: number }>(
      `SELECT ${stepsOf} AS steps, ${historyBytes} AS bytes, CASE WHEN ${isKnown} THEN 1 ELSE 0 END AS known FROM ${ofRun}`,
      ...parseToken(run),
      namespace,
      name,
    );
    if (found === undefined) return null;
    if (found.steps >= limits.workflowStepsMax && found.known === 0)
      return new PlatformError('invalid_argument', { reason: `A run has at most ${limits.workflowStepsMax} steps` });
    return found.bytes >= limits.workflowHistoryBytesMax ? tooMuchHistory(limits) : null;
  }

  return {
    async step(namespace, run, name, word, now) {
      const [seq, lease] = parseToken(run);
      const { kind, status, attempts, result, error, wakeAt } = toColumns(word);
      const row = [seq, lease, namespace, name, kind, status, attempts, result, error, wakeAt, now];
      const paused = await new Promise<number | null>((resolve, reject) => tellings.add({ row, resolve, reject }));
      const refused = paused === null ? await refusal(sql, namespace, run, name) : null;
      if (refused !== null) throw refused;
      return paused === 0;
    },
    async waitForEvent(namespace, run, { name, type, timeoutAt }, now) {
      const [seq, lease] = parseToken(run);
      return sql.transaction(async (inside) => {
        const [found] = await inside.all<{ seq: number; paused: number }>(
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
      const [seq, lease] = parseToken(run);
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
  };
}

/** Why a run may have no further result. */
export function tooMuchHistory({ workflowHistoryBytesMax }: DeliveryLimits): PlatformError {
  const reason = `The results of the steps of a run may have ${workflowHistoryBytesMax} bytes as JSON together`;
  return new PlatformError('invalid_argument', { reason });
}

/** What the handler gets of an event. */
export function eventJson(type: string, payload: string, sentAt: number): string {
  return `{"type":${JSON.stringify(type)},"payload":${payload},"timestamp":${sentAt}}`;
}

function parseToken(run: string): [seq: number, lease: string] {
  const dot = run.indexOf('.');
  return [Number(run.slice(0, dot)), run.slice(dot + 1)];
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
