// Reads and validates the body of a call, limited in size.
import { isJson, isList, type ChatRequest, type Json } from './chat.ts';
import { GatewayError } from './errors.ts';

const NAME_CHARACTERS_MAX = 256;
/** Maximum answers per call. */
export const CHOICES_MAX = 128;
const roles = new Set<unknown>(['system', 'developer', 'user', 'assistant', 'tool', 'function']);

/** @throws {GatewayError} 400, 413 */
export async function readJson(request: Request, bytesMax: number): Promise<Json> {
  const text = await readText(request, bytesMax);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new GatewayError('invalid_request', 'The body is not JSON');
  }
  if (!isJson(value)) throw new GatewayError('invalid_request', 'The body must be a JSON object');
  return value;
}

async function readText(request: Request, bytesMax: number): Promise<string> {
  const told = request.headers.get('content-length');
  const length = Number(told ?? Number.NaN);
  if (length > bytesMax) throw tooLarge(bytesMax);
  // The server enforces the declared length and provides the body without a web stream.
  if (length <= bytesMax) return request.text();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength;
    if (size > bytesMax) throw tooLarge(bytesMax);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function tooLarge(bytesMax: number): GatewayError {
  return new GatewayError('request_too_large', `The body is larger than ${bytesMax} bytes`);
}

/** @throws {GatewayError} 400 */
export function wrong(param: string, must: string): GatewayError {
  return new GatewayError('invalid_request', `${param} must be ${must}`, { param });
}

/** @throws {GatewayError} 400 */
export function readModel(body: Json): string {
  const { model } = body;
  if (model === undefined) throw missing('model');
  if (typeof model !== 'string' || model === '' || model.length > NAME_CHARACTERS_MAX)
    throw wrong('model', `the name of a model, of at most ${NAME_CHARACTERS_MAX} characters`);
  return model;
}

export function missing(param: string): GatewayError {
  return new GatewayError('missing_required_parameter', `${param} is missing`, { param });
}

type Check = (value: unknown) => boolean;
const numberFrom =
  (least: number, most: number): Check =>
  (value) =>
    typeof value === 'number' && value >= least && value <= most;
const wholeFrom =
  (least: number, most: number): Check =>
  (value) =>
    Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
const listOf =
  (check: Check): Check =>
  (value) =>
    isList(value) && value.every(check);
const isText: Check = (value) => typeof value === 'string';

/**
 * The known fields and their checks; a field that is null counts as absent. Other fields are passed to the provider.
 */
const fields: Readonly<Record<string, readonly [check: Check, must: string]>> = {
  temperature: [numberFrom(0, 2), 'a number from 0 to 2'],
  top_p: [numberFrom(0, 1), 'a number from 0 to 1'],
  max_tokens: [wholeFrom(1, 1e9), 'a whole number of at least 1'],
  max_completion_tokens: [wholeFrom(1, 1e9), 'a whole number of at least 1'],
  n: [wholeFrom(1, CHOICES_MAX), `a whole number from 1 to ${CHOICES_MAX}`],
  stream: [(value) => typeof value === 'boolean', 'true or false'],
  stream_options: [isJson, 'an object'],
  stop: [(value) => isText(value) || listOf(isText)(value), 'a text or a list of texts'],
  tools: [listOf(isJson), 'a list of objects'],
  response_format: [isJson, 'an object'],
  models: [listOf(isText), 'a list of names of models'],
};

/** @throws {GatewayError} 400 */
export function readChat(body: Json): ChatRequest {
  readModel(body);
  for (const [name, [check, must]] of Object.entries(fields)) {
    const value = body[name];
    if (value !== undefined && value !== null && !check(value)) throw wrong(name, must);
  }
  const { messages } = body;
  if (messages === undefined) throw missing('messages');
  if (!isList(messages) || messages.length === 0) throw wrong('messages', 'a list of at least one message');
  for (const [index, message] of messages.entries()) checkMessage(message, `messages[${index}]`);
  return body as ChatRequest;
}

function checkMessage(message: unknown, at: string): void {
  if (!isJson(message)) throw wrong(at, 'an object');
  if (!roles.has(message['role'])) throw wrong(`${at}.role`, `one of ${[...roles].join(', ')}`);
  const { content } = message;
  // An assistant message with only tool calls has no content.
  const isSilent = (content === undefined || content === null) && message['role'] === 'assistant';
  if (!isSilent && typeof content !== 'string' && !listOf(isJson)(content))
    throw wrong(`${at}.content`, 'a text or a list of parts');
  if (message['tool_calls'] !== undefined && message['tool_calls'] !== null && !listOf(isJson)(message['tool_calls']))
    throw wrong(`${at}.tool_calls`, 'a list of objects');
}
