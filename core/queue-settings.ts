// Queue settings in platform.yaml besides names: attempts, delays, concurrency, dead letters. Read by the broker and
// the host half of queues. Pure.
import { backoffMs } from './backoff.ts';
import type { DeliveryLimits } from './limits.ts';

/** Settings of one queue; absent settings use the platform's limits. */
export interface QueueSettings {
  /** Number of retries after the first attempt. */
  readonly maxRetries?: number;
  /** Delay before the second attempt; it doubles with each further attempt. */
  readonly retryDelayMs?: number;
  /** Messages processed concurrently. */
  readonly maxConcurrency?: number;
  /** Queue for undeliverable messages. */
  readonly deadLetter?: string;
}

/** By resource name. */
export type QueuesSettings = Readonly<Record<string, QueueSettings>>;

const deadSuffix = '_dlq';

/** The dead letter queue of `resource`; null if it is a dead letter queue itself, and keeps its messages. */
export function deadLettersOf(queues: QueuesSettings, resource: string): string | null {
  const own = Object.hasOwn(queues, resource) ? queues[resource]?.deadLetter : undefined;
  if (own !== undefined) return own;
  const isDead =
    resource.endsWith(deadSuffix) || Object.values(queues).some(({ deadLetter }) => deadLetter === resource);
  return isDead ? null : `${resource}${deadSuffix}`;
}

/** Delay of a message after it failed in `attempt` (1 is the first); null if there is no further attempt. */
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
