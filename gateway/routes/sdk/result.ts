// An answer of the chat-completions wire as one of the AI SDK: its content, why it ended, and what it used.
import { isJson, isList, usedOf, type Json } from '../../contract/chat.ts';
import type { SpecVersion } from './sdk-call.ts';

const finishReasons: Readonly<Record<string, string>> = {
  stop: 'stop',
  length: 'length',
  content_filter: 'content-filter',
  tool_calls: 'tool-calls',
  function_call: 'tool-calls',
};

/** @param raw as the provider has it; null: an error ended it. */
export function finishReason(raw: string | null, version: SpecVersion): unknown {
  const unified = raw === null ? 'error' : (finishReasons[raw] ?? 'other');
  return version === 2 ? unified : { unified, ...(raw === null ? {} : { raw }) };
}

/** @param usage of the chat-completions wire. */
export function sdkUsage(usage: unknown, version: SpecVersion): Json {
  const used = usedOf(usage);
  if (version === 2) {
    if (used === null) return {};
    const { promptTokens, completionTokens, reasoningTokens, cachedTokens } = used;
    return {
      inputTokens: promptTokens,
      outputTokens: completionTokens,
      totalTokens: promptTokens + completionTokens,
      reasoningTokens,
      cachedInputTokens: cachedTokens,
    };
  }
  if (used === null) return { inputTokens: {}, outputTokens: {} };
  const { promptTokens, completionTokens, reasoningTokens, cachedTokens } = used;
  return {
    inputTokens: { total: promptTokens, noCache: Math.max(0, promptTokens - cachedTokens), cacheRead: cachedTokens },
    outputTokens: {
      total: completionTokens,
      text: Math.max(0, completionTokens - reasoningTokens),
      reasoning: reasoningTokens,
    },
    raw: usage,
  };
}

/** Of an answer that is no stream. */
export function contentOf(completion: Json, version: SpecVersion): { readonly content: Json[]; readonly raw: string } {
  const choice = isList(completion['choices']) ? completion['choices'].find(isJson) : undefined;
  const message = isJson(choice?.['message']) ? choice['message'] : {};
  const calls = isList(message['tool_calls']) ? message['tool_calls'].filter(isJson) : [];
  return {
    content: [
      ...reasoningParts(message),
      ...textParts(message),
      ...imageParts(message, version),
      ...calls.map(({ id, function: called, ...more }) => {
        const { name, arguments: input } = isJson(called) ? called : {};
        return { type: 'tool-call', toolCallId: id, toolName: name, input: inputOf(input), ...signatureMetadata(more) };
      }),
    ],
    raw: typeof choice?.['finish_reason'] === 'string' ? choice['finish_reason'] : 'stop',
  };
}

/** Arguments of a call that has none are an empty text at some providers. */
export const inputOf = (text: unknown): string => (typeof text === 'string' && text !== '' ? text : '{}');

/** The text of a thought in a message or a delta. */
export function reasoningText(message: Json): string {
  const text = message['reasoning_content'] ?? message['reasoning'];
  return typeof text === 'string' ? text : '';
}

/** Thoughts that are signed are given with their signature: prompt.ts gives them back. */
export function reasoningParts(message: Json): Json[] {
  const blocks = isList(message['thinking_blocks']) ? message['thinking_blocks'].filter(isJson) : [];
  if (blocks.length > 0)
    return blocks.map((block) => {
      const metadata = blockMetadata(block);
      return { type: 'reasoning', text: typeof block['thinking'] === 'string' ? block['thinking'] : '', ...metadata };
    });
  const text = reasoningText(message);
  return text === '' ? [] : [{ type: 'reasoning', text }];
}

export function blockMetadata({ type, signature, data }: Json): Json {
  const anthropic = type === 'redacted_thinking' ? { redactedData: data } : { signature };
  return { providerMetadata: { anthropic } };
}

/** Where Google's signature of a thought is: at a message or at a call. */
export function signatureMetadata({ extra_content: extra }: Json): Json {
  const google = isJson(extra) && isJson(extra['google']) ? extra['google'] : {};
  const thoughtSignature = google['thought_signature'];
  return typeof thoughtSignature === 'string' ? { providerMetadata: { google: { thoughtSignature } } } : {};
}

function textParts(message: Json): Json[] {
  const { content, refusal } = message;
  const texts = isList(content)
    ? content.map((part) => (isJson(part) && typeof part['text'] === 'string' ? part['text'] : ''))
    : [content];
  return [...texts, refusal]
    .filter((text) => typeof text === 'string' && text !== '')
    .map((text) => ({ type: 'text', text, ...signatureMetadata(message) }));
}

/** Pictures that a model made. */
export function imageParts({ images }: Json, version: SpecVersion): Json[] {
  if (!isList(images)) return [];
  return images.flatMap((image) => {
    const { url } = isJson(image) && isJson(image['image_url']) ? image['image_url'] : {};
    const found = typeof url === 'string' ? /^data:([^;,]+);base64,(.*)$/s.exec(url) : null;
    if (found === null) return [];
    const [, mediaType, data] = found;
    return [{ type: 'file', mediaType, data: version === 4 ? { type: 'data', data } : data }];
  });
}
