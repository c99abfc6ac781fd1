// Requests to the REST API of a Git host, used by the drivers of this folder: limited in time and size, retried, and
// redirected within the host only. Tokens are only sent in headers and never appear in errors or logs.
import { request as requestHttp, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { Failure, isFailure } from '#core/failure.ts';
import { guardedLookup, urlProblem } from '#core/outbound/post.ts';

/** A request to the REST API. */
export interface HostRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path relative to the API's URL, with its query. */
  readonly path: string;
  /** Sent as JSON; `URLSearchParams` as a form. */
  readonly body?: unknown;
  /** Whether to retry a request that may already have arrived. By default, only reads are retried. */
  readonly repeatable?: boolean;
}

/** How a host's REST API is called. */
interface RestOptions {
  /** URL of the REST API, without a slash at its end. */
  readonly apiUrl: string;
  /** Names the host in errors, at the start of a sentence. */
  readonly who?: string;
  /** The message for responses that are not JSON. */
  readonly urlName?: string;
  /**
   * Whether the host's address may be private, and its URL plain http. Undefined if the operator's variables name the
   * host.
   */
  readonly isPrivate?: boolean;
  /** Request timeout in milliseconds, 10,000 by default. */
  readonly timeoutMs?: number;
  /** Delay before the second attempt in milliseconds, 250 by default; doubles with each attempt. */
  readonly pauseMs?: number;
}

const FORM = 'application/x-www-form-urlencoded';
const TIMEOUT_MS = 10_000;
const PAUSE_MS = 250;
const ATTEMPTS_MAX = 3;
const ANSWER_BYTES_MAX = 5_000_000;
const REDIRECTS_MAX = 3;
/** The longest wait within a call. For a longer wait, the caller has to retry. */
const RETRY_AFTER_MS_MAX = 5000;
/** The wait for a rate limit without a stated duration. */
const LIMITED_MS = 1000;
const SAID_CHARS_MAX = 200;
/** As `guardedLookup` names it. */
const FORBIDDEN = 'EGRESS_FORBIDDEN';

type Headers = Readonly<Record<string, string>>;

/**
 * Sends a request, at most three times.
 *
 * @param headers the headers, including the credentials. @returns the parsed response; null for an empty response.
 * @throws {Failure} `git_host`
 */
export async function askRest(options: RestOptions, request: HostRequest, headers: Headers): Promise<unknown> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await askOnce(options, request, headers);
    } catch (error) {
      const repeatable = request.repeatable ?? (request.method ?? 'GET') === 'GET';
      if (!isFailure(error, 'git_host') || error.reason === 'refused' || attempt === ATTEMPTS_MAX) throw error;
      if ((error.retryAfterMs ?? 0) > RETRY_AFTER_MS_MAX || (error.reason === 'unreachable' && !repeatable))
        throw error;
      const pauseMs = (options.pauseMs ?? PAUSE_MS) * 2 ** (attempt - 1);
      await new Promise((resume) => setTimeout(resume, Math.max(error.retryAfterMs ?? 0, pauseMs)));
    }
  }
}

interface Answer {
  readonly status: number;
  header(name: string): string | null;
  readonly body: AsyncIterable<Uint8Array>;
}

async function askOnce(options: RestOptions, request: HostRequest, headers: Headers): Promise<unknown> {
  const { path, body } = request;
  const { apiUrl, who = 'The Git host', urlName = 'GITHOST_API_URL', isPrivate } = options;
  const isForm = body instanceof URLSearchParams;
  let method: string = request.method ?? 'GET';
  const signal = AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS);
  let url = `${apiUrl}${path}`;
  for (let redirects = 0; ; redirects++) {
    let answer: Answer;
    let text: string;
    try {
      const sent = {
        method,
        signal,
        headers: {
          'user-agent': 'platform',
          ...headers,
          ...(body === undefined ? {} : { 'content-type': isForm ? FORM : 'application/json' }),
        },
        body: body === undefined || method === 'GET' ? null : isForm ? body.toString() : JSON.stringify(body),
      };
      answer = isPrivate === undefined ? await sendAnywhere(url, sent) : await sendGuarded(url, sent, isPrivate);
      text = await readLimited(answer, who);
    } catch (error) {
      if (isFailure(error, 'git_host')) throw error;
      throw new Failure('git_host', `${who} is not responding: ${reasonOf(error)}`, {
        reason: 'unreachable',
        status: 0,
      });
    }
    if (answer.status < 300) return parseAnswer(answer.status, text, who, urlName);
    const target = redirects < REDIRECTS_MAX ? redirectTarget(answer, url) : null;
    if (target === null) throw toError(answer, who, `${method} ${path.split('?')[0]!}`, saidIn(text, headers));
    url = target;
    if (answer.status < 307) method = 'GET';
  }
}

