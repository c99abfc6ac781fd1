// Converts responses of Google's generateContent, complete and streamed, to chat completions. Thought signatures are in
// the same field as in Google's own compatible API: `extra_content.google.thought_signature` of calls and messages.
import { randomUUID } from 'node:crypto';
import { Failure } from '#core/failure.ts';
import { isJson, isList, tokenCount, wireUsage, type Json, type Used } from '../contract/chat.ts';
import type { SseEvent } from '../contract/wire.ts';
import type { EmbeddingsRequest, Said, StreamPiece } from '../contract/wire.ts';

const CANDIDATES_MAX = 128;

const finishReasons: Readonly<Record<string, string>> = {
  MAX_TOKENS: 'length',
  SAFETY: 'content_filter',
  RECITATION: 'content_filter',
  LANGUAGE: 'content_filter',
  BLOCKLIST: 'content_filter',
  PROHIBITED_CONTENT: 'content_filter',
  SPII: 'content_filter',
  IMAGE_SAFETY: 'content_filter',
  IMAGE_PROHIBITED_CONTENT: 'content_filter',
  IMAGE_RECITATION: 'content_filter',
};
/** The model failed; another attempt may succeed. */
const failures = new Set<unknown>([
  'MALFORMED_FUNCTION_CALL',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MALFORMED_RESPONSE',
]);

/** Converts the parts of a candidate, without the indexes of calls. */
interface Read {
  readonly text: string;
  readonly thought: string;
  readonly signature: string | null;
  readonly calls: readonly Json[];
  readonly images: readonly Json[];
}

function readParts(candidate: Json): Read {
  const content = isJson(candidate['content']) ? candidate['content'] : {};
  const parts = isList(content['parts']) ? content['parts'].filter(isJson) : [];
  let text = '';
  let thought = '';
  let signature: string | null = null;
  const calls: Json[] = [];
  const images: Json[] = [];
  for (const part of parts) {
    const signed = typeof part['thoughtSignature'] === 'string' ? part['thoughtSignature'] : null;
    if (isJson(part['functionCall'])) calls.push(callOf(part['functionCall'], signed));
    else if (signed !== null) signature = signed;
    if (typeof part['text'] === 'string' && part['thought'] === true) thought += part['text'];
    else if (typeof part['text'] === 'string') text += part['text'];
    if (isJson(part['inlineData'])) images.push(imageOf(part['inlineData']));
  }
  return { text, thought, signature, calls, images };
}

