// Converts AI SDK prompts to chat-completions messages. Provider metadata goes back where the adapters in providers/
// expect it: `thinking_blocks`, `extra_content`, `cache_control`.
import { isJson, isList, type Json } from '../../contract/chat.ts';
import { wrong } from '../../contract/request-body.ts';
import { filePart } from './file-part.ts';

/** Parts that only their provider understands, or that have no meaning for a model. */
const passedOver = new Set<unknown>([
  'custom',
  'reasoning-file',
  'source',
  'tool-approval-request',
  'tool-approval-response',
]);
const DENIED = 'Tool call execution denied.';

/** @param providers the accepted names of options, see provider-options.ts. @throws {GatewayError} 400 */
export function messagesOf(prompt: unknown, providers: readonly string[]): Json[] {
  if (!isList(prompt) || prompt.length === 0) throw wrong('prompt', 'a list of at least one message');
  return prompt.flatMap((message, index) => messageOf(message, providers, `prompt[${index}]`));
}

function messageOf(message: unknown, providers: readonly string[], at: string): Json[] {
  if (!isJson(message)) throw wrong(at, 'an object');
  const { role, content } = message;
  if (role === 'system') {
    if (typeof content !== 'string') throw wrong(`${at}.content`, 'a text');
    const mark = cacheMark(message);
    return [{ role, content: mark === null ? content : [{ type: 'text', text: content, ...mark }], ...own(message) }];
  }
  if (role !== 'user' && role !== 'assistant' && role !== 'tool')
    throw wrong(`${at}.role`, 'one of system, user, assistant, tool');
  if (!isList(content)) throw wrong(`${at}.content`, 'a list of parts');
  const parts = content.map((part, index) => {
    if (!isJson(part)) throw wrong(`${at}.content[${index}]`, 'an object');
    return { part, at: `${at}.content[${index}]` };
  });
  const known = parts.filter(({ part }) => !passedOver.has(part['type']));
  if (role === 'tool') return known.map((one) => toolMessage(one, providers));
  const mark = cacheMark(message);
  const said =
    role === 'user'
      ? {
          role,
          content: shortest(
            known.map((one) => contentPart(one, providers)),
            mark,
          ),
        }
      : assistantMessage(known, providers, mark);
  return [{ ...said, ...own(message) }];
}

interface Placed {
  readonly part: Json;
  readonly at: string;
}

function contentPart({ part, at }: Placed, providers: readonly string[]): Json {
  const more = { ...cacheMark(part), ...own(part) };
  if (part['type'] === 'text') return { type: 'text', text: textIn(part, 'text', at), ...more };
  if (part['type'] === 'file') return { ...filePart(part, providers, at), ...more };
  throw wrong(`${at}.type`, 'the type of a part that this message may have');
}

/** A single text becomes a string, for providers that do not support parts. */
function shortest(parts: Json[], mark: Json | null): string | Json[] {
  if (mark !== null && parts.length > 0) parts.push({ ...parts.pop()!, ...mark });
  const [only] = parts;
  const isPlain = parts.length === 1 && only!['type'] === 'text' && Object.keys(only!).length === 2;
  return isPlain ? (only!['text'] as string) : parts;
}

