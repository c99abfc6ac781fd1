// Converts a handler's result to a Response: validates it against the schema of its status, and removes undeclared
// members.
import { AnswerSettings, HandlerContext, Reply } from './request-context.ts';
import { isThenable, prepareSchema, isStandard, type Checked, type Checker } from './schema.ts';
import type { BodyLike, HeadersLike } from './web-types.ts';

/** The response schemas of a route. */
export interface Answers {
  /** Schemas by status; null if no body is allowed. */
  readonly byStatus: ReadonlyMap<number, Checker | null>;
  /** The schema for statuses without a schema of their own. */
  readonly others: Checker | null;
  /** Whether the option is a single schema, which applies to every 2xx response; other responses are not checked. */
  readonly single: boolean;
  /** Status of a value that is returned directly. */
  readonly status: number;
}

/** Resolves the option `response`. */
export function prepareAnswers(response: object): Answers {
  if (!isStatusMap(response)) {
    const checker = prepareSchema(response);
    return { byStatus: new Map(), others: checker, single: true, status: 200 };
  }
  const entries = Object.entries(response) as [string, object | null][];
  const byStatus = new Map(
    entries
      .filter(([key]) => key !== 'default')
      .map(([key, schema]) => [Number(key), schema === null ? null : prepareSchema(schema)] as const),
  );
  const others = entries.find(([key]) => key === 'default')?.[1];
  const success = [...byStatus.keys()].filter((status) => status >= 200 && status < 300).sort((a, b) => a - b);
  return { byStatus, others: others == null ? null : prepareSchema(others), single: false, status: success[0] ?? 200 };
}

function isStatusMap(response: object): boolean {
  const keys = isStandard(response) ? [] : Object.keys(response);
  return keys.length > 0 && keys.every((key) => key === 'default' || /^[2-5]\d\d$/.test(key));
}

/**
 * The schema of a status: undefined if anything is allowed, null if there must be no body. @throws AnswerError for an
 * undeclared status.
 */
function checkerOf(answers: Answers, status: number): Checker | null | undefined {
  const own = answers.byStatus.get(status);
  if (own !== undefined) return own;
  if (answers.single) return status < 300 ? answers.others! : undefined;
  if (answers.others !== null) return answers.others;
  throw new AnswerError(`the status ${status} is not declared`);
}

/** The route's own response does not match its schema: a fault of the worker, which is only logged. */
export class AnswerError extends Error {
  override readonly name = 'AnswerError';
}

/** Converts a handler's result to a Response. The conversion is synchronous if the schema is. @throws AnswerError */
export function toResponse(
  result: unknown,
  ctx: HandlerContext,
  answers: Answers | null,
): Response | Promise<Response> {
  const settings = HandlerContext.settingsOf(ctx);
  const made = result instanceof Response ? fromResponse(result, answers) : fromValue(result, settings, answers);
  const headers = settings === null ? null : AnswerSettings.headersOf(settings);
  if (headers === null) return made;
  return isThenable(made)
    ? (made as Promise<Response>).then((response) => withHeaders(response, headers))
    : withHeaders(made as Response, headers);
}

/** A Response with more headers. A response from `fetch` is copied, since its headers are immutable. */
function withHeaders(response: Response, headers: Headers): Response {
  const target = mutable(response);
  const cookies = headers.getSetCookie();
  for (const [name, value] of headers) if (name !== 'set-cookie') target.headers.set(name, value);
  for (const cookie of cookies) target.headers.append('set-cookie', cookie);
  return target;
}

/** The Response, or a copy with mutable headers. */
export function mutable(response: Response): Response {
  try {
    response.headers.delete('x-no-such-header');
    return response;
  } catch {
    return new Response(response.body, response);
  }
}

