// What a project says of its queues in platform.yaml beside their names: attempts, pauses, how many at a time, where
// dead letters go. Read by the broker and the host half of queues. Pure.
import { backoffMs } from './backoff.ts';
import type { DeliveryLimits } from './limits.ts';

/** Of one queue; what is absent is as the platform's limits say. */
export interface QueueSettings {
  /** Attempts after the first. */
  readonly maxRetries?: number;
  /** Wait before the second attempt; it doubles with each further one. */
  readonly retryDelayMs?: number;
  /** Messages that are worked on at a time. */
  readonly maxConcurrency?: number;
  /** Queue that takes what could not be delivered. */
  readonly deadLetter?: string;
}

/** By resource name. */
export type QueuesSettings = Readonly<Record<string, QueueSettings>>;

const deadSuffix = '_dlq';

/**
 * The queue that takes what `resource` could not deliver; null: it is one of dead letters itself, and they stay there.
 */
export function deadLettersOf(queues: QueuesSettings, resource: string): string | null {
  const own = Object.hasOwn(queues, resource) ? queues[resource]?.deadLetter : undefined;
  if (own !== undefined) return own;
  const isDead =
    resource.endsWith(deadSuffix) || Object.values(queues).some(({ deadLetter }) => deadLetter === resource);
  return isDead ? null : `${resource}${deadSuffix}`;
}

/** How long a message waits that failed in `attempt` (1 is the first); null: it has had its last one. */
export function retryDelayMs(
  { maxRetries, retryDelayMs: delayMs }: QueueSettings,
  limits: Pick<DeliveryLimits, 'retries' | 'backoffMs' | 'backoffMsMax'>,
  attempt: number,
  random?: () => number,
): number | null {
  if (attempt > (maxRetries ?? limits.retries)) return null;
  if (delayMs === undefined) return backoffMs(limits, attempt, random);
  return backoffMs({ backoffMs: delayMs, backoffMsMax: Math.max(delayMs, limits.backoffMsMax) }, attempt, random);
}
