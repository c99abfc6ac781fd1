// The bounds of the AI gateway. Part of core/limits.ts; nobody else imports it. None has a variable as long as no
// process runs the gateway.
import { MB, type Bounds } from './bound.ts';

export const gatewayBounds = {
  bodyBytesMax: [null, 20 * MB, 'Body of a call (413)'],
  answerBytesMax: [null, 64 * MB, 'What a provider answers to a call that is not streamed'],
  eventCharactersMax: [null, 16 * MB, 'One event of a stream that a provider sends'],
  answerMs: [null, 120_000, 'How long a provider may take to begin an answer, at each attempt'],
  streamIdleMs: [null, 120_000, 'How long a provider may be silent within an answer'],
  keepAliveMs: [null, 15_000, 'Silence of a stream after which its client gets a comment'],
  retriesMax: [null, 2, 'Attempts at one model after the first, before anything was answered', 0],
  retryPauseMs: [null, 250, 'Pause before the first of them; doubled before each further one', 0],
  retryAfterMsMax: [null, 5000, 'The longest pause that a provider is granted; above it the next model is tried', 0],
  modelsMax: [null, 8, 'Models that one call may be tried with'],
  breakerFailuresMax: [null, 5, 'Failures of a provider one after the other before it is left alone'],
  breakerOpenMs: [null, 10_000, 'How long it is left alone'],
  completionTokensDefault: [null, 4096, 'Tokens of an answer that a call with a budget gets where it names no number'],
} satisfies Bounds;
