// Guarded releases as stored and as the API returns them. Changed by ../releases/guarded/.
import type { ReleaseSettings } from '#core/release-settings.ts';
import type { Sql, Transaction } from '#postgres/sql.ts';

export const guardedStates = ['running', 'promoted', 'rolled_back', 'canceled'] as const;
export type GuardedState = (typeof guardedStates)[number];

/** Metrics of one deployment during a step. */
export interface SeenFigures {
  readonly requests: number;
  /** Requests that were answered with a 5xx status. */
  readonly failures: number;
  /** p99 of the time to first byte; null if nothing was measured. */
  readonly p99Ms: number | null;
  /** CPU per request; null if nothing was measured. */
  readonly cpuMs: number | null;
}

/** A step that has begun. */
export interface SeenStep {
  readonly percent: number;
  readonly startedAt: string;
  /** End of the step; null for the current step. */
  readonly endedAt: string | null;
  /** Figures of the new deployment and of production; null if not judged yet. */
  readonly now: SeenFigures | null;
  readonly before: SeenFigures | null;
  /** The last decision, as a sentence; null if not judged yet. */
  readonly verdict: string | null;
}

/** A row of `control.guarded_release`, or its JSON. */
export interface GuardedRow {
  readonly previous_id: string;
  readonly settings: ReleaseSettings;
  readonly state: GuardedState;
  readonly step: number;
  readonly steps: readonly SeenStep[];
  readonly reason: string | null;
  readonly started_at: string | Date;
  readonly ended_at: string | Date | null;
}

/** Column of the newest guarded release of a deployment `d`, as JSON. */
export const guardedOf = (sql: Sql | Transaction) => sql`(
  SELECT to_jsonb(guarded) FROM (
    SELECT previous_id, settings, state, step, steps, reason, started_at, ended_at FROM control.guarded_release
    WHERE deployment_id = d.id ORDER BY id DESC LIMIT 1) AS guarded)`;

/** The new deployment's share of the visitors, in percent. */
export function percentOf({ state, settings, step }: Pick<GuardedRow, 'state' | 'settings' | 'step'>): number {
  if (state === 'running') return settings.steps[step]!;
  return state === 'promoted' ? 100 : 0;
}

/** Converts a guarded release to the format of the API. */
export function toGuarded(row: GuardedRow) {
  return {
    state: row.state,
    previousDeploymentId: row.previous_id,
    percent: percentOf(row),
    settings: toReleaseSettings(row.settings),
    steps: row.steps.map((step) => ({ ...step })),
    reason: row.reason,
    startedAt: new Date(row.started_at).toISOString(),
    endedAt: row.ended_at === null ? null : new Date(row.ended_at).toISOString(),
  };
}

/** Converts the settings of guarded releases to the format of the API. */
export function toReleaseSettings({ steps, minutes, errors, p99, cpu }: ReleaseSettings) {
  return { steps: [...steps], minutes, errors, p99, cpu };
}
