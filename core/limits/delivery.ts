// Limits of queues, timers, schedules and workflows. Part of core/limits.ts; not imported elsewhere.
import { DAY_MS, KB, MB, type Bounds } from './bound.ts';

export const deliveryBounds = {
  messageBytesMax: ['QUEUE_MESSAGE_BYTES_MAX', 128 * KB, "JSON size of a message or of a timer's payload"],
  batchMessagesMax: ['QUEUE_BATCH_MESSAGES_MAX', 100, 'Messages per `sendBatch`'],
  batchBytesMax: ['QUEUE_BATCH_BYTES_MAX', MB, 'JSON size of all messages in a `sendBatch`'],
  delayMsMax: ['QUEUE_DELAY_MS_MAX', DAY_MS, 'Longest delay of a message'],
  retentionMs: ['QUEUE_RETENTION_MS', 4 * DAY_MS, 'How long a message is stored and its dedupe id remembered'],
  deliveryMessagesMax: ['QUEUE_DELIVERY_MESSAGES_MAX', 10, 'Messages per delivery'],
  retries: [
    'DELIVERY_RETRIES',
    3,
    'Retries of messages (a queue can override this), timers, schedules, and workflow attempts that end without a result; may be 0',
    0,
  ],
  backoffMs: [
    'DELIVERY_BACKOFF_MS',
    5000,
    'Pause before the first retry; doubles with each retry (a queue can override this)',
  ],
  backoffMsMax: ['DELIVERY_BACKOFF_MS_MAX', 300_000, 'Longest pause between attempts'],
  laneConcurrency: [
    'DELIVERY_CONCURRENCY',
    100,
    'Concurrent events per queue (a queue can override this), timer resource or workflow',
  ],
  inFlightMax: ['BROKER_IN_FLIGHT_MAX', 200, 'Concurrent events per broker and kind; a project gets at most half'],
  inFlightBytesMax: [
    'BROKER_IN_FLIGHT_BYTES_MAX',
    256 * MB,
    'JSON size of the workflow runs in progress on a broker, including step results',
  ],
  pollMs: ['BROKER_POLL_MS', 1000, 'Interval at which a broker polls for due work, in case a notification was lost'],
  outboxSweepMs: [
    'OUTBOX_SWEEP_MS',
    30_000,
    'Interval at which outboxes of databases are checked for messages left by a dead process',
  ],
  timersMax: ['TIMERS_PER_RESOURCE_MAX', 100_000, 'Timers per resource'],
  intervalMsLeast: ['TIMER_INTERVAL_MS_LEAST', 1000, 'Shortest interval of a timer'],
  workflowValueBytesMax: [
    'WORKFLOW_VALUE_BYTES_MAX',
    MB,
    "JSON size of a value: a run's input or output, a step's result, or an event",
  ],
  workflowStepsMax: ['WORKFLOW_STEPS_MAX', 1024, 'Steps per run'],
  workflowHistoryBytesMax: [
    'WORKFLOW_HISTORY_BYTES_MAX',
    8 * MB,
    'JSON size of all step results of a run, including events. They are sent with each attempt. A step that exceeds the limit is refused, and the run fails with an error that says so',
  ],
  workflowEventsMax: ['WORKFLOW_EVENTS_MAX', 100, 'Events per run that no step waits for yet'],
  workflowLogLinesMax: ['WORKFLOW_LOG_LINES_MAX', 1000, 'Log lines per run'],
  workflowLogBytesMax: ['WORKFLOW_LOG_BYTES_MAX', 16 * KB, "JSON size of a run's log line"],
  sleepMsMax: ['WORKFLOW_SLEEP_MS_MAX', 365 * DAY_MS, 'Longest sleep of a run, and latest time of a timer'],
  workflowRetentionMs: ['WORKFLOW_RETENTION_MS', 30 * DAY_MS, 'How long a finished run is stored'],
} satisfies Bounds;
