// Converts responses of Anthropic's Messages API, complete and streamed, to chat completions. Thinking appears twice:
// readable as `reasoning_content`, and signed in `thinking_blocks`, which clients send back with the message.
import { Failure } from '#core/failure.ts';
import { isJson, isList, tokenCount, wireUsage, type Json, type Used } from '../contract/chat.ts';
import type { SseEvent } from '../contract/wire.ts';
import type { Said, StreamPiece } from '../contract/wire.ts';

/** Maximum number of open blocks; the protocol allows one. */
const OPEN_BLOCKS_MAX = 64;
const THOUGHTS_MAX = 1000;
const THOUGHT_CHARACTERS_MAX = 8_000_000;

const finishReasons: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content_filter',
};
const finishOf = (reason: unknown): string => finishReasons[String(reason)] ?? 'stop';

const isThought = ({ type }: Json): boolean => type === 'thinking' || type === 'redacted_thinking';
const asText = (value: unknown): string => (typeof value === 'string' ? value : '');

/** @throws {Failure} `unreadable_answer` */
export function chatAnswer(answer: unknown): Json {
  if (!isJson(answer) || !isList(answer['content'])) throw new Failure('unreadable_answer', 'no content');
  const blocks = answer['content'].filter(isJson);
  const ofType = (type: string): Json[] => blocks.filter((block) => block['type'] === type);
  const calls = ofType('tool_use').map(({ id, name, input }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(input ?? {}) },
  }));
  const texts = ofType('text').map(({ text }) => asText(text));
  const thoughts = blocks.filter(isThought);
  const read = thoughts.map(({ thinking }) => asText(thinking)).join('');
  const message = {
    role: 'assistant',
    content: texts.length === 0 ? null : texts.join(''),
    ...(read === '' ? {} : { reasoning_content: read }),
    ...(thoughts.length === 0 ? {} : { thinking_blocks: thoughts }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...refusalOf(answer),
  };
  const used = usedOf(answer['usage'], null);
  return {
    id: answer['id'],
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    model: answer['model'],
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishOf(answer['stop_reason']) }],
    ...(used === null ? {} : { usage: wireUsage(used) }),
  };
}

