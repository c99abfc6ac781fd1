// The broker's work on due timers and schedules: fires each, then sets its next time. A failed firing is retried, but
// never after the next firing.
import { backoffMs } from '#core/backoff.ts';
import type { EventContent } from '#core/event.ts';
import type { LaneAdvice, Work } from '#postgres/claim-loop.ts';
import type { Wake } from '#postgres/wake.ts';
import { persist, tryDeliver, type WorkDeps } from '../delivery/delivery.ts';

/** How long a lane pauses if it has no consumer here, but may have one in another process. */
const OTHERS_MS = 1000;

/** A claimed timer from the store. */
export interface DueTimer {
  readonly seq: number;
  readonly lane_id: number;
  readonly lease: string;
  readonly room: number;
  readonly attempt: number;
  readonly namespace: string;
  readonly resource: string;
  readonly timer_id: string;
  readonly scheduled_at: number;
  /** JSON. */
  readonly payload: string | null;
  readonly interval_ms: number | null;
  readonly cron: string | null;
  readonly timezone: string | null;
  readonly overlap: string | null;
  readonly project: string;
  readonly branch: string;
  readonly binding: string;
  /** The trace that set the timer, or null. */
  readonly trace?: string | null;
}

/** The methods of the store that are used here. */
export interface TimerLedger<Row extends DueTimer> {
  readonly claims: { release(row: Row, dueAt: number, counted: boolean): Promise<boolean> };
  settle(row: Row, next: number | null, outcome: string, now: number): Promise<void>;
}

/** The next time of a timer after `scheduledTime`, not before `now`, or null. */
export type NextTime = (
  timer: { readonly intervalMs: number | null; readonly cron: string | null; readonly timezone: string | null },
  now: number,
  scheduledTime: number,
) => number | null;

export function createTimerWork<Row extends DueTimer>(
  kind: 'timer' | 'cron',
  deps: WorkDeps,
  ledger: TimerLedger<Row>,
  nextTime: NextTime,
  wake: Wake,
): Work<Row> {
  const { limits, now } = deps;

  function nextOf(row: Row): number | null {
    const timer = { intervalMs: row.interval_ms, cron: row.cron, timezone: row.timezone };
    const next = nextTime(timer, now(), row.scheduled_at);
    if (row.overlap !== 'queue') return next;
    // A run that became due during this run follows immediately; several such runs are merged into one.
    const missed = nextTime(timer, row.scheduled_at, row.scheduled_at);
    return missed !== null && missed <= now() ? missed : next;
  }

  async function settle(row: Row, outcome: string): Promise<void> {
    const next = nextOf(row);
    await persist(() => ledger.settle(row, next, outcome, now()));
    if (next !== null) wake.notify(kind, row.lane_id, next);
  }

  async function again(row: Row, dueAt: number, counted: boolean): Promise<void> {
    if (await persist(() => ledger.claims.release(row, dueAt, counted))) wake.notify(kind, row.lane_id, dueAt);
  }

  async function run([row]: readonly Row[], signal: AbortSignal): Promise<LaneAdvice> {
    const timer = row!;
    const delivered = await tryDeliver(deps, { ...timer, kind }, toEvent(kind, timer, 1 + limits.retries), signal);
    const fields = { namespace: timer.namespace, resource: timer.resource, project: timer.project, id: timer.timer_id };
    if (delivered.kind === 'done') await settle(timer, 'ok');
    else if (delivered.kind === 'refused') {
      deps.onEvent('info', `no consumer for ${kind} event`, { ...fields, code: delivered.code });
      if (deps.othersMayTake === true) {
        await again(timer, now(), false);
        return { restMs: Math.min(delivered.restMs, OTHERS_MS) };
      }
      await again(timer, now() + delivered.restMs, false);
    } else {
      deps.onEvent('warn', `${kind} event failed`, { ...fields, attempt: timer.attempt, reason: delivered.reason });
      const retryAt = now() + backoffMs(limits, timer.attempt, deps.random);
      const next = nextOf(timer);
      if (timer.attempt <= limits.retries && (next === null || retryAt < next)) await again(timer, retryAt, true);
      else await settle(timer, delivered.code);
    }
    return {};
  }

  return { run, group: (rows) => rows.map((row) => [row]) };
}

function toEvent(kind: 'timer' | 'cron', row: DueTimer, attemptsMax: number): EventContent {
  const { attempt, scheduled_at: scheduledTime, timer_id: id } = row;
  if (kind === 'cron')
    return { head: JSON.stringify({ name: id, cron: row.cron, scheduledTime, attempt, attemptsMax }), bodies: [] };
  const head = { binding: row.binding, id, scheduledTime, intervalMs: row.interval_ms, attempt, attemptsMax };
  return { head: JSON.stringify(head), bodies: [row.payload ?? 'null'], traces: row.trace == null ? [] : [row.trace] };
}