function fromResponse(response: Response, answers: Answers | null): Response | Promise<Response> {
  if (answers === null || response.body === null) return response;
  const type = response.headers.get('content-type') ?? '';
  if (!/^application\/(?:[\w.-]+\+)?json\b/i.test(type)) return response;
  const checker = checkerOf(answers, response.status);
  if (checker === undefined) return response;
  return (async () => {
    let value: unknown;
    try {
      value = await response.json();
    } catch {
      throw new AnswerError('the Response is declared as JSON, but is not');
    }
    const checked = await checkAnswer(checker, value);
    const headers = new Headers(response.headers);
    headers.delete('content-length');
    headers.delete('etag');
    return new Response(JSON.stringify(checked), { status: response.status, headers });
  })();
}

function fromValue(
  result: unknown,
  settings: AnswerSettings | null,
  answers: Answers | null,
): Response | Promise<Response> {
  const isReply = result instanceof Reply;
  const value = isReply ? result.body : result;
  const status = isReply ? result.status : (settings?.status ?? (answers === null ? 200 : answers.status));
  const headers = isReply ? result.headers : undefined;
  if (answers === null) return isReply || isJson(value) ? sendJson(value, status, headers) : sendPlain(value, status);
  if (value === undefined && (status === 204 || status === 205 || status === 304))
    return sendJson(undefined, status, headers);
  if (!isReply && isStream(value)) return sendPlain(value, status);
  const checker = checkerOf(answers, status);
  if (checker === undefined) return sendJson(value, status, headers);
  const checked = checkAnswer(checker, value);
  if (isThenable(checked)) return (checked as Promise<unknown>).then((made) => sendJson(made, status, headers));
  return sendJson(checked, status, headers);
}

function checkAnswer(checker: Checker | null, value: unknown): unknown {
  if (checker === null) {
    if (value === undefined || value === null) return undefined;
    throw new AnswerError('a body is returned, but none is declared');
  }
  const checked = checker.checkAnswer(value);
  return isThenable(checked) ? (checked as Promise<Checked>).then(valueOf) : valueOf(checked as Checked);
}

function valueOf(checked: Checked): unknown {
  if (checked.issues === undefined) return checked.value;
  throw new AnswerError(
    checked.issues.map(({ path, message }) => `${path.join('.') || 'the value'}: ${message}`).join('; '),
  );
}

function isStream(value: unknown): boolean {
  return (
    value instanceof ReadableStream ||
    value instanceof Blob ||
    value instanceof FormData ||
    value instanceof ArrayBuffer ||
    ArrayBuffer.isView(value)
  );
}

function isJson(value: unknown): boolean {
  if (typeof value !== 'object') return typeof value === 'number' || typeof value === 'boolean';
  if (value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return (
    prototype === Object.prototype ||
    prototype === Array.prototype ||
    prototype === null ||
    !(isStream(value) || value instanceof URLSearchParams)
  );
}

function sendJson(value: unknown, status: number, headers: HeadersLike | undefined): Response {
  if (value === undefined || status === 204 || status === 205 || status === 304) {
    const empty = value === undefined && status === 200 ? 204 : status;
    return new Response(null, headers === undefined ? { status: empty } : { status: empty, headers });
  }
  if (status === 200 && headers === undefined) return Response.json(value);
  return Response.json(value, headers === undefined ? { status } : { status, headers });
}

/** Without a schema: text, bytes and streams are unchanged, and undefined becomes 204. */
function sendPlain(value: unknown, status: number): Response {
  if (value === undefined || value === null) return new Response(null, { status: status === 200 ? 204 : status });
  if (typeof value === 'string') return new Response(value, { status });
  if (typeof value === 'bigint' || typeof value === 'function' || typeof value === 'symbol')
    throw new AnswerError(`a handler returned a ${typeof value}`);
  const init: ResponseInit =
    value instanceof ReadableStream || value instanceof ArrayBuffer || ArrayBuffer.isView(value)
      ? { status, headers: { 'content-type': 'application/octet-stream' } }
      : { status };
  return new Response(value as BodyLike, init);
}
