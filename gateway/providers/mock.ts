// A deterministic provider without network, in OpenAI's protocol, for development and tests. Models: `echo` repeats the
// last user message; `reasoning` thinks first; `tools` calls the tool named in the message with the JSON in it,
// otherwise the first tool, and then repeats its result; `json` answers according to the schema of response_format;
// `fail` answers 500; `embed` creates embeddings. Tokens are estimated by accounts/estimate.ts.
import { createHash } from 'node:crypto';
import { estimateChat, saidLength, tokensOfLength } from '../accounts/estimate.ts';
import { isJson, isList, type ChatRequest, type Json } from '../contract/chat.ts';
import { DONE_FRAME, encodeFrames, frame, sseHeaders } from '../streams/sse-writer.ts';
import { sampleOf } from './mock-sample.ts';

export const mockModels = ['echo', 'reasoning', 'tools', 'json', 'fail', 'embed'] as const;

/** Length of embeddings, unless `dimensions` is set. */
const DIMENSIONS = 32;
const DIMENSIONS_MAX = 4096;
/** Words of a text that its embedding reflects. */
const WORDS_MAX = 2000;
/** How many numbers of an embedding one word changes. */
const PLACES_A_WORD = 8;

/** @param request a request in OpenAI's protocol, already validated by the gateway. */
export async function answerMock(request: Request): Promise<Response> {
  const body = (await request.json()) as ChatRequest;
  if (new URL(request.url).pathname === '/embeddings') return embed(body);
  const said = say(body);
  if (said instanceof Response) return said;
  const promptTokens = estimateChat(body, 0).promptTokens;
  const completionTokens = tokensOfLength(saidLength(said));
  const usage = {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
  const id = `chatcmpl-${createHash('sha256').update(JSON.stringify(body)).digest('hex').slice(0, 24)}`;
  const frameOf = { id, created: 0, model: `mock/${body.model}` };
  const reason = isList(said['tool_calls']) ? 'tool_calls' : 'stop';
  if (body.stream !== true) {
    const choices = [{ index: 0, message: { role: 'assistant', ...said }, logprobs: null, finish_reason: reason }];
    return Response.json({ ...frameOf, object: 'chat.completion', choices, usage });
  }
  const chunk = (delta: Json, finish: string | null): string => {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }];
    return frame(JSON.stringify({ ...frameOf, object: 'chat.completion.chunk', choices }));
  };
  const frames = [
    chunk({ role: 'assistant', content: '' }, null),
    ...deltasOf(said).map((delta) => chunk(delta, null)),
    chunk({}, reason),
  ];
  if (body.stream_options?.['include_usage'] === true)
    frames.push(frame(JSON.stringify({ ...frameOf, object: 'chat.completion.chunk', choices: [], usage })));
  frames.push(DONE_FRAME);
  return new Response(streamOf(frames), { headers: sseHeaders });
}

/** The reply as a message, or an error response. */
function say(body: ChatRequest): Json | Response {
  const last = body.messages.at(-1) ?? {};
  const text = textOf(body.messages.findLast(({ role }) => role === 'user')?.['content']);
  if (body.model === 'echo') return { content: text };
  if (body.model === 'reasoning') return { reasoning_content: `The user says: ${text}`, content: text };
  if (body.model === 'json') return { content: JSON.stringify(sampleOf(schemaOf(body['response_format']))) };
  if (body.model === 'fail') return refuse(500, 'mock/fail always fails', 'mock_failure');
  if (body.model !== 'tools') return refuse(404, `The mock provider has ${mockModels.join(', ')}`, 'model_not_found');
  if (last['role'] === 'tool') return { content: `The tool says: ${textOf(last['content'])}` };
  const tools = isList(body['tools']) ? body['tools'].filter(isJson).map((tool) => tool['function']) : [];
  const named = tools.filter(isJson).find(({ name }) => typeof name === 'string' && text.includes(name));
  const tool = named ?? tools.find(isJson);
  if (tool === undefined) return { content: text };
  const given = named === undefined ? null : jsonIn(text);
  const call = { name: tool['name'], arguments: JSON.stringify(given ?? sampleOf(tool['parameters'])) };
  return { content: null, tool_calls: [{ id: `call_${body.messages.length}`, type: 'function', function: call }] };
}

