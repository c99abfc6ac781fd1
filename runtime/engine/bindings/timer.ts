// The host half of the timer binding: sets timers. Arguments are validated here; runtime/stores/timer-sql.ts stores
// timers, and the broker fires them (runtime/broker/work/timer.ts).
import { isTimeZone } from '#core/schedules/cron-next.ts';
import { parseCronSchedule } from '#core/schedules/cron-schedule.ts';
import { fixedLimits, type DeliveryLimits } from '#core/limits.ts';
import { nextTime } from '#core/schedules/timer-next.ts';
import type { HostCall, HostFunction } from '../bridge/host-calls.ts';
import { fromCursor, invalid, toCursor, toJsonText, toName, toRecord, toWhole } from './arguments.ts';
import type { EventSender } from './queue.ts';
import type { BindingScope } from './scope.ts';
import { carriedTrace } from './trace-headers.ts';

/** One resource of timers, isolated from all other resources. */
export interface TimerPlace {
  readonly namespace: string;
  readonly resource: string;
}

/** A timer to be set. */
interface NewTimer {
  readonly id: string;
  /** ms since 1970. */
  readonly dueAt: number;
  /** JSON. */
  readonly payload: string;
  readonly intervalMs: number | null;
  readonly cron: string | null;
  /** Time zone of `cron`; null means UTC. */
  readonly timezone: string | null;
}

/** A stored timer. */
export interface StoredTimer {
  readonly id: string;
  readonly scheduledTime: number;
  readonly payload: string;
  readonly intervalMs: number | null;
  readonly cron: string | null;
  readonly timezone: string | null;
}

/** Stores timers. Accepted timers are durable. */
export interface TimerStore {
  /**
   * Sets a timer, or moves the timer with the same id, even while it fires. @throws {PlatformError} when there are too
   * many timers.
   */
  set(place: TimerPlace, sender: EventSender, timer: NewTimer, now: number): Promise<void>;
  get(place: TimerPlace, id: string): Promise<StoredTimer | null>;
  delete(place: TimerPlace, id: string): Promise<void>;
  /** Lists timers after `after`, sorted by the bytes of their ids. */
  list(
    place: TimerPlace,
    page: { prefix: string; after: string; limit: number },
  ): Promise<{ timers: StoredTimer[]; more: boolean }>;
}

const { timerIdBytesMax, pageMax } = fixedLimits.events;
const DATE_MAX = 8.64e15;

/** The calls of a deployment's timer bindings. Arguments: `{binding, ...}`. */
export function createTimerCalls(
  scope: BindingScope,
  store: TimerStore,
  limits: DeliveryLimits,
  now: () => number = Date.now,
): Readonly<Record<string, HostFunction>> {
  const parse = (call: HostCall): { place: TimerPlace; args: Readonly<Record<string, unknown>> } => {
    const args = toRecord(call.args);
    const place = { namespace: scope.namespace, resource: scope.resource(args['binding']) };
    call.owner.countSubrequest();
    return { place, args };
  };
  const toId = (value: unknown): string => toName(value, 'The id', timerIdBytesMax);

  return {
    /**
     * Takes `{id, at | afterMs, payload?, intervalMs?, cron?, timezone?}`. With `cron`, sets the first occurrence that
     * is not before `at`.
     */
    async 'timer.set'(call) {
      const { place, args } = parse(call);
      const time = now();
      const at =
        args['at'] === undefined
          ? time + toWhole(args['afterMs'], 'afterMs', { least: 0, most: limits.sleepMsMax * 10 })
          : toTime(args['at']);
      const intervalMs =
        args['intervalMs'] == null
          ? null
          : toWhole(args['intervalMs'], 'intervalMs', { least: limits.intervalMsLeast, most: DATE_MAX });
      const { cron, timezone } = toSchedule(args['cron'], args['timezone'], intervalMs);
      const timer = {
        id: toId(args['id']),
        dueAt: cron === null ? at : (nextTime({ cron, timezone, intervalMs: null }, Math.max(at, time) - 1, 0) ?? at),
        payload: toJsonText(args['payload'], 'The payload', limits.messageBytesMax),
        intervalMs,
        cron,
        timezone,
      };
      // A repeating timer continues no trace, because it has no single cause.
      const trace = timer.intervalMs === null && timer.cron === null ? carriedTrace(call) : null;
      const sender = { project: scope.project, branch: scope.branch, binding: args['binding'] as string, trace };
      await store.set(place, sender, timer, time);
      return {};
    },
    async 'timer.get'(call) {
      const { place, args } = parse(call);
      const found = await store.get(place, toId(args['id']));
      return { value: found === null ? null : toReply(found) };
    },
    async 'timer.delete'(call) {
      const { place, args } = parse(call);
      await store.delete(place, toId(args['id']));
      return {};
    },
    /** `{prefix?, limit?, cursor?}` -> `{timers, cursor}`. */
    async 'timer.list'(call) {
      const { place, args } = parse(call);
      const prefix = args['prefix'] == null || args['prefix'] === '' ? '' : toId(args['prefix']);
      const limit = toWhole(args['limit'], 'limit', { least: 1, most: pageMax, otherwise: pageMax });
      const { timers, more } = await store.list(place, { prefix, after: fromCursor(args['cursor']) ?? '', limit });
      const last = timers.at(-1);
      const cursor = more && last !== undefined ? toCursor(last.id) : null;
      return { value: { timers: timers.map(toReply), cursor } };
    },
  };
}

function toSchedule(
  cron: unknown,
  timezone: unknown,
  intervalMs: number | null,
): { cron: string | null; timezone: string | null } {
  if (timezone != null && (typeof timezone !== 'string' || !isTimeZone(timezone)))
    throw invalid('timezone must be the name of a time zone, such as "Europe/Vienna"');
  if (cron == null) return { cron: null, timezone: null };
  if (intervalMs !== null) throw invalid('intervalMs and cron exclude each other');
  if (typeof cron !== 'string') throw invalid('cron must be a string');
  const parsed = parseCronSchedule(cron);
  if ('problem' in parsed) throw invalid(`cron: ${parsed.problem}`);
  return { cron, timezone: (timezone ?? null) as string | null };
}

function toTime(at: unknown): number {
  if (typeof at !== 'number' || !(Math.abs(at) <= DATE_MAX)) throw invalid('The time must be a valid date');
  return Math.floor(at);
}

function toReply({ id, scheduledTime, payload, intervalMs, cron, timezone }: StoredTimer): object {
  const reply = { id, scheduledTime, payload: JSON.parse(payload) as unknown, intervalMs };
  return cron === null ? reply : { ...reply, cron, timezone: timezone ?? 'UTC' };
}