interface Sent {
  readonly method: string;
  readonly signal: AbortSignal;
  readonly headers: Headers;
  readonly body: string | null;
}

async function sendAnywhere(url: string, sent: Sent): Promise<Answer> {
  const response = await fetch(url, { ...sent, redirect: 'manual' });
  return {
    status: response.status,
    header: (name) => response.headers.get(name),
    body: response.body ?? new ReadableStream({ start: (controller) => controller.close() }),
  };
}

/**
 * Connects only to addresses that are checked when the name is resolved, so the name cannot lead to another address
 * later.
 */
async function sendGuarded(url: string, { body, ...sent }: Sent, isPrivate: boolean): Promise<Answer> {
  if (urlProblem(url, isPrivate) !== null) throw Object.assign(new Error('private address'), { code: FORBIDDEN });
  const lookup = guardedLookup(isPrivate);
  const open = url.startsWith('https:') ? requestHttps : requestHttp;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const length = body === null ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const request = open(url, { ...sent, headers: { ...sent.headers, ...length }, lookup, agent: false });
    request.on('response', resolve).on('error', reject);
    request.end(body ?? undefined);
  });
  return {
    status: response.statusCode!,
    header: (name) => response.headersDistinct[name]?.[0] ?? null,
    body: response,
  };
}

/** Follows the redirect of a renamed repository. Other origins are refused, since they would receive the token. */
function redirectTarget(answer: Answer, from: string): string | null {
  const location = answer.header('location');
  if (![301, 302, 307, 308].includes(answer.status) || location === null) return null;
  const target = URL.parse(location, from);
  return target !== null && target.origin === new URL(from).origin ? target.href : null;
}

async function readLimited({ status, body }: Answer, who: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > ANSWER_BYTES_MAX)
      throw new Failure('git_host', `The response of ${inside(who)} is larger than ${ANSWER_BYTES_MAX} bytes`, {
        reason: 'refused',
        status,
      });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function parseAnswer(status: number, text: string, who: string, urlName: string): unknown {
  if (text === '') return null;
  try {
    return JSON.parse(text);
  } catch {
    throw new Failure('git_host', `The response of ${inside(who)} is not JSON: is ${urlName} its REST API?`, {
      reason: 'refused',
      status,
    });
  }
}

/** Within a sentence. */
const inside = (who: string): string => who.replace(/^The /, 'the ');

/** An error for a failed response. */
function toError(answer: Answer, who: string, place: string, said: string): Failure<'git_host'> {
  const { status } = answer;
  const message = `${who} answered ${status} to ${place}${said === '' ? '' : `: ${said}`}`;
  const retryAfterMs = Number(answer.header('retry-after') ?? Number.NaN) * 1000;
  const isSpent = (answer.header('x-ratelimit-remaining') ?? answer.header('ratelimit-remaining')) === '0';
  if (status === 429 || (status === 403 && (isSpent || !Number.isNaN(retryAfterMs)))) {
    const resetAt = Number(answer.header('x-ratelimit-reset') ?? answer.header('ratelimit-reset') ?? 0);
    const resetMs = resetAt * 1000 - Date.now();
    const waitMs =
      Number.isNaN(retryAfterMs) && !isSpent ? LIMITED_MS : Math.max(retryAfterMs || 0, isSpent ? resetMs : 0);
    return new Failure('git_host', message, { reason: 'limited', status, retryAfterMs: waitMs });
  }
  return new Failure('git_host', message, { reason: status >= 500 ? 'unreachable' : 'refused', status });
}

/**
 * The message of an error response: hosts write it as `message`, `error`, `error.message` or `error_description`. The
 * message is truncated and does not contain the credential, since it may be any text.
 */
function saidIn(text: string, { authorization = '' }: Headers): string {
  let body: Readonly<Record<string, unknown>> | null;
  try {
    body = JSON.parse(text) as typeof body;
  } catch {
    return '';
  }
  const { message, error, error_description: described } = body ?? {};
  const inner = (error as { message?: unknown } | null | undefined)?.message;
  const found = [message, described, error, inner].find((each) => typeof each === 'string') as string | undefined;
  const said = found ?? (message === undefined ? '' : JSON.stringify(message));
  const credential = authorization.split(' ').at(-1)!;
  const shown = credential === '' ? said : said.replaceAll(credential, '...');
  return shown.replace(/\p{Cc}/gu, ' ').slice(0, SAID_CHARS_MAX);
}

function reasonOf(error: unknown): string {
  const { name, message, code, cause } = error as Error & { code?: unknown; cause?: { code?: unknown } };
  if (name === 'TimeoutError' || code === 'ABORT_ERR') return 'it took too long';
  if (code === FORBIDDEN)
    return 'its address is not public; the operator allows such hosts with GIT_REMOTE_PRIVATE_HOSTS';
  if (typeof cause?.code === 'string') return cause.code;
  return typeof code === 'string' ? code : message;
}
