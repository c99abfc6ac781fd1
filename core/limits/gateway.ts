// Limits of the AI gateway. Part of core/limits.ts; not imported elsewhere.
import { MB, type LimitDefinitions } from './definition.ts';

export const gatewayLimits = {
  callsMax: ['AI_CALLS_MAX', 2000, 'Concurrent AI gateway calls; more are refused (status 429)'],
  bodyBytesMax: ['AI_BODY_BYTES_MAX', 20 * MB, "Size of a call's body (status 413)"],
  answerBytesMax: [null, 64 * MB, 'What a provider answers to a call that is not streamed'],
  eventCharactersMax: [null, 16 * MB, 'One event of a stream that a provider sends'],
  answerMs: ['AI_ANSWER_MS', 120_000, "Timeout for the start of a provider's response, for each attempt"],
  streamIdleMs: ['AI_STREAM_IDLE_MS', 120_000, "Longest pause within a provider's response"],
  keepAliveMs: [null, 15_000, 'Silence of a stream after which its client gets a comment'],
  retriesMax: [null, 2, 'Attempts at one model after the first, before anything was answered'],
  retryPauseMs: [null, 250, 'Pause before the first of them; doubled before each further one'],
  retryAfterMsMax: [null, 5000, 'The longest pause that a provider is granted; above it the next model is tried'],
  modelsMax: [null, 8, 'Models that one call may be tried with'],
  breakerFailuresMax: [
    null,
    5,
    'Failures of a model one after the other, for the calls of one project, before it is left alone',
  ],
  breakerOpenMs: [null, 10_000, 'How long it is left alone'],
  completionTokensDefault: [
    null,
    4096,
    'Tokens of an answer that a call under a limit of tokens gets where it names no number',
  ],
  keptBytesMax: [null, 64 * MB, 'Answers that a gateway keeps in memory to give again'],
  keptAnswerBytesMax: [null, MB, 'One of them; a larger one is not kept'],
  cacheMsMax: [null, 86_400_000, 'The longest time that `x-platform-cache-ttl` keeps an answer'],
  idempotencyMs: [null, 600_000, 'How long the answer to an `Idempotency-Key` is kept'],
  drainMs: ['AI_DRAIN_MS', 8000, 'Time that running calls get to finish when the gateway stops'],
  usageDays: ['AI_USAGE_DAYS', 400, 'How many days AI usage is stored'],
} satisfies LimitDefinitions;
