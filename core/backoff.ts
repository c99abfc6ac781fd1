// How long what failed waits for its next attempt. Used by the broker and by the settings of queues. Pure.
import type { DeliveryLimits } from './limits.ts';

/**
 * Wait before the attempt after `attempt` (1 is the first), spread by a quarter so that what failed together comes
 * apart.
 */
export function backoffMs(
  limits: Pick<DeliveryLimits, 'backoffMs' | 'backoffMsMax'>,
  attempt: number,
  random: () => number = Math.random,
): number {
  const base = Math.min(limits.backoffMs * 2 ** Math.min(attempt - 1, 30), limits.backoffMsMax);
  return Math.round(base * (1 + random() / 4));
}
