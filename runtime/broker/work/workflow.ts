// The broker's work on workflow runs that can continue: passes each run to the deployment that started it, for one
// attempt. Then the run has ended, sleeps until its next wake-up, or will be retried.
import { backoffMs } from '#core/backoff.ts';
import type { EventContent } from '#core/event.ts';
import type { LaneAdvice, Work } from '#postgres/claim-loop.ts';
import type { Wake } from '#postgres/wake.ts';
import { ByteGate } from '../delivery/byte-gate.ts';
import { persist, tryDeliver, type Delivered, type WorkDeps } from '../delivery/delivery.ts';

/** How long a lane pauses if it has no consumer here, but may have one in another process. */
const OTHERS_MS = 1000;

/** A claimed run from the store. */
export interface Run {
  readonly seq: number;
  readonly lane_id: number;
  readonly lease: string;
  readonly room: number;
  readonly attempt: number;
  readonly namespace: string;
  readonly resource: string;
  readonly execution_id: string;
  readonly deployment: string;
  /** JSON. */
  readonly input: string;
  readonly project: string;
  readonly branch: string;
  readonly created_at: number;
  /** The trace that started the run, or null. */
  readonly trace?: string | null;
}

/** A step that a run has completed, or waits for. */
interface KnownStep {
  readonly name: string;
  readonly kind: string;
  readonly status: string;
  readonly attempts: number;
  /** JSON. */
  readonly result: string | null;
  /** JSON. */
  readonly error: string | null;
  readonly wakeAt: number | null;
}

type End =
  | { readonly status: 'completed'; readonly output: string }
  | { readonly status: 'failed'; readonly error: string }
  | { readonly status: 'suspended' };

/** The methods of the store that are used here. */
export interface WorkflowLedger<Row extends Run> {
  readonly claims: { release(row: Row, dueAt: number, counted: boolean): Promise<boolean> };
  begin(row: Row, now: number): Promise<{ readonly lease: string; readonly steps: readonly KnownStep[] } | null>;
  settle(row: Row, end: End, now: number): Promise<void>;
  hasProgressed(row: Row, since: number): Promise<boolean>;
}

interface Result {
  readonly status?: string;
  readonly output?: unknown;
  readonly error?: { readonly name: string; readonly message: string };
}

export function createWorkflowWork<Row extends Run>(
  deps: WorkDeps,
  ledger: WorkflowLedger<Row>,
  wake: Wake,
): Work<Row> {
  const { limits, now } = deps;
  const gate = new ByteGate(limits.inFlightBytesMax);

  async function again(row: Row, dueAt: number, counted: boolean): Promise<void> {
    if (await persist(() => ledger.claims.release(row, dueAt, counted))) wake.notify('workflow', row.lane_id, dueAt);
  }

  /**
   * Begins an attempt and delivers it. The history of the run is held in memory during the attempt, within the limit
   * for all histories.
   */
  async function deliver(run: Row, began: number, signal: AbortSignal): Promise<Delivered | null> {
    const hold = await gate.take(limits.workflowHistoryBytesMax + limits.workflowValueBytesMax);
    try {
      const attempt = await persist(() => ledger.begin(run, began));
      if (attempt === null) return null;
      const event = toEvent(run, attempt, began, 1 + limits.retries);
      hold.keep(event.head.length + event.bodies[0]!.length);
      return await tryDeliver(deps, { ...run, kind: 'workflow' }, event, signal);
    } finally {
      hold.release();
    }
  }

  async function work([row]: readonly Row[], signal: AbortSignal): Promise<LaneAdvice> {
    const run = row!;
    const began = now();
    const delivered = await deliver(run, began, signal);
    if (delivered === null) return {};
    const fields = {
      namespace: run.namespace,
      workflow: run.resource,
      project: run.project,
      run: run.execution_id,
    };
    if (delivered.kind === 'done') {
      const end = toEnd((delivered.result ?? {}) as Result, limits.workflowValueBytesMax);
      if (end.status === 'failed') deps.onEvent('warn', 'workflow run failed', { ...fields, reason: end.error });
      await persist(() => ledger.settle(run, end, now()));
      return {};
    }
    if (delivered.kind === 'refused') {
      deps.onEvent('info', 'no consumer for workflow run', {
        ...fields,
        deployment: run.deployment,
        code: delivered.code,
      });
      if (deps.othersMayTake === true) {
        await again(run, now(), false);
        return { restMs: Math.min(delivered.restMs, OTHERS_MS) };
      }
      await again(run, now() + delivered.restMs, false);
      return {};
    }
    deps.onEvent('warn', 'workflow run attempt failed', {
      ...fields,
      attempt: run.attempt,
      reason: delivered.reason,
    });
    // A run that makes progress continues, because only attempts without progress are counted.
    const progressed = await persist(() => ledger.hasProgressed(run, began));
    if (progressed) await again(run, now() + backoffMs(limits, 1, deps.random), false);
    else if (run.attempt <= limits.retries) await again(run, now() + backoffMs(limits, run.attempt, deps.random), true);
    else {
      const error = JSON.stringify({ name: delivered.code, message: delivered.reason });
      await persist(() => ledger.settle(run, { status: 'failed', error }, now()));
    }
    return {};
  }

  return { run: work, group: (rows) => rows.map((row) => [row]) };
}

function toEvent(
  row: Run,
  { lease, steps }: { lease: string; steps: readonly KnownStep[] },
  now: number,
  attemptsMax: number,
): EventContent {
  const known = steps.map(({ name, kind, status, attempts, result, error, wakeAt }) => {
    const fields = [`"kind":${JSON.stringify(kind)}`, `"status":${JSON.stringify(status)}`];
    if (attempts > 0) fields.push(`"attempts":${attempts}`);
    if (result !== null) fields.push(`"result":${result}`);
    if (error !== null && status === 'failed') fields.push(`"error":${error}`);
    // A time in the past is omitted, because the guest's clock may be slightly behind.
    if (wakeAt !== null && wakeAt > now) fields.push(`"wakeAt":${wakeAt}`);
    return `${JSON.stringify(name)}:{${fields.join(',')}}`;
  });
  const head = JSON.stringify({
    workflow: row.resource,
    executionId: row.execution_id,
    lease,
    createdAt: row.created_at,
    attempt: row.attempt,
    attemptsMax,
  });
  return {
    head,
    bodies: [`{"input":${row.input},"steps":{${known.join(',')}}}`],
    traces: row.trace == null ? [] : [row.trace],
  };
}

function toEnd({ status, output, error }: Result, bytesMax: number): End {
  if (status === 'suspended') return { status };
  if (status === 'completed') {
    const text = JSON.stringify(output ?? null);
    const bytes = Buffer.byteLength(text);
    if (bytes <= bytesMax) return { status, output: text };
    const message = `The output has ${bytes} bytes as JSON, and may have ${bytesMax}`;
    return { status: 'failed', error: JSON.stringify({ name: 'RangeError', message }) };
  }
  const { name = 'Error', message = 'The run failed' } = error ?? {};
  return {
    status: 'failed',
    error: JSON.stringify({ name: String(name).slice(0, 100), message: String(message).slice(0, 10_000) }),
  };
}
