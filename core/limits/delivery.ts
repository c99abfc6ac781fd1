// Limits of queues, timers, schedules and workflows. Part of core/limits.ts; not imported elsewhere.
import { DAY_MS, KB, MB, type Bounds } from './bound.ts';

export const deliveryBounds = {
  messageBytesMax: ['QUEUE_MESSAGE_BYTES_MAX', 128 * KB, "JSON of one message or of a timer's payload"],
  batchMessagesMax: ['QUEUE_BATCH_MESSAGES_MAX', 100, 'Messages of one `sendBatch`'],
  batchBytesMax: ['QUEUE_BATCH_BYTES_MAX', MB, 'JSON of all messages of one `sendBatch`'],
  delayMsMax: ['QUEUE_DELAY_MS_MAX', DAY_MS, 'Longest delay of a message'],
  retentionMs: ['QUEUE_RETENTION_MS', 4 * DAY_MS, 'How long a message is kept, and its dedupe id remembered'],
  deliveryMessagesMax: ['QUEUE_DELIVERY_MESSAGES_MAX', 10, 'Messages of one delivery'],
  retries: [
    'DELIVERY_RETRIES',
    3,
    'Attempts after the first: messages (a queue may say its own), timers, schedules, and attempts at a run of a workflow that end without a result; may be 0',
    0,
  ],
  backoffMs: [
    'DELIVERY_BACKOFF_MS',
    5000,
    'Wait before the second attempt; it doubles with each further one (a queue may say its own)',
  ],
  backoffMsMax: ['DELIVERY_BACKOFF_MS_MAX', 300_000, 'Longest wait between attempts'],
  laneConcurrency: [
    'DELIVERY_CONCURRENCY',
    100,
    'Events of one queue (which may say its own), of one resource of timers or of one workflow that are worked on at a time',
  ],
  inFlightMax: [
    'BROKER_IN_FLIGHT_MAX',
    200,
    "Events of one kind that one broker works on at a time; of one project's at most half",
  ],
  inFlightBytesMax: [
    'BROKER_IN_FLIGHT_BYTES_MAX',
    256 * MB,
    'JSON of the runs of workflows that one broker has under way, with the results of their steps',
  ],
  pollMs: ['BROKER_POLL_MS', 1000, 'A broker looks for due work this often, should no word of it have come'],
  outboxSweepMs: [
    'OUTBOX_SWEEP_MS',
    30_000,
    'Outboxes of databases are looked at this often, should whoever filled them be gone',
  ],
  timersMax: ['TIMERS_PER_RESOURCE_MAX', 100_000, 'Timers of one resource'],
  intervalMsLeast: ['TIMER_INTERVAL_MS_LEAST', 1000, 'Shortest interval of a timer'],
  workflowValueBytesMax: [
    'WORKFLOW_VALUE_BYTES_MAX',
    MB,
    "JSON of a run's input, of its output, of a step's result, of an event",
  ],
  workflowStepsMax: ['WORKFLOW_STEPS_MAX', 1024, 'Steps of one run'],
  workflowHistoryBytesMax: [
    'WORKFLOW_HISTORY_BYTES_MAX',
    8 * MB,
    'JSON of the results of all steps of a run, those of events included: they come with each attempt at it. A step beyond it is refused, and its run fails with this in the error',
  ],
  workflowEventsMax: ['WORKFLOW_EVENTS_MAX', 100, 'Events of one run that nothing waits for yet'],
  workflowLogLinesMax: ['WORKFLOW_LOG_LINES_MAX', 1000, 'Log lines of one run'],
  workflowLogBytesMax: ['WORKFLOW_LOG_BYTES_MAX', 16 * KB, 'JSON of one log line of a run'],
  sleepMsMax: ['WORKFLOW_SLEEP_MS_MAX', 365 * DAY_MS, 'Longest sleep of a run, and furthest time of a timer'],
  workflowRetentionMs: ['WORKFLOW_RETENTION_MS', 30 * DAY_MS, 'How long a run is kept after its end'],
} satisfies Bounds;
