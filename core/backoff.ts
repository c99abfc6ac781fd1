// Delay before a retry. Used by the broker and by queue settings. Pure.
import type { DeliveryLimits } from './limits.ts';

/**
 * Delay before the attempt after `attempt` (1 is the first), with 25% jitter so that simultaneous failures are not
 * retried together.
 */
export function backoffMs(
  limits: Pick<DeliveryLimits, 'backoffMs' | 'backoffMsMax'>,
  attempt: number,
  random: () => number = Math.random,
): number {
  const base = Math.min(limits.backoffMs * 2 ** Math.min(attempt - 1, 30), limits.backoffMsMax);
  return Math.round(base * (1 + random() / 4));
}
