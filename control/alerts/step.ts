// The state machine of an alert. An alert fires after several consecutive evaluations over the threshold and resolves
// below a lower threshold, so a flapping value produces a single alert. Pure.

/** State of an alert. */
export interface AlertState {
  readonly isFiring: boolean;
  /** Consecutive evaluations over the threshold. */
  readonly overCount: number;
  /** Time of the last firing, in ms since 1970. */
  readonly firedAt: number | null;
}

/** Thresholds for firing and resolving. */
interface AlertLimits {
  readonly threshold: number;
  readonly clearBelow: number;
  readonly evaluations: number;
  readonly quietMs: number;
}

/** @param value null means no data, which counts as an evaluation. */
export function stepAlert(
  { isFiring, overCount, firedAt }: AlertState,
  { threshold, clearBelow, evaluations, quietMs }: AlertLimits,
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
