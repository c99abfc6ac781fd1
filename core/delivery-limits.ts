// The bounds of queues, timers, cron and workflows, with the environment variable of each. Read by the host halves of
// these bindings and by the broker. Pure.

/** Bytes, milliseconds and counts as the name says. */
export interface DeliveryLimits {
  /** JSON of one message or of a timer's payload. */
  readonly messageBytesMax: number;
  /** Messages of one `sendBatch`. */
  readonly batchMessagesMax: number;
  /** JSON of all of them. */
  readonly batchBytesMax: number;
  /** Longest delay of a message. */
  readonly delayMsMax: number;
  /** How long a message is kept, and its dedupe id remembered. */
  readonly retentionMs: number;
  /** Messages of one delivery. */
  readonly deliveryMessagesMax: number;
  /**
   * Further attempts after the first: messages, timers, cron runs, and stretches of a workflow that end without a
   * result.
   */
  readonly retries: number;
  /** Wait before the second attempt; it doubles with each further one. */
  readonly backoffMs: number;
  readonly backoffMsMax: number;
  /** Events of one queue, resource of timers or workflow that are worked on at a time. */
  readonly laneConcurrency: number;
  /** Events of one kind that one broker works on at a time. */
  readonly inFlightMax: number;
  /** JSON of the runs of workflows that one broker has under way, with the results of their steps. */
  readonly inFlightBytesMax: number;
  /** A broker looks for due work this often, should no word of it have come. */
  readonly pollMs: number;
  /** Outboxes of databases are looked at this often, should whoever filled them be gone. */
  readonly outboxSweepMs: number;
  /** Timers of one resource. */
  readonly timersMax: number;
  /** Shortest interval of a timer. */
  readonly intervalMsLeast: number;
  /** JSON of a run's input, of its output, of a step's result, of an event. */
  readonly workflowValueBytesMax: number;
  /** Steps of one run. */
  readonly workflowStepsMax: number;
  /** JSON of the results of all its steps: they come with each event of the run. */
  readonly workflowHistoryBytesMax: number;
  /** Events of one run that nothing waits for yet. */
  readonly workflowEventsMax: number;
  /** Log lines of one run. */
  readonly workflowLogLinesMax: number;
  /** JSON of one of them. */
  readonly workflowLogBytesMax: number;
  /** Longest sleep of a run, and furthest time of a timer. */
  readonly sleepMsMax: number;
  /** How long a run is kept after its end. */
  readonly workflowRetentionMs: number;
}

const day = 86_400_000;

export const defaultDeliveryLimits: DeliveryLimits = {
  messageBytesMax: 128 * 1024,
  batchMessagesMax: 100,
  batchBytesMax: 1024 * 1024,
  delayMsMax: day,
  retentionMs: 4 * day,
  deliveryMessagesMax: 10,
  retries: 3,
  backoffMs: 5000,
  backoffMsMax: 300_000,
  laneConcurrency: 100,
  inFlightMax: 200,
  inFlightBytesMax: 256 * 1024 * 1024,
  pollMs: 1000,
  outboxSweepMs: 30_000,
  timersMax: 100_000,
  intervalMsLeast: 1000,
  workflowValueBytesMax: 1024 * 1024,
  workflowStepsMax: 1024,
  workflowHistoryBytesMax: 8 * 1024 * 1024,
  workflowEventsMax: 100,
  workflowLogLinesMax: 1000,
  workflowLogBytesMax: 16 * 1024,
  sleepMsMax: 365 * day,
  workflowRetentionMs: 30 * day,
};

/** The environment variable of each bound. */
export const deliveryLimitVariables: Readonly<Record<keyof DeliveryLimits, string>> = {
  messageBytesMax: 'QUEUE_MESSAGE_BYTES_MAX',
  batchMessagesMax: 'QUEUE_BATCH_MESSAGES_MAX',
  batchBytesMax: 'QUEUE_BATCH_BYTES_MAX',
  delayMsMax: 'QUEUE_DELAY_MS_MAX',
  retentionMs: 'QUEUE_RETENTION_MS',
  deliveryMessagesMax: 'QUEUE_DELIVERY_MESSAGES_MAX',
  retries: 'DELIVERY_RETRIES',
  backoffMs: 'DELIVERY_BACKOFF_MS',
  backoffMsMax: 'DELIVERY_BACKOFF_MS_MAX',
  laneConcurrency: 'DELIVERY_CONCURRENCY',
  inFlightMax: 'BROKER_IN_FLIGHT_MAX',
  inFlightBytesMax: 'BROKER_IN_FLIGHT_BYTES_MAX',
  pollMs: 'BROKER_POLL_MS',
  outboxSweepMs: 'OUTBOX_SWEEP_MS',
  timersMax: 'TIMERS_PER_RESOURCE_MAX',
  intervalMsLeast: 'TIMER_INTERVAL_MS_LEAST',
  workflowValueBytesMax: 'WORKFLOW_VALUE_BYTES_MAX',
  workflowStepsMax: 'WORKFLOW_STEPS_MAX',
  workflowHistoryBytesMax: 'WORKFLOW_HISTORY_BYTES_MAX',
  workflowEventsMax: 'WORKFLOW_EVENTS_MAX',
  workflowLogLinesMax: 'WORKFLOW_LOG_LINES_MAX',
  workflowLogBytesMax: 'WORKFLOW_LOG_BYTES_MAX',
  sleepMsMax: 'WORKFLOW_SLEEP_MS_MAX',
  workflowRetentionMs: 'WORKFLOW_RETENTION_MS',
};

/**
 * Bounds with the overrides of an environment.
 *
 * @throws {Error} naming the variable, its value and what it takes, when one is not a whole number.
 */
export function deliveryLimitsFrom(environment: Readonly<Record<string, string | undefined>>): DeliveryLimits {
  const limits: Record<string, number> = { ...defaultDeliveryLimits };
  for (const [key, variable] of Object.entries(deliveryLimitVariables)) {
    const value = environment[variable];
    if (value === undefined || value === '') continue;
    const least = key === 'retries' ? 0 : 1;
    const number = Number(value);
    if (!/^\d+$/.test(value.trim()) || !Number.isSafeInteger(number) || number < least)
      throw new Error(`${variable} must be a whole number of at least ${least}, but is "${value}"`);
    limits[key] = number;
  }
  return limits as unknown as DeliveryLimits;
}

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
