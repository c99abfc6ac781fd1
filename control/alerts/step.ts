// What one evaluation makes of an alert: it fires once its value was over the threshold for some evaluations in a row,
// and resolves below a lower one, so that a value that goes up and down around the threshold is one alert. Pure.

/** How an alert stands. */
export interface AlertState {
  readonly isFiring: boolean;
  /** Evaluations in a row that were over. */
  readonly overCount: number;
  /** When it fired last, in ms since 1970. */
  readonly firedAt: number | null;
}

/** When it fires and resolves. */
export interface AlertBounds {
  readonly threshold: number;
  readonly clearBelow: number;
  readonly evaluations: number;
  readonly quietMs: number;
}

/** @param value null: there was nothing to measure, which counts as well. */
export function stepAlert(
  { isFiring, overCount, firedAt }: AlertState,
  { threshold, clearBelow, evaluations, quietMs }: AlertBounds,
  value: number | null,
  now: number,
): AlertState & { readonly event: 'fired' | 'resolved' | null } {
  if (isFiring) {
    if (value !== null && value >= clearBelow) return { isFiring, overCount, firedAt, event: null };
    return { isFiring: false, overCount: 0, firedAt, event: 'resolved' };
  }
  if (value === null || value < threshold) return { isFiring, overCount: 0, firedAt, event: null };
  const count = Math.min(overCount + 1, evaluations);
  const isQuiet = firedAt !== null && now - firedAt < quietMs;
  if (count < evaluations || isQuiet) return { isFiring, overCount: count, firedAt, event: null };
  return { isFiring: true, overCount: count, firedAt: now, event: 'fired' };
}