/** Models before Gemini 3 send no ids. */
function callOf({ id, name, args }: Json, signature: string | null): Json {
  return {
    id: typeof id === 'string' && id !== '' ? id : `call_${randomUUID().replaceAll('-', '')}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(args ?? {}) },
    ...signed(signature),
  };
}

const imageOf = ({ mimeType, data }: Json): Json => ({
  type: 'image_url',
  image_url: { url: `data:${String(mimeType)};base64,${String(data)}` },
});

const signed = (signature: string | null): Json =>
  signature === null ? {} : { extra_content: { google: { thought_signature: signature } } };

/** The finish reason; null if none yet. @throws {Failure} `unreadable_answer` */
function finishOf(candidate: Json, hasCalls: boolean): string | null {
  const reason = candidate['finishReason'];
  if (typeof reason !== 'string' || reason === '') return null;
  if (failures.has(reason)) throw new Failure('unreadable_answer', `the model ended with ${reason}`);
  return finishReasons[reason] ?? (hasCalls ? 'tool_calls' : 'stop');
}

/** The reason why a prompt was blocked; null if it was not. */
function blockOf({ promptFeedback: feedback }: Json): string | null {
  if (!isJson(feedback) || feedback['blockReason'] === undefined) return null;
  const message = feedback['blockReasonMessage'];
  return typeof message === 'string' ? message : `The provider refused the prompt: ${String(feedback['blockReason'])}`;
}

const headOf = (answer: Json, created: number): Json => ({
  id: answer['responseId'],
  created,
  model: answer['modelVersion'],
});
const nowSeconds = (): number => Math.floor(Date.now() / 1000);

/** @throws {Failure} `unreadable_answer` */
export function chatAnswer(answer: unknown): Json {
  if (!isJson(answer)) throw new Failure('unreadable_answer', 'no object');
  const candidates = isList(answer['candidates']) ? answer['candidates'].filter(isJson) : [];
  const refusal = blockOf(answer);
  if (candidates.length === 0 && refusal === null) throw new Failure('unreadable_answer', 'no candidates');
  const refused = { index: 0, message: { role: 'assistant', content: null, refusal }, finish_reason: 'content_filter' };
  const choices = candidates.map((candidate, index) => {
    const { text, thought, signature, calls, images } = readParts(candidate);
    const message = {
      role: 'assistant',
      content: text === '' && calls.length > 0 ? null : text,
      ...(thought === '' ? {} : { reasoning_content: thought }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
      ...(images.length === 0 ? {} : { images }),
      ...signed(signature),
    };
    const finish = finishOf(candidate, calls.length > 0) ?? 'stop';
    return { index: candidate['index'] ?? index, message, logprobs: null, finish_reason: finish };
  });
  const used = usedOf(answer['usageMetadata']);
  return {
    ...headOf(answer, nowSeconds()),
    object: 'chat.completion',
    choices: candidates.length === 0 ? [refused] : choices,
    ...(used === null ? {} : { usage: wireUsage(used) }),
  };
}

/** Creates the parser of one stream. */
export function openStream(): (event: SseEvent) => readonly StreamPiece[] {
  const created = nowSeconds();
  /** Number of tool calls per answer. */
  const begun = new Map<unknown, number>();
  return ({ data }) => {
    const answer = JSON.parse(data) as unknown;
    if (!isJson(answer)) throw new Failure('unreadable_answer', 'an event that is not an object');
    if (isJson(answer['error'])) return [{ kind: 'error', said: saidOf(answer) }];
    const head = { ...headOf(answer, created), object: 'chat.completion.chunk' };
    const pieces: StreamPiece[] = [];
    const push = (index: unknown, delta: Json, finish: string | null): void => {
      const role = begun.has(index) ? {} : { role: 'assistant', content: '' };
      if (!begun.has(index)) begun.set(index, 0);
      if (begun.size > CANDIDATES_MAX) throw new Failure('unreadable_answer', 'too many candidates');
      const choices = [{ index, delta: { ...role, ...delta }, logprobs: null, finish_reason: finish }];
      pieces.push({ kind: 'chunk', chunk: { ...head, choices }, text: null });
    };
    for (const candidate of isList(answer['candidates']) ? answer['candidates'].filter(isJson) : []) {
      const index = candidate['index'] ?? 0;
      const { text, thought, signature, calls, images } = readParts(candidate);
      const before = begun.get(index) ?? 0;
      const numbered = calls.map((call, nth) => ({ index: before + nth, ...call }));
      const finish = finishOf(candidate, before + calls.length > 0);
      const delta = {
        ...(text === '' ? {} : { content: text }),
        ...(thought === '' ? {} : { reasoning_content: thought }),
        ...(calls.length === 0 ? {} : { tool_calls: numbered }),
        ...(images.length === 0 ? {} : { images }),
        ...signed(signature),
      };
      if (Object.keys(delta).length === 0 && finish === null) continue;
      push(index, delta, finish);
      begun.set(index, before + calls.length);
    }
    const refusal = blockOf(answer);
    if (refusal !== null && begun.size === 0) push(0, { refusal }, 'content_filter');
    const used = usedOf(answer['usageMetadata']);
    if (used !== null) pieces.push({ kind: 'usage', used });
    return pieces;
  };
}

/** Thinking tokens are counted separately; each event of a stream has the totals so far. */
function usedOf(usage: unknown): Used | null {
  if (!isJson(usage)) return null;
  const reasoningTokens = tokenCount(usage['thoughtsTokenCount']);
  const used = {
    promptTokens: tokenCount(usage['promptTokenCount']) + tokenCount(usage['toolUsePromptTokenCount']),
    completionTokens: tokenCount(usage['candidatesTokenCount']) + reasoningTokens,
    cachedTokens: tokenCount(usage['cachedContentTokenCount']),
    reasoningTokens,
    isEstimated: false,
  };
  return used.promptTokens + used.completionTokens === 0 ? null : used;
}

/** @throws {Failure} `unreadable_answer` */
export function embeddingsAnswer(answer: unknown, { model, encoding_format: format }: EmbeddingsRequest): Json {
  if (!isJson(answer) || !isList(answer['embeddings'])) throw new Failure('unreadable_answer', 'no embeddings');
  const data = answer['embeddings'].map((one, index) => {
    const values = isJson(one) ? one['values'] : null;
    if (!isList(values) || !values.every((value) => typeof value === 'number'))
      throw new Failure('unreadable_answer', 'no values');
    const embedding =
      format === 'base64' ? Buffer.from(Float32Array.from(values as number[]).buffer).toString('base64') : values;
    return { object: 'embedding', index, embedding };
  });
  const used = usedOf(answer['usageMetadata']);
  const tokens = used?.promptTokens ?? 0;
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  return { object: 'list', data, model, ...(used === null ? {} : { usage }) };
}

/** Parses `{error: {code, message, status, details}}`, which may be in an array. */
export function saidOf(answer: unknown): Said {
  const outer = isList(answer) ? answer[0] : answer;
  const error = isJson(outer) && isJson(outer['error']) ? outer['error'] : {};
  const { message, status } = error;
  const details = isList(error['details']) ? error['details'].filter(isJson) : [];
  const delay = details.map((detail) => detail['retryDelay']).find((value) => typeof value === 'string');
  const seconds = Number(/^([0-9.]{1,10})s$/.exec(String(delay))?.[1] ?? Number.NaN);
  const isLong = typeof message === 'string' && /input token count.*exceeds/i.test(message);
  const own = typeof status === 'string' && status !== 'INVALID_ARGUMENT' ? status.slice(0, 100).toLowerCase() : null;
  return {
    message: typeof message === 'string' && message !== '' ? message.slice(0, 2000) : 'The provider gave no reason',
    type: null,
    code: isLong ? 'context_length_exceeded' : own,
    param: null,
    // Google answers 400 for an invalid key.
    isKeyRefused: details.some(({ reason }) => reason === 'API_KEY_INVALID'),
    retryAfterMs: Number.isFinite(seconds) ? seconds * 1000 : null,
  };
}
