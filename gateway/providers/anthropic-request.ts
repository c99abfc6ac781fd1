// Converts a chat-completions request to Anthropic's Messages API. Pure.
import { isJson, isList, type ChatRequest, type Json } from '../contract/chat.ts';
import { wrong } from '../contract/request-body.ts';
import { closedSchema } from './anthropic-schema.ts';
import { answerFormOf, functionToolOf, partsOf, stopsOf, toolCallsOf, toolChoiceOf, type Part } from './content.ts';

/** Anthropic-specific fields that are passed through. */
const OWN_FIELDS = ['thinking', 'top_k', 'top_p', 'cache_control', 'container', 'context_management', 'mcp_servers'];
const EFFORTS = new Set<unknown>(['low', 'medium', 'high', 'xhigh', 'max']);
/** Media types sent as image blocks; others are sent as documents. */
const PICTURE = /^image\//;
const ONLY_JSON = 'Answer with one JSON object and nothing else.';

interface Turn {
  readonly role: 'user' | 'assistant';
  readonly content: Json[];
}

/**
 * @param tokensDefault maximum tokens if the request sets none, because Anthropic requires a value.
 * @throws {GatewayError} 400
 */
export function messagesRequest(model: string, request: ChatRequest, tokensDefault: number): Json {
  if ((request.n ?? 1) !== 1) throw wrong('n', '1 for this provider');
  const { system, turns } = turnsOf(request.messages);
  const form = answerFormOf(request['response_format']);
  if (form === 'json') system.push({ type: 'text', text: ONLY_JSON });
  const own = Object.fromEntries(OWN_FIELDS.flatMap((name) => present(name, request[name])));
  const thinking = thinkingOf(request, turns);
  const { temperature, user } = request;
  return {
    ...own,
    model,
    max_tokens: request.max_completion_tokens ?? request.max_tokens ?? tokensDefault,
    messages: turns,
    ...(system.length === 0 ? {} : { system }),
    ...toolsOf(request),
    // Chat completions allow temperatures up to 2.
    ...(typeof temperature === 'number' ? { temperature: Math.min(temperature, 1) } : {}),
    ...Object.fromEntries(present('stop_sequences', stopsOf(request['stop']))),
    ...outputOf(request, form),
    ...(typeof user === 'string' ? { metadata: { user_id: user } } : {}),
    ...(request.stream === true ? { stream: true } : {}),
    ...thinking,
  };
}

const present = (name: string, value: unknown): [string, unknown][] =>
  value === undefined || value === null ? [] : [[name, value]];

/** Merges consecutive messages of the same role: the results of several tool calls must be in one message. */
function turnsOf(messages: readonly Json[]): { system: Json[]; turns: Turn[] } {
  const system: Json[] = [];
  const turns: Turn[] = [];
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`;
    const { role } = message;
    if (role === 'system' || role === 'developer') {
      system.push(...partsOf(message['content'], `${at}.content`).map(blockOf));
      continue;
    }
    const content = role === 'assistant' ? saidBlocks(message, at) : userBlocks(message, at);
    if (content.length === 0) continue;
    const as = role === 'assistant' ? 'assistant' : 'user';
    const last = turns.at(-1);
    if (last?.role === as) last.content.push(...content);
    else turns.push({ role: as, content });
  }
  return { system, turns };
}

function userBlocks(message: Json, at: string): Json[] {
  const blocks = partsOf(message['content'], `${at}.content`).map(blockOf);
  if (message['role'] === 'user') return blocks;
  const id = message['tool_call_id'];
  if (typeof id !== 'string') throw wrong(`${at}.tool_call_id`, 'the id of the tool call that this message answers');
  return [{ type: 'tool_result', tool_use_id: id, content: blocks, ...cacheMark(message) }];
}

/** Thinking blocks come first, unchanged and signed. */
function saidBlocks(message: Json, at: string): Json[] {
  const thoughts = isList(message['thinking_blocks']) ? message['thinking_blocks'].filter(isJson) : [];
  const calls = toolCallsOf(message, at).map(({ id, name, input }) => ({ type: 'tool_use', id, name, input }));
  return [...thoughts, ...partsOf(message['content'], `${at}.content`).map(blockOf), ...calls];
}

function blockOf(part: Part): Json {
  if (part.kind === 'own') return part.source;
  const mark = cacheMark(part.source);
  if (part.kind === 'text') return { type: 'text', text: part.text, ...mark };
  if (part.kind === 'link') return { type: 'image', source: { type: 'url', url: part.url }, ...mark };
  const source = { type: 'base64', media_type: part.mediaType, data: part.base64 };
  return { type: PICTURE.test(part.mediaType) ? 'image' : 'document', source, ...mark };
}

const cacheMark = (source: Json): Json =>
  isJson(source['cache_control']) ? { cache_control: source['cache_control'] } : {};

function toolsOf(request: ChatRequest): Json {
  if (!isList(request['tools']) || request['tools'].length === 0) return {};
  const tools = request['tools'].filter(isJson).map((tool, index) => {
    const known = functionToolOf(tool, `tools[${index}]`);
    if (known === null) return tool;
    return {
      name: known.name,
      ...(known.description === null ? {} : { description: known.description }),
      input_schema: known.parameters ?? { type: 'object', properties: {} },
      ...(known.isStrict ? { strict: true } : {}),
      ...cacheMark(tool),
    };
  });
  const choice = toolChoiceOf(request['tool_choice']);
  const single = request['parallel_tool_calls'] === false ? { disable_parallel_tool_use: true } : {};
  if (choice?.kind === 'none') return { tools, tool_choice: { type: 'none' } };
  if (choice?.kind === 'one') return { tools, tool_choice: { type: 'tool', name: choice.name, ...single } };
  if (choice?.kind === 'required') return { tools, tool_choice: { type: 'any', ...single } };
  if (choice === null && request['parallel_tool_calls'] !== false) return { tools };
  return { tools, tool_choice: { type: 'auto', ...single } };
}

/** @returns `output_config`, if the request sets a response format or an effort. */
function outputOf(request: ChatRequest, form: ReturnType<typeof answerFormOf>): Json {
  const given = isJson(request['output_config']) ? request['output_config'] : {};
  const effort = request['reasoning_effort'];
  const config = {
    ...(EFFORTS.has(effort) ? { effort } : {}),
    ...(typeof form === 'object' ? { format: { type: 'json_schema', schema: closedSchema(form.schema) } } : {}),
    ...given,
  };
  return Object.keys(config).length === 0 ? {} : { output_config: config };
}

/**
 * An assistant that used tools while thinking must get its thinking blocks back. If the client did not keep these
 * blocks, thinking is disabled instead of failing the call.
 */
function thinkingOf(request: ChatRequest, turns: readonly Turn[]): Json {
  const effort = request['reasoning_effort'];
  const given = request['thinking'] ?? (effort === 'none' ? { type: 'disabled' } : null);
  const asked = given ?? (EFFORTS.has(effort) ? { type: 'adaptive' } : null);
  if (!isJson(asked)) return {};
  if (asked['type'] !== 'enabled') return { thinking: asked };
  const last = turns.findLast(({ role }) => role === 'assistant');
  const calls = last?.content.some(({ type }) => type === 'tool_use') === true;
  const thinks = last?.content[0]?.['type'] === 'thinking' || last?.content[0]?.['type'] === 'redacted_thinking';
  const isAnswered = turns.at(-1)?.content[0]?.['type'] === 'tool_result';
  return calls && isAnswered && !thinks ? { thinking: { type: 'disabled' } } : { thinking: asked };
}
