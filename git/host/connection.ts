// Client for the Git host's REST API, using node:crypto and fetch. It authenticates as the application (a signed
// token), as an installation (a token for one repository with minimal permissions), or as a person. Every response is
// limited in time and size. Tokens are only sent in headers and never appear in errors or logs.
import { createPrivateKey, sign, type KeyObject } from 'node:crypto';
import { Failure, isFailure } from '#core/failure.ts';

/** A Git host, and the platform's application there. */
interface GitHostOptions {
  /** URL of the REST API, `GITHOST_API_URL`: `https://api.github.com`. */
  readonly apiUrl: string;
  /** URL of its pages and clones, `GITHOST_URL`: `https://github.com`. */
  readonly url: string;
  /** `GITHOST_APP_ID`. */
  readonly appId: string;
  /** `GITHOST_APP_PRIVATE_KEY` in PEM; `\n` may replace line breaks. */
  readonly privateKey: string;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** Request timeout in milliseconds, 10,000 by default. */
  readonly timeoutMs?: number;
  /** Delay before the second attempt in milliseconds, 250 by default; doubles with each attempt. */
  readonly pauseMs?: number;
}

/** Permissions of an installation token: `{contents: 'read'}`. */
export type Permissions = Readonly<Record<string, 'read' | 'write' | 'admin'>>;

/** A request to the REST API. */
interface HostRequest {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path relative to the API's URL, with its query. */
  readonly path: string;
  readonly body?: unknown;
  /** Whether to retry a request that may already have arrived. By default, only reads are retried. */
  readonly repeatable?: boolean;
}

/** A Git host client. */
export interface GitHost {
  readonly apiUrl: string;
  readonly url: string;
  /** Sends a request as the application. */
  asApp(request: HostRequest): Promise<unknown>;
  /** Sends a request as an installation, with a token for one repository (by the host's id). */
  asInstallation(scope: InstallationScope, request: HostRequest): Promise<unknown>;
  /** Sends a request as the owner of a token. */
  asPerson(token: string, request: HostRequest): Promise<unknown>;
  /** A token of an installation for one repository; reused until five minutes before it expires. */
  installationToken(scope: InstallationScope): Promise<string>;
}

/** One repository of an installation, and the permissions needed. */
export interface InstallationScope {
  readonly installationId: string;
  /** The host's id of the repository. */
  readonly repositoryId: string;
  readonly permissions: Permissions;
}

const TIMEOUT_MS = 10_000;
const PAUSE_MS = 250;
const ATTEMPTS_MAX = 3;
const ANSWER_BYTES_MAX = 5_000_000;
const REDIRECTS_MAX = 3;
/** The longest wait within a call. For a longer one, the caller has to retry. */
const RETRY_AFTER_MS_MAX = 5000;
/** The wait for a rate limit without a stated duration. */
const LIMITED_MS = 1000;
const TOKENS_MAX = 1000;
const TOKEN_SPARE_MS = 5 * 60_000;

/**
 * Creates a client for a Git host, without connecting yet.
 *
 * @throws {Error} when the private key is invalid.
 */
export function openGitHost(options: GitHostOptions): GitHost {
  const apiUrl = options.apiUrl.replace(/\/+$/, '');
  const now = options.now ?? Date.now;
  const key = readPrivateKey(options.privateKey);
  const tokens = new Map<string, { readonly value: Promise<string>; expiresAt: number }>();
  const ask = (request: HostRequest, token: string): Promise<unknown> =>
    askWithRetries(apiUrl, options, request, token);
  const asApp = (request: HostRequest): Promise<unknown> => ask(request, appToken(options.appId, key, now()));

  async function mint(scope: InstallationScope, entry: { expiresAt: number }): Promise<string> {
    const answer = (await asApp({
      method: 'POST',
      path: `/app/installations/${encodeURIComponent(scope.installationId)}/access_tokens`,
      body: { repository_ids: [Number(scope.repositoryId)], permissions: scope.permissions },
      repeatable: true,
    })) as { token?: unknown; expires_at?: unknown } | null;
    if (typeof answer?.token !== 'string' || answer.token === '')
      throw new Failure('git_host', 'The Git host issued no token for the installation', {
        reason: 'refused',
        status: 200,
      });
    entry.expiresAt = Date.parse(String(answer.expires_at)) || now() + TOKEN_SPARE_MS;
    return answer.token;
  }

  function installationToken(scope: InstallationScope): Promise<string> {
    const name = JSON.stringify([scope.installationId, scope.repositoryId, Object.entries(scope.permissions).sort()]);
    const known = tokens.get(name);
    if (known !== undefined && known.expiresAt - TOKEN_SPARE_MS > now()) return known.value;
    for (const [other, { expiresAt }] of tokens)
      if (expiresAt <= now() || tokens.size >= TOKENS_MAX) tokens.delete(other);
    const entry = { expiresAt: Infinity };
    const value = mint(scope, entry);
    const stored = Object.assign(entry, { value });
    tokens.set(name, stored);
    value.catch(() => {
      if (tokens.get(name) === stored) tokens.delete(name);
    });
    return value;
  }

  async function asInstallation(scope: InstallationScope, request: HostRequest): Promise<unknown> {
    return ask(request, `Bearer ${await installationToken(scope)}`);
  }
  const asPerson = (token: string, request: HostRequest): Promise<unknown> => ask(request, `Bearer ${token}`);
  return { apiUrl, url: options.url.replace(/\/+$/, ''), asApp, asInstallation, asPerson, installationToken };
}

