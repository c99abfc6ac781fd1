// Limits of queues, timers, schedules and workflows. Part of core/limits.ts; not imported elsewhere.
import { DAY_MS, KB, MB, type LimitDefinitions } from './definition.ts';

export const deliveryLimits = {
  messageBytesMax: [null, 128 * KB, "Size of the JSON of one message or of a timer's payload"],
  batchMessagesMax: [null, 100, 'Messages of one `sendBatch`'],
  batchBytesMax: [null, MB, 'Size of the JSON of all messages of one `sendBatch`'],
  delayMsMax: [null, DAY_MS, 'Longest delay of a message'],
  retentionMs: ['QUEUE_RETENTION_MS', 4 * DAY_MS, 'How long a message is stored and its dedupe id remembered'],
  deliveryMessagesMax: [null, 10, 'Messages of one delivery'],
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
  inFlightBytesMax: [null, 256 * MB, 'Size of the JSON of all running workflows of a broker, including step results'],
  pollMs: ['BROKER_POLL_MS', 1000, 'Interval at which a broker polls for due work, in case a notification was lost'],
  outboxSweepMs: [
    'OUTBOX_SWEEP_MS',
    30_000,
    'Interval at which outboxes of databases are checked for messages left by a dead process',
  ],
  timersMax: ['TIMERS_PER_RESOURCE_MAX', 100_000, 'Timers per resource'],
  intervalMsLeast: [null, 1000, 'Shortest interval of a timer'],
  workflowValueBytesMax: [null, MB, "Size of the JSON of a run's input or output, of a step's result, or of an event"],
  workflowStepsMax: [null, 1024, 'Steps of one run'],
  workflowHistoryBytesMax: [
    null,
    8 * MB,
    'Size of the JSON of the results of all steps and events of a run, which every attempt loads. Above this limit, the step and its run fail',
  ],
  workflowEventsMax: [null, 100, 'Unread events of a run'],
  workflowLogLinesMax: [null, 1000, 'Log lines of one run'],
  workflowLogBytesMax: [null, 16 * KB, 'Size of the JSON of one log line of a run'],
  sleepMsMax: [null, 365 * DAY_MS, 'Longest sleep of a run, and longest delay of a timer'],
  workflowRetentionMs: ['WORKFLOW_RETENTION_MS', 30 * DAY_MS, 'How long a finished run is stored'],
} satisfies LimitDefinitions;
