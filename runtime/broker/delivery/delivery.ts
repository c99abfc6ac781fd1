// The dependencies for the delivery of an event, and the interpretation of its result. Used for all kinds of events.
import type { DeliveryLimits } from '#core/limits.ts';
import { errorMessage } from '#core/errors.ts';
import type { QueuesSettings } from '#core/queue-settings.ts';
import type { EventContent, EventKind } from '#core/event.ts';
import type { DeliveryEnd } from '../../engine/invocation/delivery.ts';

/** Determines the deployment that gets an event. */
export interface Recipient {
  readonly kind: EventKind;
  readonly namespace: string;
  /** The queue, the resource of timers or the workflow; for cron, the project. */
  readonly resource: string;
  /** Project of the sender, or of the code that set the timer. */
  readonly project: string;
  readonly branch: string;
  /** For a run, the deployment that started the run and should continue it. */
  readonly deployment?: string;
}

/** Result of an event. */
export interface EventEnd {
  /** Code of the refusal; null if the handler accepted the event. */
  readonly code: string | null;
  /** The reason for the code, in words. */
  readonly reason: string;
  /** The result as JSON; null unless the handler accepted the event. */
  readonly result: string | null;
}

/** Converts the result of an event delivered to an engine in this process. */
export function toEventEnd({ outcome, result }: DeliveryEnd): EventEnd {
  if (outcome.kind === 'ok') return { code: null, reason: '', result };
  return { code: outcome.code, reason: errorMessage(outcome.code, outcome.details), result: null };
}

/** The dependencies for events of all kinds. */
export interface WorkDeps {
  /**
   * Finds the deployment for an event: a run's own deployment, otherwise the current one of the branch or of
   * production, or null.
   */
  readonly resolve: (recipient: Recipient) => string | null;
  /**
   * Delivers an event to a deployment and waits for its end.
   *
   * @throws when the engine died or could not be reached, so that the effect of the event is unknown.
   */
  readonly deliver: (
    deployment: string,
    kind: EventKind,
    event: EventContent,
    signal: AbortSignal,
    project: string,
  ) => Promise<EventEnd>;
  /**
   * Whether other brokers over the same database deliver to other deployments. Events without a consumer here are then
   * released immediately.
   */
  readonly othersMayTake?: boolean;
  readonly limits: DeliveryLimits;
  /** Queue settings of a namespace, which override the limits. */
  readonly queues?: (namespace: string) => QueuesSettings;
  readonly now: () => number;
  readonly random: () => number;
  /** Reports an event to its author or the operator. */
  readonly onEvent: (
    level: 'info' | 'warn' | 'error',
    message: string,
    fields: Readonly<Record<string, unknown>>,
  ) => void;
}

/** The result of a delivery. */
export type Delivered =
  | { readonly kind: 'done'; readonly result: unknown }
  /** The event failed, and the delivery is counted as an attempt. */
  | { readonly kind: 'failed'; readonly code: string; readonly reason: string }
  /** No consumer could accept the event, so the delivery is not counted as an attempt. */
  | { readonly kind: 'refused'; readonly code: string; readonly reason: string; readonly restMs: number };

/** Failures that are not caused by the event, and how long its lane pauses. */
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

/** Delivers an event and classifies the result. */
export async function tryDeliver(
  deps: WorkDeps,
  recipient: Recipient,
  event: EventContent,
  signal: AbortSignal,
): Promise<Delivered> {
  const deployment = deps.resolve(recipient);
  if (deployment === null)
    return {
      kind: 'refused',
      code: 'deployment_not_found',
      reason: 'no deployment consumes it',
      restMs: 5000,
    };
  let end: EventEnd;
  try {
    end = await deps.deliver(deployment, recipient.kind, event, signal, recipient.project);
  } catch (error) {
    return { kind: 'failed', code: 'engine_lost', reason: `engine lost: ${(error as Error).message}` };
  }
  const { code, reason, result } = end;
  if (code === null) return { kind: 'done', result: result === null ? null : (JSON.parse(result) as unknown) };
  const restMs = refusals[code];
  return restMs === undefined ? { kind: 'failed', code, reason } : { kind: 'refused', code, reason, restMs };
}

/**
 * Stores the result of an event, and retries while the database is briefly unavailable. If the result is lost, the
 * event is delivered again.
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

/** The last delay of a series in which each delay is twice the previous one, about 20 s in total. */
const PERSIST_DELAY_MS_MAX = 10_000;
