// Timers: `timer` in platform.yaml.

/** Payload and repetition of a timer. */
export interface TimerOptions<Payload = unknown> {
  /** JSON that the handler receives. */
  payload?: Payload;
  /** Milliseconds between repetitions, at least 1,000. Not together with `cron`. */
  intervalMs?: number;
  /** Schedule of repetitions, five or six fields. Not together with `intervalMs`. */
  cron?: string;
  /** IANA time zone of `cron`; `UTC` by default. */
  timezone?: string;
}

/** A stored timer. */
export interface Timer<Payload = unknown> {
  readonly id: string;
  /** When the timer is due, in milliseconds since 1970. */
  readonly scheduledTime: number;
  readonly payload: Payload;
  /** Milliseconds between repetitions; null when it does not repeat by interval. */
  readonly intervalMs: number | null;
  /** Cron schedule and time zone of the timer, if it has one. */
  readonly cron?: string;
  readonly timezone?: string;
}

/** A timer that is due, as the `timer` handler receives it. */
export interface TimerEvent<Payload = unknown> {
  readonly id: string;
  /** Name of the timers in `env`. */
  readonly binding: string;
  /** When the timer was due, in milliseconds since 1970. */
  readonly scheduledTime: number;
  readonly payload: Payload;
  /** Milliseconds between repetitions; null when it does not repeat by interval. */
  readonly intervalMs: number | null;
}

/** Timers (`timer` in platform.yaml): calls of the worker's `timer` handler at times set while it runs. */
export interface TimerBinding<Payload = unknown> {
  /**
   * Sets a timer, or moves the timer with the same id.
   *
   * @param at a date, milliseconds since 1970, or a time from now. @param options options; any value without `payload`,
   * `intervalMs` and `cron` is the payload itself.
   * @example await env.REMINDERS.set('invoice-7', { afterMs: 60_000 }, { payload: { invoice: 7 } });
   */
  set(id: string, at: Date | number | { afterMs: number }, options?: TimerOptions<Payload> | Payload): Promise<void>;
  /** The timer with an id; null if it does not exist, or has fired and does not repeat. */
  get(id: string): Promise<Timer<Payload> | null>;
  /** Deletes a timer; deleting a missing timer is not an error. */
  delete(id: string): Promise<void>;
  /** Timers in the order of their ids, at most 1,000 per page. */
  list(options?: {
    prefix?: string;
    limit?: number;
    cursor?: string;
  }): Promise<{ timers: Timer<Payload>[]; cursor: string | null }>;
}
