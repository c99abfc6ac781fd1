// Timers: `timer` in platform.yaml.

/** What a timer carries, and whether it repeats. */
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

/** A timer that is set. */
export interface Timer<Payload = unknown> {
  readonly id: string;
  /** When it is due, in milliseconds since 1970. */
  readonly scheduledTime: number;
  readonly payload: Payload;
  /** Milliseconds between repetitions; null when it does not repeat by interval. */
  readonly intervalMs: number | null;
  /** Its schedule and the time zone of that, where it repeats by one. */
  readonly cron?: string;
  readonly timezone?: string;
}

/** A timer that is due, as the `timer` handler receives it. */
export interface TimerEvent<Payload = unknown> {
  readonly id: string;
  /** Name of the timers in `env`. */
  readonly binding: string;
  /** When it was due, in milliseconds since 1970. */
  readonly scheduledTime: number;
  readonly payload: Payload;
  /** Milliseconds between repetitions; null when it does not repeat by interval. */
  readonly intervalMs: number | null;
}

/** Timers (`timer` in platform.yaml): calls of the worker's `timer` handler at times set while it runs. */
export interface TimerBinding<Payload = unknown> {
  /**
   * Sets a timer, or moves the one with the same id.
   *
   * @param at a date, milliseconds since 1970, or a time from now.
   * @param options options; anything with neither `payload` nor `intervalMs` nor `cron` is the payload itself.
   * @example await env.REMINDERS.set('invoice-7', { afterMs: 60_000 }, { payload: { invoice: 7 } });
   */
  set(id: string, at: Date | number | { afterMs: number }, options?: TimerOptions<Payload> | Payload): Promise<void>;
  /** The timer with an id; null when there is none, or it has fired and does not repeat. */
  get(id: string): Promise<Timer<Payload> | null>;
  /** Removes a timer; removing one that is not there is no error. */
  delete(id: string): Promise<void>;
  /** Timers in the order of their ids, at most 1,000 a page. */
  list(options?: {
    prefix?: string;
    limit?: number;
    cursor?: string;
  }): Promise<{ timers: Timer<Payload>[]; cursor: string | null }>;
}
