// Limits of the AI gateway. Part of core/limits.ts; not imported elsewhere.
import { MB, type Bounds } from './bound.ts';

export const gatewayBounds = {
  callsMax: ['AI_CALLS_MAX', 2000, 'Calls of the AI gateway at a time; more are refused (429)'],
  bodyBytesMax: ['AI_BODY_BYTES_MAX', 20 * MB, 'Body of a call (413)'],
  answerBytesMax: ['AI_ANSWER_BYTES_MAX', 64 * MB, 'What a provider answers to a call that is not streamed'],
  eventCharactersMax: [null, 16 * MB, 'One event of a stream that a provider sends'],
  answerMs: ['AI_ANSWER_MS', 120_000, 'How long a provider may take to begin an answer, at each attempt'],
  streamIdleMs: ['AI_STREAM_IDLE_MS', 120_000, 'How long a provider may be silent within an answer'],
  keepAliveMs: ['AI_KEEP_ALIVE_MS', 15_000, 'Silence of a stream after which its client gets a comment'],
  retriesMax: ['AI_RETRIES_MAX', 2, 'Attempts at one model after the first, before anything was answered; 0: none', 0],
  retryPauseMs: [null, 250, 'Pause before the first of them; doubled before each further one', 0],
  retryAfterMsMax: [null, 5000, 'The longest pause that a provider is granted; above it the next model is tried', 0],
  modelsMax: ['AI_MODELS_MAX', 8, 'Models that one call may be tried with'],
  breakerFailuresMax: [
    'AI_BREAKER_FAILURES_MAX',
    5,
    'Failures of a model one after the other, for the calls of one project, before it is left alone',
  ],
  breakerOpenMs: ['AI_BREAKER_OPEN_MS', 10_000, 'How long it is left alone'],
  completionTokensDefault: [
    'AI_COMPLETION_TOKENS_DEFAULT',
    4096,
    'Tokens of an answer that a call under a limit of tokens gets where it names no number',
  ],
  keptBytesMax: ['AI_KEPT_BYTES_MAX', 64 * MB, 'Answers that a gateway keeps in memory to give again'],
  keptAnswerBytesMax: ['AI_KEPT_ANSWER_BYTES_MAX', MB, 'One of them; a larger one is not kept'],
  cacheMsMax: ['AI_CACHE_MS_MAX', 86_400_000, 'The longest time that `x-platform-cache-ttl` keeps an answer'],
  idempotencyMs: ['AI_IDEMPOTENCY_MS', 600_000, 'How long the answer to an `Idempotency-Key` is kept'],
  drainMs: ['AI_DRAIN_MS', 8000, 'How long calls under way have to end when the gateway stops'],
  usageDays: ['AI_USAGE_DAYS', 400, 'Days that rows of AI usage are kept'],
} satisfies Bounds;
