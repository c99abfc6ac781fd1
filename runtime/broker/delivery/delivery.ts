// What a broker needs from outside to deliver an event, and how it reads what became of it. Shared by the works of all
// kinds.
import type { DeliveryLimits } from '#core/limits.ts';
import { errorMessage } from '#core/errors.ts';
import type { QueuesSettings } from '#core/queue-settings.ts';
import type { EventContent, EventKind } from '#core/event.ts';
import type { DeliveryEnd } from '../../engine/invocation/delivery.ts';

/** Which deployment gets an event. */
export interface Recipient {
  readonly kind: EventKind;
  readonly namespace: string;
  /** The queue, resource of timers, or workflow; of cron the project. */
  readonly resource: string;
  /** Of who sent the event or set the timer. */
  readonly project: string;
  readonly branch: string;
  /** Of a run: the deployment that started it, which should go on with it. */
  readonly deployment?: string;
}

/** What became of an event. */
export interface EventEnd {
  /** Null: the handler took it. */
  readonly code: string | null;
  /** Of a code, in words. */
  readonly reason: string;
  /** JSON; null unless the handler took it. */
  readonly result: string | null;
}

/** The end of an event that an engine in this process was given. */
export function toEventEnd({ outcome, result }: DeliveryEnd): EventEnd {
  if (outcome.kind === 'ok') return { code: null, reason: '', result };
  return { code: outcome.code, reason: errorMessage(outcome.code, outcome.details), result: null };
}

/** What the works of all kinds are given. */
export interface WorkParts {
  /** A run's own deployment, else the current one of the branch, else of production; null: there is none. */
  readonly resolve: (recipient: Recipient) => string | null;
  /**
   * Hands an event to a deployment and waits for its end.
   *
   * @throws when the engine died or could not be reached: nobody knows what the event did.
   */
  readonly deliver: (
    deployment: string,
    kind: EventKind,
    event: EventContent,
    signal: AbortSignal,
    project: string,
  ) => Promise<EventEnd>;
  /** Brokers over the same database deliver to other deployments: what has no consumer here is theirs at once. */
  readonly othersMayTake?: boolean;
  readonly limits: DeliveryLimits;
  /** What is said of the queues of a namespace beside the limits. */
  readonly queues?: (namespace: string) => QueuesSettings;
  readonly now: () => number;
  readonly random: () => number;
  /** Something about an event that its author or the operator should know. */
  readonly onEvent: (
    level: 'info' | 'warn' | 'error',
    message: string,
    fields: Readonly<Record<string, unknown>>,
  ) => void;
}

/** What became of a delivery. */
export type Delivered =
  | { readonly kind: 'done'; readonly result: unknown }
  /** The event failed; it counts as an attempt. */
  | { readonly kind: 'failed'; readonly code: string; readonly reason: string }
  /** No consumer could take it; it does not count. */
  | { readonly kind: 'refused'; readonly code: string; readonly reason: string; readonly restMs: number };

/** Failures that say nothing about the event, and how long its lane rests. */
const refusals: Readonly<Record<string, number>> = {
  no_engine: 500,
  deliveries_overloaded: 500,
  draining: 200,
  overloaded: 1000,
  isolate_replaced: 200,
  deployment_quarantined: 5000,
  deployment_unavailable: 5000,
  deployment_not_found: 5000,
  no_event_handler: 30_000,
  worker_syntax_error: 30_000,
  artifact_corrupt: 30_000,
};

/** Delivers an event and sorts what became of it. */
export async function tryDeliver(
  parts: WorkParts,
  recipient: Recipient,
  event: EventContent,
  signal: AbortSignal,
): Promise<Delivered> {
  const deployment = parts.resolve(recipient);
  if (deployment === null)
    return {
      kind: 'refused',
      code: 'deployment_not_found',
      reason: 'no deployment consumes it',
      restMs: 5000,
    };
  let end: EventEnd;
  try {
    end = await parts.deliver(deployment, recipient.kind, event, signal, recipient.project);
  } catch (error) {
    return { kind: 'failed', code: 'engine_lost', reason: `engine lost: ${(error as Error).message}` };
  }
  const { code, reason, result } = end;
  if (code === null) return { kind: 'done', result: result === null ? null : (JSON.parse(result) as unknown) };
  const restMs = refusals[code];
  return restMs === undefined ? { kind: 'failed', code, reason } : { kind: 'refused', code, reason, restMs };
}

/**
 * Writes down what became of an event, also over a short absence of the database: what is lost here is delivered once
 * more.
 */
export async function persist<Result>(write: () => Promise<Result>): Promise<Result> {
  for (let delayMs = 20; ; delayMs *= 2) {
    try {
      return await write();
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'store_unavailable' || delayMs > PERSIST_DELAY_MS_MAX) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, delayMs));
  }
}

/** The last wait of a doubling series: about 20 s together. */
const PERSIST_DELAY_MS_MAX = 10_000;
