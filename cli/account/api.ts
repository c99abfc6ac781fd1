// The API client of commands: chooses platform and token, and adds advice to errors. Every command for the control
// plane uses `openApi`.
import type { ControlApi } from '#control/api/app.ts';
import { createClient } from '#packages/worker/client.ts';
import { localApis } from '../local/local-platform.ts';
import { CliError } from '../terminal/failure.ts';
import { plain } from '../terminal/plain.ts';
import type { Shell } from '../terminal/shell.ts';
import { readLogins } from './credentials.ts';

/** URL and token of an API. */
interface ApiAccess {
  /** The URL, without a trailing slash. */
  readonly origin: string;
  readonly token: string;
  /** Source of the token: `PLATFORM_API_TOKEN`, `platform login`, or the platform on this machine. */
  readonly source: 'variable' | 'login' | 'machine';
}

/** The API of one platform. */
export interface Api extends ApiAccess {
  /** Calls routes by their types. Pass the result to {@link dataOf}. */
  readonly client: ReturnType<typeof createClient<ControlApi>>;
  /**
   * Calls any path.
   *
   * @returns the response with any status.
   * @throws {CliError} if there is no response.
   */
  fetch(path: string, init?: RequestInit): Promise<Response>;
}

/** Flags of commands that call the API. */
export const apiFlags = {
  api: {
    type: 'string',
    alias: ['api-url'] as string[],
    valueHint: 'url',
    description: 'URL of the API (default: PLATFORM_API_URL, else the last login, else this machine)',
  },
} as const;

const DEFAULT_ORIGIN = 'http://localhost:4002';
/** Timeout of the response headers; the body may take longer. */
const ANSWER_MS_MAX = 60_000;

/**
 * Opens the API of the chosen platform with a token.
 *
 * @throws {CliError} with advice, if there is no token.
 * @example
 * const api = await openApi(shell, { api: args.api });
 * const projects = dataOf(await api.client.get('/projects', {}));
 */
export async function openApi(shell: Shell, options: { readonly api?: string | undefined } = {}): Promise<Api> {
  return connect(await findAccess(shell, options));
}

/**
 * Chooses URL and token, each from the first source that has a value. URL: `--api`, `PLATFORM_API_URL`, the running
 * platform of `FS_PATH`, the last login, the only platform running on this machine. The token: `PLATFORM_API_TOKEN`, or
 * the token of the login, or the token of this machine's platform.
 */
export async function findAccess(shell: Shell, { api }: { readonly api?: string | undefined }): Promise<ApiAccess> {
  const named = api ?? (shell.env['PLATFORM_API_URL'] || undefined);
  const logins = readLogins(shell);
  const machine =
    named === undefined || !Object.hasOwn(logins.platforms, originOf(named)) ? await localApis(shell) : [];
  const [onlyOne] = machine.length === 1 ? machine : [];
  const chosen = shell.env['FS_PATH'] ? onlyOne?.origin : undefined;
  const variable = shell.env['PLATFORM_API_TOKEN'];
  const origin =
    named !== undefined
      ? originOf(named)
      : (chosen ?? logins.current ?? onlyOne?.origin ?? (variable ? DEFAULT_ORIGIN : undefined));
  if (origin === undefined) {
    throw new CliError(
      machine.length > 1 ? 'More than one platform runs on this machine' : 'You are not logged in to a platform',
      {
        advice:
          machine.length > 1
            ? `Choose a platform with --api, for example --api ${machine[0]!.origin}`
            : 'Run `platform login --api <url>`, set PLATFORM_API_TOKEN, or start a platform on this machine: `npm start` in its clone.',
      },
    );
  }
  if (variable) return { origin, token: variable, source: 'variable' };
  const login = logins.platforms[origin];
  // This machine's platform takes precedence over a login left behind by a reinstallation.
  const local = machine.find((one) => one.origin === origin);
  if (local !== undefined) return { origin, token: local.token, source: 'machine' };
  if (login !== undefined) return { origin, token: login.token, source: 'login' };
  throw new CliError(`You are not logged in to ${origin}`, {
    advice: `Run \`platform login --api ${origin}\`, or set PLATFORM_API_TOKEN.`,
  });
}

