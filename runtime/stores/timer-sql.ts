// Timers and cron over `Sql`: workers set timers, manifests declare schedules, and the broker claims and settles both.
// A schedule of platform.yaml is a timer in a lane of kind `cron`, one lane per namespace and project.
import { nextCronTime } from '#core/schedules/cron-next.ts';
import { parseCronSchedule } from '#core/schedules/cron-schedule.ts';
import type { DeliveryLimits } from '#core/limits.ts';
import { PlatformError } from '#core/errors.ts';
import type { Wake } from '#postgres/wake.ts';
import type { EventSender } from '../engine/bindings/queue.ts';
import type { StoredTimer, TimerPlace, TimerStore } from '../engine/bindings/timer.ts';
import { createClaims, createLanes, type Claims, type LaneRow, type Lanes } from './claims-sql.ts';
import { prefixEnd, type Sql } from './sql.ts';

/** A claimed timer or schedule. */
interface TimerRow extends LaneRow {
  readonly timer_id: string;
  readonly scheduled_at: number;
  readonly payload: string | null;
  readonly interval_ms: number | null;
  readonly cron: string | null;
  readonly timezone: string | null;
  readonly overlap: string | null;
  readonly project: string;
  readonly branch: string;
  readonly binding: string;
  readonly trace: string | null;
}

/** A schedule declared by a deployment. */
interface DeclaredCron {
  readonly name: string;
  readonly schedule: string;
  readonly timezone: string;
  /** `queue` means that a run that became due during the previous run follows immediately. */
  readonly overlap?: 'skip' | 'queue';
}

/** A schedule, as operators see it. */
interface CronStatus {
  readonly name: string;
  readonly schedule: string;
  readonly timezone: string;
  readonly nextAt: number;
  readonly lastAt: number | null;
  readonly lastOutcome: string | null;
}

/** The operations of the broker on timers, or on schedules. */
interface TimerDeliveries {
  readonly lanes: Lanes;
  readonly claims: Claims<TimerRow>;
  /**
   * Ends a firing: the timer continues at `next`, or is finished (null). A timer that was set again in the meantime
   * keeps its new setting.
   */
  settle(row: TimerRow, next: number | null, outcome: string, now: number): Promise<void>;
}

/** The schedules of deployments. */
interface CronStore extends TimerDeliveries {
  /** Sets the schedules of a project to those of its current deployment; an unchanged one keeps its next time. */
  declare(
    place: TimerPlace,
    sender: Omit<EventSender, 'binding'>,
    crons: readonly DeclaredCron[],
    now: number,
  ): Promise<void>;
  list(place: TimerPlace): Promise<CronStatus[]>;
  /**
   * Makes a schedule due now, in addition to its other times. Returns false if no schedule has this name, or it is
   * running.
   */
  trigger(place: TimerPlace, name: string, now: number): Promise<boolean>;
}

const select = `timer_id AS id, scheduled_at AS "scheduledTime", coalesce(payload, 'null') AS payload, interval_ms AS "intervalMs", cron, timezone`;
/** Maximum size of the payloads of a page of timers; a page has at least one timer of any size. */
const PAGE_BYTES_MAX = 4 * 1024 * 1024;
/** How long a count of a lane's timers is cached. */
const COUNT_MS = 60_000;

export function createTimerStore(sql: Sql, wake: Wake, limits: DeliveryLimits): TimerStore & TimerDeliveries {
  const base = createBase(sql, 'timer', limits);
  const counts = new Map<number, { count: number; at: number }>();

  async function checkCount(lane: number, now: number): Promise<void> {
    let known = counts.get(lane);
    if (known === undefined || now - known.at > COUNT_MS || known.count >= limits.timersMax) {
      const [row] = await sql.all<{ n: number }>('SELECT count(*) AS n FROM timer WHERE lane_id = $1', lane);
      if (counts.size > 10_000) counts.clear();
      counts.set(lane, (known = { count: row!.n, at: now }));
    }
    if (known.count >= limits.timersMax)
      throw new PlatformError('invalid_argument', {
        reason: `Limit of timers reached: ${limits.timersMax}`,
      });
    known.count++;
  }

  return {
    ...base,
    async set({ namespace, resource }, sender, timer, now) {
      const lane = await base.lanes.open(namespace, resource);
      await checkCount(lane, now);
      await sql.all(
        `INSERT INTO timer (lane_id, timer_id, scheduled_at, due_at, payload, interval_ms, cron, timezone, project, branch, binding, trace)
         VALUES ($1, $2, $3, $3, $4, $5, $6, $7, $8, $9, $10, $11)
         ON CONFLICT (lane_id, timer_id) DO UPDATE SET scheduled_at = excluded.scheduled_at, due_at = excluded.due_at, lease = NULL,
           attempt = 0, payload = excluded.payload, interval_ms = excluded.interval_ms, cron = excluded.cron,
           timezone = excluded.timezone, project = excluded.project, branch = excluded.branch, binding = excluded.binding,
           trace = excluded.trace`,
        lane,
        timer.id,
        timer.dueAt,
        timer.payload,
        timer.intervalMs,
        timer.cron,
        timer.timezone,
        sender.project,
        sender.branch,
        sender.binding,
        sender.trace ?? null,
      );
      wake.notify('timer', lane, timer.dueAt);
    },
    async get({ namespace, resource }, id) {
      const lane = (await base.lanes.find(namespace, resource)) ?? 0;
      const [row] = await sql.all<StoredTimer>(
        `SELECT ${select} FROM timer WHERE lane_id = $1 AND timer_id = $2`,
        lane,
        id,
      );
      return row ?? null;
    },
    async delete({ namespace, resource }, id) {
      const lane = (await base.lanes.find(namespace, resource)) ?? 0;
      await sql.all('DELETE FROM timer WHERE lane_id = $1 AND timer_id = $2', lane, id);
    },
    async list({ namespace, resource }, { prefix, after, limit }) {
      const lane = (await base.lanes.find(namespace, resource)) ?? 0;
      const rows = await sql.all<StoredTimer & { found: number; total: number; bytes: number }>(
        `SELECT * FROM (
           SELECT y.*, count(*) OVER () AS found, sum(y.bytes) OVER (ORDER BY y.id) AS total FROM (
             SELECT ${select}, coalesce(octet_length(payload), 0) AS bytes FROM timer
             WHERE lane_id = $1 AND timer_id > $2 AND timer_id >= $3 AND timer_id < $5 ORDER BY timer_id LIMIT $4) y) z
         WHERE total - bytes < ${PAGE_BYTES_MAX} ORDER BY id`,
        lane,
        after,
        prefix,
        limit + 1,
        prefixEnd(prefix),
      );
      const timers = rows.slice(0, limit).map(({ id, scheduledTime, payload, intervalMs, cron, timezone }) => ({
        id,
        scheduledTime,
        payload,
        intervalMs,
        cron,
        timezone,
      }));
      return { timers, more: timers.length < (rows[0]?.found ?? 0) };
    },
  };
}

