// Limits of the AI gateway. Part of core/limits.ts; not imported elsewhere.
import { MB, type LimitDefinitions } from './definition.ts';

export const gatewayLimits = {
  callsMax: ['AI_CALLS_MAX', 2000, 'Concurrent AI gateway calls; more are refused (status 429)'],
  bodyBytesMax: ['AI_BODY_BYTES_MAX', 20 * MB, "Size of a call's body (status 413)"],
  answerBytesMax: [null, 64 * MB, 'Size of the response of a provider without streaming'],
  eventCharactersMax: [null, 16 * MB, 'Size of an event in the stream of a provider'],
  answerMs: ['AI_ANSWER_MS', 120_000, "Timeout for the start of a provider's response, for each attempt"],
  streamIdleMs: ['AI_STREAM_IDLE_MS', 120_000, "Longest pause within a provider's response"],
  keepAliveMs: [null, 15_000, 'Silence of a stream after which the client gets a comment as keep-alive'],
  retriesMax: [null, 2, 'Retries with the same model, before a response has started'],
  retryPauseMs: [null, 250, 'Pause before the first retry with the same model; doubles with each retry'],
  retryAfterMsMax: [null, 5000, 'Longest `retry-after` of a provider; above this limit, the next model is tried'],
  modelsMax: [null, 8, 'Models that are tried for one call'],
  breakerFailuresMax: [null, 5, 'Consecutive failures of a model in a project before it is skipped'],
  breakerOpenMs: [null, 10_000, 'How long a failing model is skipped'],
  completionTokensDefault: [null, 4096, 'Default of `max_tokens` if a token limit applies'],
  keptBytesMax: [null, 64 * MB, 'Memory of a gateway for cached responses'],
  keptAnswerBytesMax: [null, MB, 'Size of a cached response; larger ones are not cached'],
  cacheMsMax: [null, 86_400_000, 'Longest cache lifetime that `x-platform-cache-ttl` can set'],
  idempotencyMs: [null, 600_000, 'How long the response to an `Idempotency-Key` is stored'],
  drainMs: ['AI_DRAIN_MS', 8000, 'Time that running calls get to finish when the gateway stops'],
  usageDays: ['AI_USAGE_DAYS', 400, 'How many days AI usage is stored'],
} satisfies LimitDefinitions;
