// The protocol of OpenAI and compatible servers: requests and responses are passed with all of their fields.
import { Failure } from '#core/failure.ts';
import { isJson, isList, type ChatRequest, type Json } from '../contract/chat.ts';
import type { SseEvent } from '../contract/wire.ts';
import type { AnswerHold, Said, StreamPiece, Target, Wire, WireRequest } from '../contract/wire.ts';
import { createCallIndexes } from './call-indexes.ts';

const MESSAGE_CHARACTERS_MAX = 2000;
const WORD_CHARACTERS_MAX = 100;

export const openaiWire: Wire = {
  chatRequest: (target, request, hold) => ({
    path: '/chat/completions',
    headers: authorization(target),
    body: withUsage({ ...request, ...held(target, request, hold), model: target.model }),
  }),
  chatAnswer(answer) {
    if (!isJson(answer) || !isList(answer['choices'])) throw new Failure('unreadable_answer', 'no choices');
    return answer;
  },
  openStream() {
    const complete = createCallIndexes();
    return (event) => readEvent(event, complete);
  },
  embeddingsRequest: (target, request): WireRequest => ({
    path: '/embeddings',
    headers: authorization(target),
    body: { ...request, model: target.model },
  }),
  embeddingsAnswer(answer) {
    if (!isJson(answer) || !isList(answer['data'])) throw new Failure('unreadable_answer', 'no data');
    return answer;
  },
  said: saidOf,
};

function authorization({ provider }: Target): Record<string, string> {
  return provider.key === '' ? {} : { authorization: `Bearer ${provider.key}` };
}

/** OpenAI's newer models refuse the old field name; compatible servers may not support the new one. */
function held({ provider }: Target, request: ChatRequest, { isBounded, tokensDefault }: AnswerHold): Json {
  const isNamed = typeof (request.max_completion_tokens ?? request.max_tokens) === 'number';
  if (!isBounded || isNamed) return {};
  const isOpenai = URL.parse(provider.url)?.hostname === 'api.openai.com';
  return isOpenai ? { max_completion_tokens: tokensDefault } : { max_tokens: tokensDefault };
}

/** Streams always request usage, even if the client does not. */
function withUsage(request: ChatRequest): Json {
  if (request.stream !== true) return request;
  return { ...request, stream_options: { ...request.stream_options, include_usage: true } };
}

function readEvent({ event, data }: SseEvent, complete: (chunk: Json) => Json): readonly StreamPiece[] {
  if (data === '[DONE]') return [{ kind: 'done' }];
  const chunk = JSON.parse(data) as unknown;
  if (!isJson(chunk)) throw new Failure('unreadable_answer', 'a chunk that is not an object');
  if (event === 'error' || (chunk['error'] !== undefined && chunk['error'] !== null))
    return [{ kind: 'error', said: saidOf(chunk) }];
  // Most chunks are text and are passed unchanged.
  const whole = data.includes('"tool_calls"') ? complete(chunk) : chunk;
  return [{ kind: 'chunk', chunk: whole, text: whole === chunk ? data : null }];
}

/** Parses `{error: {message, type, code, param}}`, `{error: text}` and `{message}`, as sent by compatible servers. */
function saidOf(answer: unknown): Said {
  const outer = isJson(answer) ? answer : {};
  const { error } = outer;
  const found = isJson(error) ? error : { message: error ?? outer['message'] };
  return {
    message: word(found['message'], MESSAGE_CHARACTERS_MAX) ?? 'The provider gave no reason',
    type: word(found['type']),
    code: word(found['code']),
    param: word(found['param']),
  };
}

function word(value: unknown, most = WORD_CHARACTERS_MAX): string | null {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value.slice(0, most) : null;
}