/** @throws {Error} naming the variable, never its value. */
function readPrivateKey(text: string): KeyObject {
  const pem = text.includes('-----BEGIN') ? text : Buffer.from(text, 'base64').toString();
  try {
    return createPrivateKey(pem.replaceAll('\\n', '\n'));
  } catch {
    throw new Error(
      'GITHOST_APP_PRIVATE_KEY is not a private key: set it to the PEM file of the application, with line breaks, with \\n, or in base64',
    );
  }
}

/** A JWT for the application: RS256, valid for ten minutes, issued a minute ago to tolerate clock skew. */
function appToken(appId: string, key: KeyObject, now: number): string {
  const seconds = Math.floor(now / 1000);
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ alg: 'RS256', typ: 'JWT' })}.${part({ iat: seconds - 60, exp: seconds + 540, iss: appId })}`;
  return `Bearer ${text}.${sign('RSA-SHA256', Buffer.from(text), key).toString('base64url')}`;
}

async function askWithRetries(
  apiUrl: string,
  options: GitHostOptions,
  request: HostRequest,
  token: string,
): Promise<unknown> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await askOnce(apiUrl, options.timeoutMs ?? TIMEOUT_MS, request, token);
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

async function askOnce(apiUrl: string, timeoutMs: number, request: HostRequest, token: string): Promise<unknown> {
  const { path, body } = request;
  let method: string = request.method ?? 'GET';
  const signal = AbortSignal.timeout(timeoutMs);
  let url = `${apiUrl}${path}`;
  for (let redirects = 0; ; redirects++) {
    let response: Response;
    let text: string;
    try {
      response = await fetch(url, {
        method,
        signal,
        redirect: 'manual',
        headers: {
          accept: 'application/vnd.github+json',
          authorization: token,
          'user-agent': 'platform',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body: body === undefined || method === 'GET' ? null : JSON.stringify(body),
      });
      text = await readLimited(response);
    } catch (error) {
      if (isFailure(error, 'git_host')) throw error;
      throw new Failure('git_host', `The Git host is not responding: ${reasonOf(error)}`, {
        reason: 'unreachable',
        status: 0,
      });
    }
    if (response.status < 300) return parseAnswer(response.status, text);
    const target = redirects < REDIRECTS_MAX ? redirectTarget(response, url) : null;
    if (target === null) throw toError(response, method, path, text);
    url = target;
    if (response.status < 307) method = 'GET';
  }
}

/** Follows the redirect of a renamed repository. Other origins are refused, since they would receive the token. */
function redirectTarget(response: Response, from: string): string | null {
  const location = response.headers.get('location');
  if (![301, 302, 307, 308].includes(response.status) || location === null) return null;
  const target = URL.parse(location, from);
  return target !== null && target.origin === new URL(from).origin ? target.href : null;
}

async function readLimited(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).byteLength;
    if (bytes > ANSWER_BYTES_MAX)
      throw new Failure('git_host', `The response of the Git host is larger than ${ANSWER_BYTES_MAX} bytes`, {
        reason: 'refused',
        status: response.status,
      });
    chunks.push(chunk as Uint8Array);
  }
  return Buffer.concat(chunks).toString();
}

function parseAnswer(status: number, text: string): unknown {
  if (text === '') return null;
  try {
    return JSON.parse(text);
  } catch {
    throw new Failure('git_host', 'The response of the Git host is not JSON: is GITHOST_API_URL its REST API?', {
      reason: 'refused',
      status,
    });
  }
}

/** An error for a failed response. The host's message is truncated, since it may be anything. */
function toError({ status, headers }: Response, method: string, path: string, text: string): Failure<'git_host'> {
  let said: unknown;
  try {
    said = (JSON.parse(text) as { message?: unknown } | null)?.message;
  } catch {
    said = undefined;
  }
  const place = `${method} ${path.split('?')[0]!}`;
  const message = `The Git host answered ${status} to ${place}${typeof said === 'string' ? `: ${said.slice(0, 200)}` : ''}`;
  const retryAfterMs = Number(headers.get('retry-after') ?? Number.NaN) * 1000;
  const isSpent = headers.get('x-ratelimit-remaining') === '0';
  if (status === 429 || (status === 403 && (isSpent || !Number.isNaN(retryAfterMs)))) {
    const resetMs = Number(headers.get('x-ratelimit-reset') ?? 0) * 1000 - Date.now();
    const waitMs =
      Number.isNaN(retryAfterMs) && !isSpent ? LIMITED_MS : Math.max(retryAfterMs || 0, isSpent ? resetMs : 0);
    return new Failure('git_host', message, { reason: 'limited', status, retryAfterMs: waitMs });
  }
  return new Failure('git_host', message, { reason: status >= 500 ? 'unreachable' : 'refused', status });
}

function reasonOf(error: unknown): string {
  const { name, message, cause } = error as Error & { cause?: { code?: unknown } };
  if (name === 'TimeoutError') return 'it took too long';
  return typeof cause?.code === 'string' ? cause.code : message;
}