export function createCronStore(sql: Sql, wake: Wake, limits: DeliveryLimits): CronStore {
  const base = createBase(sql, 'cron', limits);
  return {
    ...base,
    async declare({ namespace, resource }, sender, crons, now) {
      const lane = await base.lanes.open(namespace, resource);
      const rows = crons.flatMap((cron) => {
        const parsed = parseCronSchedule(cron.schedule);
        const next = 'problem' in parsed ? null : nextCronTime(parsed.schedule, cron.timezone, now);
        return next === null ? [] : [{ ...cron, next }];
      });
      await sql.transaction(async (inside) => {
        const before = await inside.all<{ timer_id: string }>('SELECT timer_id FROM timer WHERE lane_id = $1', lane);
        for (const { timer_id: name } of before)
          if (!rows.some((row) => row.name === name))
            await inside.all('DELETE FROM timer WHERE lane_id = $1 AND timer_id = $2', lane, name);
        for (const { name, schedule, timezone, overlap, next } of rows)
          await inside.all(
            `INSERT INTO timer (lane_id, timer_id, scheduled_at, due_at, cron, timezone, overlap, project, branch, binding)
             VALUES ($1, $2, $3, $3, $4, $5, $6, $7, $8, '')
             ON CONFLICT (lane_id, timer_id) DO UPDATE SET
               scheduled_at = CASE WHEN timer.cron = excluded.cron AND timer.timezone = excluded.timezone
                 THEN timer.scheduled_at ELSE excluded.scheduled_at END,
               due_at = CASE WHEN timer.cron = excluded.cron AND timer.timezone = excluded.timezone THEN timer.due_at ELSE excluded.due_at END,
               lease = CASE WHEN timer.cron = excluded.cron AND timer.timezone = excluded.timezone THEN timer.lease END,
               attempt = CASE WHEN timer.cron = excluded.cron AND timer.timezone = excluded.timezone THEN timer.attempt ELSE 0 END,
               cron = excluded.cron, timezone = excluded.timezone, overlap = excluded.overlap,
               project = excluded.project, branch = excluded.branch`,
            lane,
            name,
            next,
            schedule,
            timezone,
            overlap ?? 'skip',
            sender.project,
            sender.branch,
          );
      });
      if (rows.length > 0) wake.notify('cron', lane, Math.min(...rows.map(({ next }) => next)));
    },
    async list({ namespace, resource }) {
      const lane = (await base.lanes.find(namespace, resource)) ?? 0;
      return sql.all<CronStatus>(
        `SELECT timer_id AS name, cron AS schedule, timezone, scheduled_at AS "nextAt", fired_at AS "lastAt", outcome AS "lastOutcome"
         FROM timer WHERE lane_id = $1 ORDER BY timer_id`,
        lane,
      );
    },
    async trigger({ namespace, resource }, name, now) {
      const lane = (await base.lanes.find(namespace, resource)) ?? 0;
      const rows = await sql.all(
        `UPDATE timer SET scheduled_at = $3, due_at = $3 WHERE lane_id = $1 AND timer_id = $2 AND (lease IS NULL OR due_at <= $3) RETURNING seq`,
        lane,
        name,
        now,
      );
      if (rows.length > 0) wake.notify('cron', lane, now);
      return rows.length > 0;
    },
  };
}

function createBase(sql: Sql, kind: 'timer' | 'cron', limits: DeliveryLimits): TimerDeliveries {
  return {
    lanes: createLanes(sql, kind),
    claims: createClaims<TimerRow>({ sql, kind, table: 'timer', concurrency: limits.laneConcurrency }),
    async settle(row, next, outcome, now) {
      if (next === null) await sql.all('DELETE FROM timer WHERE seq = $1 AND lease = $2', row.seq, row.lease);
      else
        await sql.all(
          `UPDATE timer SET scheduled_at = $3, due_at = $3, lease = NULL, attempt = 0, fired_at = $4, outcome = $5
           WHERE seq = $1 AND lease = $2`,
          row.seq,
          row.lease,
          next,
          now,
          outcome,
        );
    },
  };
}