/** Creates the parser of one stream. */
export function openStream(): (event: SseEvent) => readonly StreamPiece[] {
  const blocks = new Map<unknown, OpenBlock>();
  const created = Math.floor(Date.now() / 1000);
  let head: Json = {};
  let used: Used | null = null;
  let calls = 0;
  const thoughts: Json[] = [];
  let thoughtLength = 0;
  let isBegun = false;

  const piece = (delta: Json, finish: string | null = null): StreamPiece => {
    const role = isBegun ? {} : { role: 'assistant', content: '' };
    isBegun = true;
    const choices = [{ index: 0, delta: { ...role, ...delta }, logprobs: null, finish_reason: finish }];
    return { kind: 'chunk', chunk: { ...head, object: 'chat.completion.chunk', created, choices }, text: null };
  };
  const count = (usage: unknown): StreamPiece[] => {
    used = usedOf(usage, used);
    return used === null ? [] : [{ kind: 'usage', used }];
  };
  const blockOf = (event: Json): OpenBlock => {
    const block = blocks.get(event['index']);
    if (block === undefined) throw new Failure('unreadable_answer', 'a delta of a block that is not open');
    return block;
  };

  const start = (event: Json): StreamPiece[] => {
    const block = event['content_block'];
    if (!isJson(block)) throw new Failure('unreadable_answer', 'a block that is not an object');
    if (blocks.size >= OPEN_BLOCKS_MAX) throw new Failure('unreadable_answer', 'too many open blocks');
    const call = block['type'] === 'tool_use' ? calls++ : null;
    blocks.set(event['index'], { block, call, thinking: asText(block['thinking']), signature: '', hasInput: false });
    if (call !== null) {
      const { id, name } = block;
      return [piece({ tool_calls: [{ index: call, id, type: 'function', function: { name, arguments: '' } }] })];
    }
    const text = block['type'] === 'text' ? asText(block['text']) : '';
    return [piece(text === '' ? {} : { content: text })];
  };

  const grow = (event: Json): StreamPiece[] => {
    const block = blockOf(event);
    const delta = isJson(event['delta']) ? event['delta'] : {};
    if (delta['type'] === 'text_delta') return [piece({ content: asText(delta['text']) })];
    if (delta['type'] === 'input_json_delta' && block.call !== null) {
      const input = asText(delta['partial_json']);
      if (input === '') return [];
      block.hasInput = true;
      return [piece({ tool_calls: [{ index: block.call, function: { arguments: input } }] })];
    }
    if (delta['type'] === 'signature_delta') block.signature += asText(delta['signature']);
    const thought = delta['type'] === 'thinking_delta' ? asText(delta['thinking']) : '';
    block.thinking += thought;
    thoughtLength += thought.length + asText(delta['signature']).length;
    if (thoughtLength > THOUGHT_CHARACTERS_MAX) throw new Failure('unreadable_answer', 'thinking without an end');
    return thought === '' ? [] : [piece({ reasoning_content: thought })];
  };

  const stop = (event: Json): StreamPiece[] => {
    const { block, call, thinking, signature, hasInput } = blockOf(event);
    blocks.delete(event['index']);
    if (call !== null && !hasInput)
      return [piece({ tool_calls: [{ index: call, function: { arguments: JSON.stringify(block['input'] ?? {}) } }] })];
    if (block['type'] === 'redacted_thinking') thoughts.push(block);
    if (block['type'] === 'thinking') thoughts.push({ type: 'thinking', thinking, signature });
    if (thoughts.length > THOUGHTS_MAX) throw new Failure('unreadable_answer', 'thinking without an end');
    return [];
  };

  const finish = (event: Json): StreamPiece[] => {
    const delta = isJson(event['delta']) ? event['delta'] : {};
    const usage = count(event['usage']);
    const reason = delta['stop_reason'];
    if (typeof reason !== 'string') return usage;
    // Sent once, all together, because clients either concatenate lists in unknown fields or keep the last list.
    const signed = thoughts.length === 0 ? {} : { thinking_blocks: thoughts };
    return [piece({ ...signed, ...refusalOf(delta) }, finishOf(reason)), ...usage];
  };

  return ({ data }) => {
    const event = JSON.parse(data) as unknown;
    if (!isJson(event)) throw new Failure('unreadable_answer', 'an event that is not an object');
    switch (event['type']) {
      case 'message_start': {
        const message = isJson(event['message']) ? event['message'] : {};
        head = { id: message['id'], model: message['model'] };
        return count(message['usage']);
      }
      case 'content_block_start':
        return start(event);
      case 'content_block_delta':
        return grow(event);
      case 'content_block_stop':
        return stop(event);
      case 'message_delta':
        return finish(event);
      case 'message_stop':
        return [{ kind: 'done' }];
      case 'error':
        return [{ kind: 'error', said: saidOf(event) }];
      default:
        // A ping, or an unknown newer event, which clients must ignore.
        return [];
    }
  };
}

interface OpenBlock {
  readonly block: Json;
  /** The index of the tool call within the response; null if it is not one. */
  readonly call: number | null;
  thinking: string;
  signature: string;
  hasInput: boolean;
}

function refusalOf({ stop_details: details }: Json): Json {
  const explanation = isJson(details) ? details['explanation'] : null;
  return typeof explanation === 'string' ? { refusal: explanation } : {};
}

/** Later counts in a stream are totals; omitted counts keep their value. */
function usedOf(usage: unknown, before: Used | null): Used | null {
  if (!isJson(usage)) return before;
  const input = ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'];
  const promptTokens = input.reduce((sum, name) => sum + tokenCount(usage[name]), 0);
  const details = isJson(usage['output_tokens_details']) ? usage['output_tokens_details'] : {};
  return {
    promptTokens: typeof usage['input_tokens'] === 'number' ? promptTokens : (before?.promptTokens ?? 0),
    completionTokens: Math.max(tokenCount(usage['output_tokens']), before?.completionTokens ?? 0),
    cachedTokens: tokenCount(usage['cache_read_input_tokens']) || (before?.cachedTokens ?? 0),
    reasoningTokens: tokenCount(details['thinking_tokens']) || (before?.reasoningTokens ?? 0),
    isEstimated: false,
  };
}

/** Parses `{type: 'error', error: {type, message}}`. */
export function saidOf(answer: unknown): Said {
  const { type, message } = isJson(answer) && isJson(answer['error']) ? answer['error'] : {};
  const isLong = typeof message === 'string' && /prompt is too long|exceed context limit/.test(message);
  const own = typeof type === 'string' && type !== 'invalid_request_error' ? type.slice(0, 100) : null;
  return {
    message: typeof message === 'string' && message !== '' ? message.slice(0, 2000) : 'The provider gave no reason',
    type: null,
    code: isLong ? 'context_length_exceeded' : own,
    param: null,
  };
}
