// The guest half of the AI binding: converts the inputs of `run` to a request to the gateway, and reads its response.
// lazy.ts loads this module when it is first used.
import type { LazyDeps } from '../lazy.ts';

type Fields = Readonly<Record<string, unknown>>;

interface RunOptions {
  readonly signal?: unknown;
  readonly timeoutMs?: number;
  readonly fallbacks?: readonly string[];
  readonly cacheTtl?: number;
  readonly skipCache?: boolean;
  readonly metadata?: Fields;
  readonly extraHeaders?: Readonly<Record<string, string>>;
  readonly returnRawResponse?: boolean;
}

/** An error as the gateway reports it. */
interface Refusal {
  readonly message?: unknown;
  readonly type?: unknown;
  readonly code?: unknown;
  readonly param?: unknown;
}

/** Error of the gateway. */
class AiError extends Error {
  readonly status: number;
  readonly code: string | null;
  readonly type: string | null;
  /** The input field that caused the error. */
  readonly param: string | null;
  /** Id of the call, for the operator. */
  readonly requestId: string | null;

  constructor(status: number, { message, type, code, param }: Refusal, requestId: string | null) {
    super(typeof message === 'string' ? message : `The AI gateway answered ${status}`);
    this.status = status;
    this.code = textOf(code);
    this.type = textOf(type);
    this.param = textOf(param);
    this.requestId = requestId;
  }
}
Object.defineProperty(AiError.prototype, 'name', { value: 'AiError', configurable: true, writable: true });

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

export default function createAi({ createFetcher, currentInvocation, toOptions }: LazyDeps): {
  create(name: string): object;
} {
  type Answer = Awaited<ReturnType<ReturnType<typeof createFetcher>['fetch']>>;

  async function ask(path: string, model: string, init: Fields): Promise<Answer> {
    try {
      return await createFetcher('ai.fetch', { model }).fetch(`http://gateway${path}`, init);
    } catch (error) {
      if ((error as { code?: unknown } | null)?.code !== 'fetch_failed') throw error;
      const message = 'The AI gateway cannot be reached';
      throw new AiError(502, { message, type: 'server_error', code: 'upstream_error' }, null);
    }
  }

  async function refusalOf(response: Answer): Promise<AiError> {
    const text = await response.text();
    let refusal: Refusal = {};
    try {
      refusal = (JSON.parse(text) as { error?: Refusal }).error ?? {};
    } catch {
      // The response does not come from the gateway, but from something on the way to it, so only the status is known.
    }
    return new AiError(response.status, refusal, response.headers.get('x-request-id'));
  }

  async function run(model: unknown, inputs: unknown, given?: RunOptions | null): Promise<unknown> {
    if (typeof model !== 'string' || model === '') throw new TypeError('run needs the name of a model, such as "auto"');
    if (inputs === null || typeof inputs !== 'object')
      throw new TypeError('run needs inputs: {prompt}, {messages} or {input}');
    const options = toOptions('The options of run', given);
    const { path, body } = requestOf(model, inputs as Fields, options.metadata);
    const response = await ask(path, model, {
      method: 'POST',
      headers: { ...options.extraHeaders, 'content-type': 'application/json', ...headersOf(options) },
      body: JSON.stringify(body),
      // Aborts the call, so that output which is no longer read costs nothing.
      signal: options.signal === undefined ? (currentInvocation()?.signal() ?? null) : options.signal,
    });
    if (options.returnRawResponse === true) return response;
    if (!response.ok) throw await refusalOf(response);
    if (body['stream'] === true) return response.body;
    const answer = (await response.json()) as Fields;
    return 'text' in (inputs as Fields) ? vectorsOf(answer) : answer;
  }

  async function models(): Promise<unknown> {
    const response = await ask('/models', '', {});
    if (!response.ok) throw await refusalOf(response);
    return ((await response.json()) as { data: unknown }).data;
  }

  return { create: () => ({ run, models }) };
}

/** Returns the gateway's path and the body for a model and its inputs. */
function requestOf(
  model: string,
  inputs: Fields,
  metadata: Fields | undefined,
): { readonly path: string; readonly body: Fields } {
  const { prompt, text, ...rest } = inputs;
  const said = metadata === undefined ? {} : { metadata: { ...textsOf(metadata), ...(rest['metadata'] as object) } };
  const body = { ...rest, ...said, model };
  if (text !== undefined) return { path: '/embeddings', body: { ...body, input: text } };
  if (rest['input'] !== undefined) return { path: '/embeddings', body };
  if (prompt === undefined) return { path: '/chat/completions', body };
  if (typeof prompt !== 'string') throw new TypeError('The prompt must be a string');
  if (rest['messages'] !== undefined)
    throw new TypeError('The inputs have both a prompt and messages: pass one of them');
  return { path: '/chat/completions', body: { ...body, messages: [{ role: 'user', content: prompt }] } };
}

/** The gateway accepts only texts as values of metadata. */
function textsOf(metadata: Fields): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(metadata)) texts[name] = String(value);
  return texts;
}

function headersOf(options: RunOptions): Record<string, string> {
  const { timeoutMs, fallbacks, cacheTtl, skipCache } = options;
  return {
    ...(timeoutMs === undefined ? {} : { 'x-platform-timeout-ms': String(timeoutMs) }),
    ...(fallbacks === undefined ? {} : { 'x-platform-fallbacks': fallbacks.join(',') }),
    ...(skipCache === true
      ? { 'x-platform-cache-ttl': '0' }
      : cacheTtl === undefined
        ? {}
        : { 'x-platform-cache-ttl': String(cacheTtl) }),
  };
}

/** For `{text}`, the result has only vectors, as libraries for Workers AI expect. */
function vectorsOf(answer: Fields): object {
  const data = (answer['data'] as readonly { readonly embedding: readonly number[] }[]).map(
    ({ embedding }) => embedding,
  );
  return { shape: [data.length, data[0]?.length ?? 0], data };
}
