// Estimates the tokens of a text: before a call, and afterwards if the provider reported no usage. Pure.
import { isJson, isList, type ChatRequest, type Json } from '../contract/chat.ts';
import type { TokenCount } from '../contract/contract.ts';

const CHARACTERS_A_TOKEN = 4;
const TOKENS_A_MESSAGE = 4;
/** Estimated tokens of an image or file, regardless of its format. */
const TOKENS_A_PART = 1000;

export const tokensOfLength = (characters: number): number => Math.ceil(characters / CHARACTERS_A_TOKEN);

/** Estimates the usage of a request. @param defaultMax tokens per answer if the request sets no maximum. */
export function estimateChat(request: ChatRequest, defaultMax: number): TokenCount {
  let promptTokens = 0;
  for (const message of request.messages) promptTokens += TOKENS_A_MESSAGE + messageTokens(message);
  for (const field of ['tools', 'functions', 'response_format']) {
    if (request[field] !== undefined) promptTokens += tokensOfLength(JSON.stringify(request[field]).length);
  }
  const most = request.max_completion_tokens ?? request.max_tokens ?? defaultMax;
  return { promptTokens, completionTokens: most * (request.n ?? 1) };
}

/** Characters of a message or of a chunk's delta: text, reasoning and tool calls. */
export function saidLength(message: Json): number {
  let length = 0;
  for (const field of ['content', 'reasoning_content', 'reasoning', 'refusal']) {
    const text = message[field];
    if (typeof text === 'string') length += text.length;
  }
  const calls = message['tool_calls'];
  if (!isList(calls)) return length;
  for (const call of calls) {
    const { name, arguments: input } = isJson(call) && isJson(call['function']) ? call['function'] : {};
    length += (typeof name === 'string' ? name.length : 0) + (typeof input === 'string' ? input.length : 0);
  }
  return length;
}

function messageTokens(message: Json): number {
  const { content } = message;
  if (!isList(content)) return tokensOfLength(saidLength(message));
  let tokens = tokensOfLength(saidLength(message));
  for (const part of content) {
    const text = isJson(part) ? part['text'] : part;
    tokens += typeof text === 'string' ? tokensOfLength(text.length) : TOKENS_A_PART;
  }
  return tokens;
}
