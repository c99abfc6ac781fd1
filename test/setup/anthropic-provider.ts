// A provider on the wire of Anthropic's Messages API of 2023-06-01, as its public documentation has it: it refuses what
// the API refuses, and answers as the name of the model says. test/integration/provider-sdks.test.ts has the API's own
// SDK talk to it.
import type { ServerResponse } from 'node:http';
import {
  answerJson,
  openProviderServer,
  openStream,
  trickle,
  type Asked,
  type ModelProvider,
} from './provider-server.ts';

export const ANTHROPIC_SAYS = 'Grüße 🌍 from the Messages API';
export const ANTHROPIC_THINKS = 'The user wants a greeting.';
export const ANTHROPIC_SIGNATURE = 'EqoBCkgIARABGAIiQL2UoU0b1OHYi';
export const anthropicUsage = {
  input_tokens: 20,
  cache_creation_input_tokens: 3,
  cache_read_input_tokens: 7,
  output_tokens: 11,
} as const;

type Fields = Readonly<Record<string, unknown>>;

interface Message {
  readonly content: readonly Fields[];
  readonly stop_reason: string;
  readonly stop_details?: Fields;
}

/** Fields that the API has; it refuses all others. */
const FIELDS = new Set(
  'model messages max_tokens system stream temperature top_p top_k stop_sequences tools tool_choice thinking metadata output_config service_tier cache_control container context_management mcp_servers'.split(
    ' ',
  ),
);

class Refused extends Error {}

/** @throws {Refused} as the API says what is wrong. */
function check(body: Fields): void {
  for (const name of ['model', 'messages', 'max_tokens'])
    if (body[name] === undefined) throw new Refused(`${name}: Field required`);
  if (body['model'] === 'thoughtless' && body['thinking'] !== undefined)
    throw new Refused('adaptive thinking is not supported on this model');
  for (const name of Object.keys(body))
    if (!FIELDS.has(name)) throw new Refused(`${name}: Extra inputs are not permitted`);
  if (typeof body['temperature'] === 'number' && body['temperature'] > 1) throw new Refused('temperature: range: 0..1');
  let open: string[] = [];
  for (const [index, { role, content }] of (body['messages'] as { role: string; content: Fields[] }[]).entries()) {
    const at = `messages.${index}`;
    if (role !== 'user' && role !== 'assistant') throw new Refused(`${at}.role: Input should be 'user' or 'assistant'`);
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    const answered = blocks.flatMap((block) => (block['type'] === 'tool_result' ? [String(block['tool_use_id'])] : []));
    if (open.some((id) => !answered.includes(id)))
      throw new Refused(`${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open}`);
    if (answered.some((id) => !open.includes(id)))
      throw new Refused(`${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${answered}`);
    for (const block of blocks) checkBlock(block, at);
    open = blocks.flatMap((block) => (block['type'] === 'tool_use' ? [String(block['id'])] : []));
    const thinks = (body['thinking'] as Fields | undefined)?.['type'] === 'enabled';
    if (thinks && open.length > 0 && blocks[0]!['type'] !== 'thinking')
      throw new Refused(`${at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`text\``);
  }
}

function checkBlock(block: Fields, at: string): void {
  if (block['type'] === 'text' && block['text'] === '')
    throw new Refused(`${at}: text content blocks must be non-empty`);
  if (block['type'] === 'thinking' && block['signature'] !== ANTHROPIC_SIGNATURE)
    throw new Refused(`${at}: Invalid \`signature\` in \`thinking\` block`);
  const { type, media_type: media } = (block['source'] ?? {}) as { type?: string; media_type?: string };
  if (block['type'] === 'image' && type === 'base64' && !/^image\/(jpeg|png|gif|webp)$/.test(String(media)))
    throw new Refused(`${at}: source.base64.media_type: Input should be 'image/jpeg', ...`);
}

/** Calls each tool once, at the same time; when their results are there, says them. */
function answerOf(body: Fields): Message {
  const messages = body['messages'] as { content: Fields[] | string }[];
  const last = messages.at(-1)!.content;
  const results = typeof last === 'string' ? [] : last.filter(({ type }) => type === 'tool_result');
  const tools = (body['tools'] ?? []) as { name: string }[];
  const thinks = body['thinking'] !== undefined && (body['thinking'] as Fields)['type'] !== 'disabled';
  const thought = { type: 'thinking', thinking: ANTHROPIC_THINKS, signature: ANTHROPIC_SIGNATURE };
  const before = thinks ? [thought, { type: 'redacted_thinking', data: 'EmwKAhgBEgy3va3pzix' }] : [];
  if (results.length > 0) {
    const said = results.map(({ content }) => (content as Fields[]).map(({ text }) => text).join(''));
    return { content: [...before, { type: 'text', text: `Results: ${said.join(', ')}` }], stop_reason: 'end_turn' };
  }
  if (tools.length > 0) {
    const calls = tools.map(({ name }, index) => {
      const input = index === 0 ? { city: 'Zürich', at: [1, 2] } : {};
      return { type: 'tool_use', id: `toolu_${index}_${messages.length}`, name, input };
    });
    return { content: [...before, { type: 'text', text: 'I look.' }, ...calls], stop_reason: 'tool_use' };
  }
  const format = (body['output_config'] as { format?: Fields } | undefined)?.format;
  const text = format === undefined ? ANTHROPIC_SAYS : '{"city":"Bern"}';
  return { content: [...before, { type: 'text', text }], stop_reason: 'end_turn' };
}