function assistantMessage(placed: readonly Placed[], providers: readonly string[], mark: Json | null): Json {
  const parts: Json[] = [];
  const calls: Json[] = [];
  const blocks: Json[] = [];
  let reasoning = '';
  let signature: unknown;
  for (const { part, at } of placed) {
    const { type } = part;
    // Calls executed by the provider itself have no counterpart in chat completions.
    if (type === 'tool-result') continue;
    if (type === 'reasoning') {
      reasoning += textIn(part, 'text', at);
      blocks.push(...thinkingBlock(part));
    } else if (type === 'tool-call') calls.push(toolCall(part, at));
    else {
      parts.push(contentPart({ part, at }, providers));
      signature = optionsOf(part, 'google')['thoughtSignature'] ?? signature;
    }
  }
  const isText = mark === null && parts.every((part) => part['type'] === 'text' && Object.keys(part).length === 2);
  const content = isText ? parts.map((part) => part['text']).join('') : shortest(parts, mark);
  return {
    role: 'assistant',
    content: content.length === 0 && calls.length > 0 ? null : content,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(blocks.length === 0 ? {} : { thinking_blocks: blocks }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...signed(signature),
  };
}

/** Signed thinking, as stream-parts.ts and result.ts passed it to the SDK. */
function thinkingBlock(part: Json): Json[] {
  const { signature, redactedData } = optionsOf(part, 'anthropic');
  if (typeof redactedData === 'string') return [{ type: 'redacted_thinking', data: redactedData }];
  return typeof signature === 'string' ? [{ type: 'thinking', thinking: part['text'], signature }] : [];
}

const signed = (signature: unknown): Json =>
  typeof signature === 'string' ? { extra_content: { google: { thought_signature: signature } } } : {};

function toolCall(part: Json, at: string): Json {
  const { input } = part;
  return {
    id: textIn(part, 'toolCallId', at),
    type: 'function',
    function: { name: textIn(part, 'toolName', at), arguments: inputText(input) },
    ...own(part),
    ...signed(optionsOf(part, 'google')['thoughtSignature']),
  };
}

/** A string that is valid JSON was written by the model and is passed unchanged. */
function inputText(input: unknown): string {
  if (typeof input !== 'string') return JSON.stringify(input ?? {});
  try {
    JSON.parse(input);
    return input;
  } catch {
    return JSON.stringify(input);
  }
}

function toolMessage({ part, at }: Placed, providers: readonly string[]): Json {
  if (part['type'] !== 'tool-result') throw wrong(`${at}.type`, 'tool-result');
  const { output } = part;
  if (!isJson(output)) throw wrong(`${at}.output`, 'an object');
  const content = outputContent(output, providers, `${at}.output`);
  return { role: 'tool', tool_call_id: textIn(part, 'toolCallId', at), content, ...cacheMark(part), ...own(part) };
}

function outputContent(output: Json, providers: readonly string[], at: string): string | Json[] {
  const { type, value, reason } = output;
  if (type === 'text' || type === 'error-text') return textIn(output, 'value', at);
  if (type === 'json' || type === 'error-json') return JSON.stringify(value ?? null);
  if (type === 'execution-denied') return typeof reason === 'string' ? reason : DENIED;
  if (type !== 'content' || !isList(value)) throw wrong(`${at}.type`, 'a type of results of tools');
  const parts = value.flatMap((part, index) => {
    if (!isJson(part)) throw wrong(`${at}.value[${index}]`, 'an object');
    return part['type'] === 'custom' ? [] : [outputPart(part, providers, `${at}.value[${index}]`)];
  });
  const isText = parts.every((part) => part['type'] === 'text');
  return isText ? parts.map((part) => part['text']).join('\n') : parts;
}

/** Versions 2 and 3 have their own types: `media`, `file-data`, `image-url` and others. */
function outputPart(part: Json, providers: readonly string[], at: string): Json {
  const { type, url, fileId, mediaType } = part;
  if (type === 'text') return { type, text: textIn(part, 'text', at) };
  if (type === 'file' || type === 'media' || type === 'file-data' || type === 'image-data')
    return filePart(part, providers, at);
  if (type === 'image-url') return filePart({ data: url, mediaType: mediaType ?? 'image' }, providers, at);
  if (type === 'file-url') return filePart({ data: url, mediaType }, providers, at);
  if (type === 'file-id' || type === 'image-file-id') {
    const reference = typeof fileId === 'string' ? Object.fromEntries(providers.map((name) => [name, fileId])) : fileId;
    return filePart({ data: { type: 'reference', reference } }, providers, at);
  }
  throw wrong(`${at}.type`, 'a type of parts that results of tools have');
}

function textIn(part: Json, field: string, at: string): string {
  const text = part[field];
  if (typeof text !== 'string') throw wrong(`${at}.${field}`, 'a text');
  return text;
}

function optionsOf({ providerOptions }: Json, provider: string): Json {
  const options = isJson(providerOptions) ? providerOptions[provider] : null;
  return isJson(options) ? options : {};
}

/** Fields copied to the message, under the name that `@ai-sdk/openai-compatible` uses. */
const own = (part: Json): Json => optionsOf(part, 'openaiCompatible');

function cacheMark(part: Json): Json | null {
  const mark = optionsOf(part, 'anthropic')['cacheControl'];
  return isJson(mark) ? { cache_control: mark } : null;
}
