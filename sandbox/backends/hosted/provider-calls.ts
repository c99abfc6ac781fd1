// HTTPS requests to a provider's API: JSON, limited in size and time, and retried if the provider's status allows it.
// Used by provider-api.ts with the service's key, and by scoped-key.ts with an admin key. A key is only sent in the
// header of these requests.
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { Failure } from '#core/failure.ts';
import { parseInteger } from '#core/parse-integer.ts';

/** Endpoint, credentials and timeouts. */
interface ProviderCallsDeps {
  /** `HOSTED_BASE_URL`, without a trailing slash. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Name of the key's variable, for messages. */
  readonly keyName: string;
  /** Additional certificate authorities, for tests. */
  readonly certificateAuthority?: string;
  /** Timeout of a request and of each chunk of its response. */
  readonly answerMs: number;
  readonly attempts?: number;
  /** Delay before the second attempt; doubles with each. */
  readonly retryMs?: number;
}

/** Dependencies of the requests. */
type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The API of a provider. */
export interface ProviderCalls {
  /** Returns the response. @throws {Failure} `sandbox_provider` */
  call(method: Method, target: string, body?: Readonly<Record<string, unknown>> | Uint8Array): Promise<unknown>;
  /** The error message of a response. */
  explain(status: number, body: unknown): string;
  readonly authorization: string;
  close(): Promise<void>;
}

/** Statuses that are retried. */
const LATER = new Set([429, 503]);
const ATTEMPTS = 4;
const RETRY_MS = 250;
const RETRY_MS_MAX = 10_000;
const ANSWER_BYTES_MAX = 1024 * 1024;

export function openProviderCalls(deps: ProviderCallsDeps): ProviderCalls {
  const { baseUrl, apiKey, keyName, certificateAuthority: ca, answerMs } = deps;
  const { attempts = ATTEMPTS, retryMs = RETRY_MS } = deps;
  const dispatcher = new Agent({
    connect: { ...(ca === undefined ? {} : { ca }), timeout: answerMs },
    headersTimeout: answerMs,
    bodyTimeout: answerMs,
  });
  const headers = { authorization: `Bearer ${apiKey}`, accept: 'application/json' };

  async function call(
    method: Method,
    target: string,
    body?: Readonly<Record<string, unknown>> | Uint8Array,
  ): Promise<unknown> {
    for (let attempt = 1; ; attempt++) {
      const answer = await once(method, target, body);
      if (answer.status < 300) return answer.body;
      if (LATER.has(answer.status) && attempt < attempts) {
        await delay(answer.retryAfterMs ?? Math.min(retryMs * 2 ** (attempt - 1), RETRY_MS_MAX));
        continue;
      }
      throw new Failure('sandbox_provider', explain(answer.status, answer.body), { status: answer.status });
    }
  }

  async function once(
    method: Method,
    target: string,
    body: Readonly<Record<string, unknown>> | Uint8Array | undefined,
  ): Promise<{ readonly status: number; readonly body: unknown; readonly retryAfterMs: number | null }> {
    const isBytes = body instanceof Uint8Array;
    let status: number;
    let text = '';
    let retryAfterMs: number | null;
    try {
      const answer = await request(`${baseUrl}${target}`, {
        method,
        dispatcher,
        headers: {
          ...headers,
          ...(body === undefined ? {} : { 'content-type': isBytes ? 'application/octet-stream' : 'application/json' }),
        },
        ...(body === undefined ? {} : { body: isBytes ? body : JSON.stringify(body) }),
      });
      status = answer.statusCode;
      retryAfterMs = retryAfter(answer.headers['retry-after']);
      let bytes = 0;
      for await (const chunk of answer.body as AsyncIterable<Buffer>) {
        if ((bytes += chunk.length) > ANSWER_BYTES_MAX) throw new Error(`its answer is over ${ANSWER_BYTES_MAX} bytes`);
        text += chunk.toString('latin1');
      }
    } catch (error) {
      throw new Failure('sandbox_provider', `the provider does not answer (${reasonOf(error)})`, { status: 0 });
    }
    if (text === '') return { status, body: null, retryAfterMs };
    try {
      return { status, body: JSON.parse(Buffer.from(text, 'latin1').toString()) as unknown, retryAfterMs };
    } catch {
      if (status >= 300) return { status, body: null, retryAfterMs };
      throw new Failure('sandbox_provider', `the provider's answer to ${method} ${pathOf(target)} is no JSON`, {
        status: 0,
      });
    }
  }

  function explain(status: number, said: unknown): string {
    if (status === 401) return `the provider does not know ${keyName}: it may have expired`;
    if (status === 403) return `the provider forbids it to ${keyName}: see its actions in docs/sandbox-provider.md`;
    if (status === 429) return 'the provider has had too many requests';
    const message = (said as { error?: { message?: unknown } } | null)?.error?.message;
    return `the provider answered ${status}${typeof message === 'string' ? ` (${message.slice(0, 200)})` : ''}`;
  }

  return { call, explain, authorization: headers.authorization, close: () => dispatcher.close() };
}

export function record(value: unknown, target: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw unreadable(target);
  return value as Readonly<Record<string, unknown>>;
}

export function text(value: unknown, target: string): string {
  if (typeof value !== 'string' || value === '') throw unreadable(target);
  return value;
}

export function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : [];
}

export function unreadable(target: string): Failure<'sandbox_provider'> {
  return new Failure('sandbox_provider', `the provider's answer to ${pathOf(target)} is not what its API promises`, {
    status: 0,
  });
}

/** The URL without the query, which may contain sandbox paths. */
function pathOf(target: string): string {
  return target.split('?', 1)[0]!;
}

/** Seconds; other formats are ignored. */
function retryAfter(value: string | string[] | undefined): number | null {
  if (typeof value !== 'string' || !/^\d{1,6}$/.test(value)) return null;
  return Math.min(parseInteger('retry-after', value, { least: 0 }) * 1000, RETRY_MS_MAX);
}

export function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: string; message: string };
  return code ?? message;
}
