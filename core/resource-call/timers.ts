// Operations on timers and schedules.
import type { ById, Nothing, Page } from './arguments.ts';

/** A timer that has been set. */
interface SetTimer {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly scheduledTime: number;
  readonly payload: unknown;
  readonly intervalMs: number | null;
  readonly cron: string | null;
  readonly timezone: string | null;
}

/** A schedule of platform.yaml. Times are milliseconds since 1970. */
export interface ScheduleStatus {
  readonly name: string;
  readonly schedule: string;
  readonly timezone: string;
  readonly nextAt: number;
  readonly lastAt: number | null;
  /** `ok`, or the code of an error. */
  readonly lastOutcome: string | null;
}

/** Operations on timers. */
export interface TimerOperations {
  readonly 'timer.list': {
    readonly takes: Page & { readonly prefix?: string | undefined };
    readonly gives: { readonly timers: readonly SetTimer[]; readonly cursor: string | null };
  };
  readonly 'timer.set': {
    readonly takes: ById & {
      readonly at?: number | string | undefined;
      readonly afterMs?: number | undefined;
      readonly payload?: unknown;
      readonly intervalMs?: number | undefined;
      readonly cron?: string | undefined;
      readonly timezone?: string | undefined;
    };
    readonly gives: Nothing;
  };
  /** Returns false if there is no such timer. A repeating timer continues from here. */
  readonly 'timer.run': { readonly takes: ById; readonly gives: { readonly found: boolean } };
  readonly 'timer.delete': { readonly takes: ById; readonly gives: Nothing };
}

/** Operations on the schedules of platform.yaml. */
export interface ScheduleOperations {
  /** Lists the schedules of platform.yaml; takes no `binding`. */
  readonly 'cron.list': { readonly takes: Nothing; readonly gives: { readonly schedules: readonly ScheduleStatus[] } };
  /**
   * Null if no schedule has that name. False means that a run is in progress; the schedule runs again at its next time.
   */
  readonly 'cron.run': {
    readonly takes: { readonly name: string };
    readonly gives: { readonly triggered: boolean | null };
  };
}
