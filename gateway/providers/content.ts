// Parses the content of chat-completions messages, for providers with another format. Pure.
import { isJson, isList, type Json } from '../contract/chat.ts';
import { wrong } from '../contract/request-body.ts';

/** A part of a message's content; `source` may have provider-specific fields. */
export type Part =
  | { readonly kind: 'text'; readonly text: string; readonly source: Json }
  /** An image, audio or file embedded in the request. */
  | { readonly kind: 'data'; readonly mediaType: string; readonly base64: string; readonly source: Json }
  | { readonly kind: 'link'; readonly url: string; readonly source: Json }
  /** An unknown part: provider-specific, passed on unchanged. */
  | { readonly kind: 'own'; readonly source: Json };

/** A tool call of an assistant. */
interface ToolCall {
  readonly id: string;
  readonly name: string;
  /**
   * The arguments as an object. Arguments that are not a JSON object are wrapped in an object, so that the model sees
   * the text that it wrote.
   */
  readonly input: Json;
  readonly source: Json;
}

/** The parts of a content validated by request-body.ts; empty texts are skipped. */
export function partsOf(content: unknown, at: string): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ kind: 'text', text: content, source: {} }];
  if (!isList(content)) return [];
  return content
    .filter(isJson)
    .map((part, index) => partOf(part, `${at}[${index}]`))
    .filter((part) => part.kind !== 'text' || part.text !== '');
}

function partOf(source: Json, at: string): Part {
  const { type } = source;
  if (type === 'text' || type === 'refusal') {
    const text = source[type];
    if (typeof text !== 'string') throw wrong(`${at}.${type}`, 'a text');
    return { kind: 'text', text, source };
  }
  if (type === 'image_url' || type === 'video_url') {
    const given = source[type];
    const url = isJson(given) ? given['url'] : given;
    if (typeof url !== 'string') throw wrong(`${at}.${type}.url`, 'a URL');
    if (!url.startsWith('data:')) return linkOf(url, source, `${at}.${type}.url`);
    return dataOf(url, source, `${at}.${type}.url`);
  }
  if (type === 'file') {
    const { file_data: data } = isJson(source['file']) ? source['file'] : {};
    if (typeof data !== 'string') throw wrong(`${at}.file.file_data`, 'a data: URL: files by id are not known here');
    return dataOf(data, source, `${at}.file.file_data`);
  }
  if (type === 'input_audio') {
    const { data, format } = isJson(source['input_audio']) ? source['input_audio'] : {};
    if (typeof data !== 'string' || typeof format !== 'string')
      throw wrong(`${at}.input_audio`, 'an object with data and format');
    return { kind: 'data', mediaType: `audio/${format}`, base64: data, source };
  }
  return { kind: 'own', source };
}

function linkOf(url: string, source: Json, at: string): Part {
  if (URL.parse(url)?.protocol !== 'https:') throw wrong(at, 'a data: or an https: URL');
  return { kind: 'link', url, source };
}

function dataOf(url: string, source: Json, at: string): Part {
  const comma = url.indexOf(',');
  const [mediaType = '', ...parameters] = url.slice('data:'.length, comma).split(';');
  if (comma === -1 || !url.startsWith('data:') || parameters.at(-1) !== 'base64' || !mediaType.includes('/'))
    throw wrong(at, 'a data: URL with a media type and base64');
  return { kind: 'data', mediaType, base64: url.slice(comma + 1), source };
}

/** All texts of a content, concatenated. */
export function textOf(content: unknown, at: string): string {
  return partsOf(content, at)
    .map((part) => (part.kind === 'text' ? part.text : ''))
    .join('');
}

/** The tool calls of an assistant message. @throws {GatewayError} 400 */
export function toolCallsOf(message: Json, at: string): ToolCall[] {
  const calls = message['tool_calls'];
  if (!isList(calls)) return [];
  return calls.filter(isJson).map((source, index) => {
    const called = isJson(source['function']) ? source['function'] : {};
    const { name, arguments: input } = called;
    if (typeof source['id'] !== 'string') throw wrong(`${at}.tool_calls[${index}].id`, 'a text');
    if (typeof name !== 'string') throw wrong(`${at}.tool_calls[${index}].function.name`, 'a text');
    return { id: source['id'], name, input: inputOf(input), source };
  });
}

function inputOf(text: unknown): Json {
  if (text === '' || text === undefined || text === null) return {};
  try {
    const value = JSON.parse(String(text)) as unknown;
    if (isJson(value)) return value;
  } catch {
    // The model may have written invalid JSON, which the result of the tool call tells the model.
  }
  return { arguments: text };
}

/** A tool of the chat-completions API; null means a provider-specific tool. */
interface FunctionTool {
  readonly name: string;
  readonly description: string | null;
  readonly parameters: Json | null;
  readonly isStrict: boolean;
}

/** @throws {GatewayError} 400 */
export function functionToolOf(tool: Json, at: string): FunctionTool | null {
  if (tool['type'] !== 'function') return null;
  const { name, description, parameters, strict } = isJson(tool['function']) ? tool['function'] : {};
  if (typeof name !== 'string') throw wrong(`${at}.function.name`, 'a text');
  return {
    name,
    description: typeof description === 'string' ? description : null,
    parameters: isJson(parameters) ? parameters : null,
    isStrict: strict === true,
  };
}

/** The tools that the response may or must call. */
type ToolChoice = { readonly kind: 'auto' | 'none' | 'required' } | { readonly kind: 'one'; readonly name: string };

/** Null: not set. @throws {GatewayError} 400 */
export function toolChoiceOf(choice: unknown): ToolChoice | null {
  if (choice === undefined || choice === null) return null;
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { kind: choice };
  const named = isJson(choice) && isJson(choice['function']) ? choice['function']['name'] : null;
  if (typeof named === 'string') return { kind: 'one', name: named };
  throw wrong('tool_choice', '"auto", "none", "required" or a function by its name');
}

/** The requested response format. */
type AnswerForm = 'text' | 'json' | { readonly schema: Json };

/** @throws {GatewayError} 400 */
export function answerFormOf(format: unknown): AnswerForm {
  if (!isJson(format) || format['type'] === 'text') return 'text';
  if (format['type'] === 'json_object') return 'json';
  const { schema } = isJson(format['json_schema']) ? format['json_schema'] : {};
  if (format['type'] === 'json_schema' && isJson(schema)) return { schema };
  throw wrong('response_format', 'of the type text, json_object or json_schema, the latter with a schema');
}

/** The stop sequences of a request. */
export const stopsOf = (stop: unknown): readonly string[] | undefined => {
  if (typeof stop === 'string') return [stop];
  return isList(stop) ? stop.map(String) : undefined;
};