const withHead = (model: unknown, { content, ...message }: Message): Fields => ({
  id: 'msg_01',
  type: 'message',
  role: 'assistant',
  model,
  content,
  stop_sequence: null,
  ...message,
  usage: anthropicUsage,
});

const event = (type: string, fields: Fields): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const OVERLOADED = { type: 'overloaded_error', message: 'Overloaded' };

/** The events of a message, in the order and pieces of the documentation. */
function eventsOf(model: unknown, message: Message): string[] {
  const { content, ...rest } = withHead(model, message) as Fields & { content: Fields[] };
  const { output_tokens: tokens, ...input } = anthropicUsage;
  void rest;
  const head = { ...withHead(model, { content: [], stop_reason: null as unknown as string }) };
  const events = [
    event('message_start', { message: { ...head, usage: { ...input, output_tokens: 1 } } }),
    event('ping', {}),
  ];
  for (const [index, block] of content.entries()) {
    const delta = (fields: Fields): string => event('content_block_delta', { index, delta: fields });
    const empty = { tool_use: { input: {} }, text: { text: '' }, thinking: { thinking: '', signature: '' } };
    const shape = empty[block['type'] as keyof typeof empty] ?? {};
    events.push(event('content_block_start', { index, content_block: { ...block, ...shape } }));
    const pieces = (text: unknown): string[] => String(text).match(/.{1,5}/gsu) ?? [];
    if (block['type'] === 'text')
      events.push(...pieces(block['text']).map((text) => delta({ type: 'text_delta', text })));
    if (block['type'] === 'thinking') {
      events.push(...pieces(block['thinking']).map((thinking) => delta({ type: 'thinking_delta', thinking })));
      events.push(delta({ type: 'signature_delta', signature: block['signature'] }));
    }
    const input = block['input'] as object | undefined;
    if (input !== undefined) {
      // A call without arguments has no JSON at all in a stream.
      const json = Object.keys(input).length === 0 ? [''] : ['', ...pieces(JSON.stringify(input))];
      events.push(...json.map((partial_json) => delta({ type: 'input_json_delta', partial_json })));
    }
    events.push(event('content_block_stop', { index }));
  }
  const { stop_reason, stop_details } = message;
  events.push(
    event('message_delta', {
      delta: { stop_reason, stop_sequence: null, ...(stop_details === undefined ? {} : { stop_details }) },
      usage: { output_tokens: tokens },
    }),
    event('message_stop', {}),
  );
  return events;
}

function refuse(response: ServerResponse, status: number, type: string, message: string, headers: object = {}): void {
  answerJson(response, status, { type: 'error', error: { type, message }, request_id: 'req_011' }, headers);
}

const failures: Readonly<Record<string, readonly [number, string, string, object?]>> = {
  'too-long': [400, 'invalid_request_error', 'prompt is too long: 200001 tokens > 200000 maximum'],
  'no-model': [404, 'not_found_error', 'model: no-model'],
  'too-large': [413, 'request_too_large', 'Request exceeds the maximum size'],
  ratelimit: [429, 'rate_limit_error', 'This would exceed your rate limit', { 'retry-after': '7' }],
  broken: [500, 'api_error', 'Internal server error'],
  overloaded: [529, 'overloaded_error', 'Overloaded'],
};

/** What a stream of one of these does behind its first events. */
const endings: Readonly<Record<string, (response: ServerResponse, events: readonly string[]) => void>> = {
  'overloaded-mid': (response, events) =>
    response.end(events.slice(0, 5).join('') + event('error', { error: OVERLOADED })),
  'overloaded-at-once': (response) => response.end(event('error', { error: OVERLOADED })),
  'cut-mid': (response, events) => response.end(events.slice(0, 5).join('')),
  'half-event': (response, events) => response.end(events.slice(0, 5).join('') + events[5]!.slice(0, -9)),
  'hang-mid': (response, events) => void response.write(events.slice(0, 5).join('')),
  'utf8-split': (response, events) => void trickle(response, events.join('')),
  'new-events': (response, events) =>
    response.end([events[0]!, event('weather_report', { rain: true }), ...events.slice(1)].join('')),
};

export const openAnthropicProvider = (): Promise<ModelProvider> =>
  openProviderServer('v1', ({ body }) => String(body['model']), answer);

function answer(response: ServerResponse, { path, headers, body }: Asked): void {
  if (path !== '/v1/messages') return refuse(response, 404, 'not_found_error', 'Not Found');
  // Its documentation has the first, its own SDK sends the second.
  const key = headers['x-api-key'] ?? headers.authorization?.replace('Bearer ', '');
  if (key !== 'sk-test') return refuse(response, 401, 'authentication_error', `invalid x-api-key: ${String(key)}`);
  if (headers['anthropic-version'] !== '2023-06-01')
    return refuse(response, 400, 'invalid_request_error', 'anthropic-version: header is required');
  try {
    check(body);
  } catch (error) {
    return refuse(response, 400, 'invalid_request_error', (error as Error).message);
  }
  const model = String(body['model']);
  const failure = failures[model];
  if (failure !== undefined) return refuse(response, failure[0], failure[1], failure[2], failure[3]);
  const refusal = {
    content: [],
    stop_reason: 'refusal',
    stop_details: { type: 'refusal', category: null, explanation: 'No.' },
  };
  const message = model === 'refuses' ? refusal : answerOf(body);
  if (body['stream'] !== true) return answerJson(response, 200, withHead(model, message));
  openStream(response);
  const events = eventsOf(model, message);
  const end = endings[model] ?? ((to: ServerResponse) => to.end(events.join('')));
  return void end(response, events);
}
