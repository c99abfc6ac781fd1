// API calls by path: JSON, pagination, raw responses. Responses are size-limited and sanitized: the URL may be wrong,
// and an untrusted server must not control the terminal or exhaust memory.
import { apiFailure, type Api } from '../account/api.ts';
import { CliError } from '../terminal/failure.ts';
import { plain } from '../terminal/plain.ts';
import { continued } from '../terminal/printed.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Query and body of a call. */
interface Sent {
  readonly query?: Query;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Raw body, instead of `body`. */
  readonly bytes?: Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Maximum size of a response. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;
const PAGES_MAX = 1000;

/**
 * Calls the API and returns the response body.
 *
 * @throws {CliError} with the API's message, code and request ID, or if the response is not from a platform API.
 * @example const { items } = await ask<Page<Project>>(api, 'GET', '/projects', { query: { search: 'shop' } });
 */
export async function ask<Answer>(api: Api, method: Method, path: string, sent: Sent = {}): Promise<Answer> {
  const response = await open(api, method, path, sent);
  if (response.status === 204) return undefined as Answer;
  return (await jsonOf(api, response)) as Answer;
}

/** A response whose body the caller reads. @throws {CliError} for an error status. */
export async function open(api: Api, method: Method, path: string, sent: Sent = {}): Promise<Response> {
  const { query, body, bytes, headers, signal } = sent;
  const init: RequestInit = { method, headers: { accept: 'application/json', ...headers } };
  if (signal !== undefined) init.signal = signal;
  if (bytes !== undefined) init.body = bytes;
  else if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { ...init.headers, 'content-type': 'application/json' };
  }
  const response = await api.fetch(withQuery(path, query), init);
  if (response.ok) return response;
  throw await failureOf(api, response);
}

/** The error of a response. */
export async function failureOf(api: Api, response: Response): Promise<CliError> {
  const text = await textOf(api, response);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return notAnApi(api, `status ${response.status} without JSON`);
  }
  return apiFailure(response, cleaned(body));
}

/** Iterates over a paginated list. */
async function* pagesOf<Item>(api: Api, path: string, query: Query = {}, most = Infinity): AsyncGenerator<Item> {
  let cursor: string | null | undefined;
  let count = 0;
  for (let page = 0; page < PAGES_MAX; page++) {
    const answer = await ask<Page<Item>>(api, 'GET', path, { query: { ...query, cursor } });
    for (const item of itemsOf(api, answer)) {
      if (++count > most) return;
      yield item;
    }
    cursor = answer.nextCursor;
    if (cursor === null || cursor === undefined || count >= most) return;
  }
}

/** All entries of a list. */
export async function allOf<Item>(api: Api, path: string, query: Query = {}, most = Infinity): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of pagesOf<Item>(api, path, query, most)) items.push(item);
  return items;
}

/** A page of a list. */
interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor?: string | null;
}

function itemsOf<Item>(api: Api, answer: Page<Item>): readonly Item[] {
  if (typeof answer === 'object' && answer !== null && Array.isArray(answer.items)) return answer.items;
  throw notAnApi(api, 'a list without items');
}

/** The body of a response as JSON, with control characters removed from its texts. */
async function jsonOf(api: Api, response: Response): Promise<unknown> {
  const text = await textOf(api, response);
  try {
    return cleaned(JSON.parse(text) as unknown);
  } catch {
    throw notAnApi(api, `no JSON, but ${plain(text.slice(0, 60)).replace(/\s+/g, ' ') || 'nothing'}`);
  }
}

/** The body of a response as text. @throws {CliError} if the body is too large. */
export async function textOf(api: Api, response: Response, bytesMax = ANSWER_BYTES_MAX): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const part of response.body ?? []) {
      bytes += part.byteLength;
      if (bytes > bytesMax) throw notAnApi(api, `more than ${bytesMax} bytes`);
      parts.push(part);
    }
  } catch (error) {
    if (error instanceof CliError || response.bodyUsed === false) throw error;
    throw new CliError(`The response of ${api.origin} was interrupted: ${(error as Error).message}`, {
      advice: 'Try again.',
    });
  }
  return Buffer.concat(parts).toString('utf8');
}

/** Sanitizes texts for the terminal; file contents are not read as JSON. */
function cleaned(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const { message } = value as { message?: unknown };
  return typeof message === 'string' ? { ...value, message: continued(plain(message)) } : value;
}

function notAnApi({ origin }: Api, found: string): CliError {
  return new CliError(`${origin} is not a platform API: ${found}`, {
    advice: 'Check the URL: --api, PLATFORM_API_URL, or the URL that `platform link` stored.',
  });
}

/** @example withQuery('/deployments', { branch: 'main', cursor: null }) // '/deployments?branch=main' */
export function withQuery(path: string, query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== '');
  if (given.length === 0) return path;
  const text = new URLSearchParams(given.map(([key, value]): [string, string] => [key, String(value)])).toString();
  return `${path}${path.includes('?') ? '&' : '?'}${text}`;
}