/** Creates the client. */
export function connect(access: ApiAccess): Api {
  const { origin, token } = access;
  const headers = { authorization: `Bearer ${token}` };
  const send = async (request: Request): Promise<Response> => {
    const answer = await answerOf(origin, request);
    if (answer.status === 401 && access.source === 'machine') throw revokedHere(origin);
    return answer;
  };
  return {
    ...access,
    client: createClient<ControlApi>(origin, { headers, fetch: send }),
    fetch(path, init = {}) {
      const request = new Request(`${origin}${path}`, init);
      for (const [name, value] of Object.entries(headers)) request.headers.set(name, value);
      return send(request);
    },
  };
}

/** The error for a revoked token of this machine's platform. */
function revokedHere(origin: string): CliError {
  return new CliError(`The token of this machine for ${origin} was revoked`, {
    code: 'unauthorized',
    advice: 'Restart the platform to issue a new token, or set PLATFORM_API_TOKEN.',
  });
}

/**
 * Sends a request to an API. Redirects are errors, so that the token is not sent elsewhere.
 *
 * @throws {CliError} if there is no response.
 */
export async function answerOf(origin: string, request: Request): Promise<Response> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), ANSWER_MS_MAX);
  try {
    const response = await fetch(request, {
      redirect: 'manual',
      signal: AbortSignal.any([request.signal, late.signal]),
    });
    if (response.status < 300 || response.status >= 400) return response;
    await response.body?.cancel();
    throw new CliError(`${origin} is not a platform API: it redirects to ${sentTo(response)}`, {
      advice: 'Use the URL of the API: --api, PLATFORM_API_URL, or `platform login`.',
    });
  } catch (error) {
    if (request.signal.aborted || error instanceof CliError) throw error;
    const { cause, message } = error as Error & { cause?: { code?: string; message?: string } };
    const reason = late.signal.aborted ? `no response within ${ANSWER_MS_MAX / 1000} s` : (cause?.code ?? message);
    throw new CliError(`The platform at ${origin} does not answer: ${reason}`, {
      advice:
        'Check that the platform is running and that the URL is right: --api, PLATFORM_API_URL or `platform login`.',
    });
  } finally {
    clearTimeout(timer);
  }
}

function sentTo({ headers }: Response): string {
  return plain(headers.get('location') ?? 'nowhere').slice(0, 200);
}

type Answer = { readonly ok: boolean; readonly data: unknown; readonly response: Response };

/**
 * The data of a successful response.
 *
 * @throws {CliError} with the API's message and advice.
 */
export function dataOf<Result extends Answer>(result: Result): Extract<Result, { readonly ok: true }>['data'] {
  if (result.ok) return result.data as never;
  throw apiFailure(result.response, result.data);
}

/** The error of an API response. */
export function apiFailure({ status, headers, url }: Response, body: unknown): CliError {
  const { message, code, requestId } = (typeof body === 'object' && body !== null ? body : {}) as Partial<
    Record<'message' | 'code' | 'requestId', unknown>
  >;
  const said = typeof message === 'string' ? message : `The platform returned status ${status}`;
  const id = typeof requestId === 'string' ? requestId : headers.get('x-request-id');
  const advice = adviceFor(status, code, headers, originOf(url, ''));
  return new CliError(said, { advice, code: typeof code === 'string' ? code : null, requestId: id });
}

function adviceFor(status: number, code: unknown, headers: Headers, origin: string): string | null {
  if (status === 401) return `Log in again: \`platform login${origin === '' ? '' : ` --api ${origin}`}\`.`;
  if (code === 'forbidden')
    return 'Ask an owner or admin of the organization for the role, or use a token with a broader scope.';
  if (status === 429) return `Wait ${headers.get('retry-after') ?? 'some'} seconds.`;
  if (status >= 500) return 'Try again, or run `platform doctor`.';
  return null;
}

/**
 * Normalizes the URL of an API: without a trailing slash.
 *
 * @throws {CliError} if the text is not a URL.
 */
export function originOf(address: string, otherwise?: string): string {
  const isLoopback = /^(?:localhost|127\.0\.0\.1|\[::1\])(?:[:/]|$)/i.test(address);
  const text = /^[a-z]+:\/\//i.test(address) ? address : `${isLoopback ? 'http' : 'https'}://${address}`;
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '')
    return `${url.origin}${otherwise === undefined ? url.pathname.replace(/\/+$/, '') : ''}`;
  if (otherwise !== undefined) return otherwise;
  throw new CliError(`Invalid API URL ${address}`, {
    exitCode: 2,
    advice: 'For example https://api.example.com or http://localhost:4002.',
  });
}
