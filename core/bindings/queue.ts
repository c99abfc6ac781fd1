// The kind `queue`: message queues, with settings.
import type { BindingDescriptor } from './descriptor.ts';
import { bindingName, EXPECTS_NAMES, resourceName } from './schemas.ts';

const seconds = {
  type: 'integer',
  minimum: 0,
  maximum: 86_400,
  expects: 'a whole number of seconds, at most 86400 (a day)',
} as const;

/** A queue: its name, or a map with settings. */
const queueMap = {
  type: 'object',
  description: 'Message queues.',
  patternProperties: {
    [bindingName.pattern]: {
      anyOf: [
        resourceName,
        {
          type: 'object',
          additionalProperties: false,
          required: ['name'],
          properties: {
            name: resourceName,
            max_retries: {
              type: 'integer',
              minimum: 0,
              maximum: 100,
              description: 'Number of retries after the first attempt.',
              expects: 'a whole number from 0 to 100',
            },
            retry_delay: {
              ...seconds,
              description: 'Seconds before the second attempt; doubled for each further one.',
            },
            max_concurrency: {
              type: 'integer',
              minimum: 1,
              maximum: 1000,
              description: 'Messages that are processed at a time.',
              expects: 'a whole number from 1 to 1000',
            },
            dead_letter: {
              ...resourceName,
              description: 'Queue for undeliverable messages, instead of `<queue>_dlq`.',
            },
          },
        },
      ],
      expects: 'a resource name, such as "mail", or a map with the key "name"',
    },
  },
  additionalProperties: false,
  expects: 'a map from binding names to queues, such as "MAIL: mail"',
  expectsNames: EXPECTS_NAMES,
} as const;

export const queue = {
  schema: queueMap,
  otherNames: [],
  type: 'QueueBinding',
  label: 'Queue',
  module: 'queue',
  // `send` takes `{messages: {delaySeconds?, dedupeId?, orderingKey?}[]}`, with the bodies as parts, and returns
  // `{messageIds}`.
  calls: ['send', 'metrics'],
  methods: ['send', 'sendBatch', 'metrics'],
  isPlain: true,
  ofPreview: 'namespace',
  isMeasured: false,
  reads: ['queue.stats', 'queue.list'],
  // Null, because cli/wrangler/bindings.ts converts producers and consumers.
  wrangler: null,
  page: { path: 'queues', title: 'Queues', one: 'queue', area: 'jobs' },
  storage: {
    kind: 'queues',
    sql: `SELECT split_part(namespace, '~~', 1) AS project, sum(octet_length(payload) + 100) AS bytes
      FROM binding.queue_message JOIN binding.lane ON lane.id = lane_id WHERE lane.kind = 'queue' GROUP BY 1`,
  },
} as const satisfies BindingDescriptor;
