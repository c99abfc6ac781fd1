// The alarms of durable objects as timers of the platform: a timer wakes the object no later than its alarm, whose time
// is in the object's own storage. The timer is set before the alarm is on disk, so that no alarm is lost.
import type { EventContent } from '#core/event.ts';
import { ofPreview } from '#core/preview.ts';
import type { TimerStore } from '../../bindings/timer.ts';

/** A name for these timers and their payload, which no binding can have. */
const OBJECT_TIMERS = '~objects';
/** Number of retries, and the delay before the first, which doubles each time. */
const ALARM_RETRIES_MAX = 6;
const RETRY_MS = 2000;

/** The object of a timer. */
export interface AlarmOwner {
  readonly namespace: string;
  readonly project: string;
  readonly branch: string;
  readonly preview: string | null;
  readonly id: string;
  readonly class: string;
  readonly name?: string;
}

/** A due timer of an object. */
export interface DueAlarm {
  readonly id: string;
  readonly class: string;
  readonly name?: string;
  readonly retries: number;
}

export class ObjectAlarms {
  readonly #timers: TimerStore;

  constructor(timers: TimerStore) {
    this.#timers = timers;
  }

  #place({ namespace, preview }: AlarmOwner): { namespace: string; resource: string } {
    return { namespace: ofPreview(namespace, preview), resource: OBJECT_TIMERS };
  }

  async get(owner: AlarmOwner): Promise<number | null> {
    return (await this.#timers.get(this.#place(owner), owner.id))?.scheduledTime ?? null;
  }

  async set(owner: AlarmOwner, at: number, retries = 0): Promise<void> {
    const { id, class: className, name, project, branch } = owner;
    const payload = JSON.stringify({ id, class: className, ...(name === undefined ? {} : { name }), retries });
    const timer = { id, dueAt: at, payload, intervalMs: null, cron: null, timezone: null };
    await this.#timers.set(this.#place(owner), { project, branch, binding: OBJECT_TIMERS }, timer, Date.now());
  }

  async delete(owner: AlarmOwner): Promise<void> {
    await this.#timers.delete(this.#place(owner), owner.id);
  }

  /** Schedules a retry after a failure. @returns false if that was the last attempt. */
  async again(owner: AlarmOwner, retries: number): Promise<boolean> {
    if (retries >= ALARM_RETRIES_MAX) return false;
    await this.set(owner, Date.now() + RETRY_MS * 2 ** retries, retries + 1);
    return true;
  }
}

/** The alarm in an event of a timer; null if it is a timer of the worker. */
export function dueAlarm({ head, bodies }: EventContent): DueAlarm | null {
  if (!head.includes(OBJECT_TIMERS)) return null;
  const { binding } = JSON.parse(head) as { readonly binding?: unknown };
  return binding === OBJECT_TIMERS ? (JSON.parse(bodies[0] ?? 'null') as DueAlarm) : null;
}
