// Limits of the AI gateway. Part of core/limits.ts; not imported elsewhere.
import { MB, type Bounds } from './bound.ts';

export const gatewayBounds = {
  callsMax: ['AI_CALLS_MAX', 2000, 'Concurrent AI gateway calls; more are refused (status 429)'],
  bodyBytesMax: ['AI_BODY_BYTES_MAX', 20 * MB, "Size of a call's body (status 413)"],
  answerBytesMax: ['AI_ANSWER_BYTES_MAX', 64 * MB, "Size of a provider's response, without streaming"],
  eventCharactersMax: [null, 16 * MB, 'One event of a stream that a provider sends'],
  answerMs: ['AI_ANSWER_MS', 120_000, "Timeout for the start of a provider's response, for each attempt"],
  streamIdleMs: ['AI_STREAM_IDLE_MS', 120_000, "Longest pause within a provider's response"],
  keepAliveMs: [
    'AI_KEEP_ALIVE_MS',
    15_000,
    'Silence in a stream after which the gateway sends the client a comment to keep the connection open',
  ],
  retriesMax: [
    'AI_RETRIES_MAX',
    2,
    'Retries with the same model, if nothing has been sent to the client yet; 0: none',
    0,
  ],
  retryPauseMs: [null, 250, 'Pause before the first of them; doubled before each further one', 0],
  retryAfterMsMax: [null, 5000, 'The longest pause that a provider is granted; above it the next model is tried', 0],
  modelsMax: ['AI_MODELS_MAX', 8, 'Models that a call can try one after the other'],
  breakerFailuresMax: [
    'AI_BREAKER_FAILURES_MAX',
    5,
    'Consecutive failures of a model, in calls of one project, after which the gateway stops calling it for that project',
  ],
  breakerOpenMs: ['AI_BREAKER_OPEN_MS', 10_000, 'How long the gateway then does not call that model'],
  completionTokensDefault: [
    'AI_COMPLETION_TOKENS_DEFAULT',
    4096,
    'Completion tokens of a call that sets no maximum, if a token limit applies',
  ],
  keptBytesMax: ['AI_KEPT_BYTES_MAX', 64 * MB, 'Memory for cached responses of a gateway'],
  keptAnswerBytesMax: ['AI_KEPT_ANSWER_BYTES_MAX', MB, 'Size of a cached response; larger ones are not cached'],
  cacheMsMax: ['AI_CACHE_MS_MAX', 86_400_000, 'Longest cache time that `x-platform-cache-ttl` can set'],
  idempotencyMs: ['AI_IDEMPOTENCY_MS', 600_000, 'How long the response to an `Idempotency-Key` is stored'],
  drainMs: ['AI_DRAIN_MS', 8000, 'Time that running calls get to finish when the gateway stops'],
  usageDays: ['AI_USAGE_DAYS', 400, 'How many days AI usage is stored'],
} satisfies Bounds;