/** The JSON object contained in a text, or null. */
function jsonIn(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1));
    return isJson(value) ? value : null;
  } catch {
    return null;
  }
}

/** Splits a message into stream pieces: words, and arguments cut in two. */
function deltasOf(said: Json): Json[] {
  const deltas: Json[] = [];
  for (const field of ['reasoning_content', 'content']) {
    const text = said[field];
    if (typeof text === 'string') deltas.push(...wordsOf(text).map((word) => ({ [field]: word })));
  }
  const [call] = isList(said['tool_calls']) ? said['tool_calls'] : [];
  if (!isJson(call) || !isJson(call['function'])) return deltas;
  const input = String(call['function']['arguments']);
  const middle = Math.floor(input.length / 2);
  const first = { index: 0, ...call, function: { ...call['function'], arguments: input.slice(0, middle) } };
  deltas.push({ tool_calls: [first] });
  deltas.push({ tool_calls: [{ index: 0, function: { arguments: input.slice(middle) } }] });
  return deltas;
}

const wordsOf = (text: string): string[] => text.match(/\s*\S+\s*$|\s*\S+/g) ?? (text === '' ? [] : [text]);

function streamOf(frames: readonly string[]): ReadableStream<Uint8Array> {
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      if (next < frames.length) controller.enqueue(encodeFrames(frames[next]!));
      else controller.close();
      next += 1;
    },
  });
}

/** Deterministic vectors of length 1; texts that share words are near to each other. */
function embed(body: Json): Response {
  if (body['model'] !== 'embed') return refuse(404, 'The mock provider embeds with mock/embed', 'model_not_found');
  const inputs = isList(body['input']) && typeof body['input'][0] !== 'number' ? body['input'] : [body['input']];
  const texts = inputs.map((input) => (typeof input === 'string' ? input : JSON.stringify(input)));
  const asked = body['dimensions'] ?? DIMENSIONS;
  if (!Number.isSafeInteger(asked) || (asked as number) < 1 || (asked as number) > DIMENSIONS_MAX)
    return refuse(400, `dimensions must be from 1 to ${DIMENSIONS_MAX}`, 'invalid_value');
  const data = texts.map((text, index) => {
    const vector = vectorOf(text, asked as number);
    const bytes = Buffer.from(Float32Array.from(vector).buffer);
    const embedding = body['encoding_format'] === 'base64' ? bytes.toString('base64') : vector;
    return { object: 'embedding', index, embedding };
  });
  const tokens = texts.reduce((sum, text) => sum + tokensOfLength(text.length), 0);
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  return Response.json({ object: 'list', data, model: 'mock/embed', usage });
}

function vectorOf(text: string, dimensions: number): number[] {
  const raw = Array.from({ length: dimensions }, () => 0);
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [text];
  for (const word of words.slice(0, WORDS_MAX)) {
    const digest = createHash('sha256').update(word).digest();
    for (let at = 0; at < PLACES_A_WORD; at++) {
      const place = digest.readUInt32LE(4 * at);
      raw[(place >>> 1) % dimensions]! += place % 2 === 0 ? 1 : -1;
    }
  }
  const length = Math.hypot(...raw);
  return length === 0 ? raw.with(0, 1) : raw.map((value) => value / length);
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!isList(content)) return '';
  return content.map((part) => (isJson(part) && typeof part['text'] === 'string' ? part['text'] : '')).join('');
}

function schemaOf(format: unknown): unknown {
  const schema = isJson(format) ? format['json_schema'] : null;
  return isJson(schema) ? schema['schema'] : { type: 'object' };
}

function refuse(status: number, message: string, code: string): Response {
  return Response.json({ error: { message, type: 'invalid_request_error', param: null, code } }, { status });
}
