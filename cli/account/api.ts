// The API of a platform as commands call it: which platform, with whose token, and what its errors mean to the user.
// Every command that is for the control plane goes through `openApi`.
import type { ControlApi } from '#control/api/app.ts';
import { createClient } from '#packages/worker/client.ts';
import { localApis } from '../local/local-platform.ts';
import { CliError } from '../terminal/failure.ts';
import { plain } from '../terminal/plain.ts';
import type { Shell } from '../terminal/shell.ts';
import { readLogins } from './credentials.ts';

/** How an API is reached. */
export interface ApiAccess {
  /** Without a slash at its end. */
  readonly origin: string;
  readonly token: string;
  /** Where the token comes from: `PLATFORM_API_TOKEN`, `platform login`, or the platform of this machine. */
  readonly source: 'variable' | 'login' | 'machine';
}

/** The API of one platform. */
export interface Api extends ApiAccess {
  /** Calls routes by their types. Give what it answers to {@link dataOf}. */
  readonly client: ReturnType<typeof createClient<ControlApi>>;
  /**
   * Calls any path.
   *
   * @returns the answer as it came, whatever its status.
   * @throws {CliError} when nobody answers.
   */
  fetch(path: string, init?: RequestInit): Promise<Response>;
}

/** Flags of commands that call the API. */
export const apiFlags = {
  api: {
    type: 'string',
    alias: ['api-url'] as string[],
    valueHint: 'url',
    description: 'Address of the API (default: PLATFORM_API_URL, else where you have logged in, else this machine)',
  },
} as const;

const DEFAULT_ORIGIN = 'http://localhost:4002';
/** Until an answer begins; its body may take longer. */
const ANSWER_MS_MAX = 60_000;

/**
 * The API that a command is for, with a token.
 *
 * @throws {CliError} with what to do, when the user has no token for it.
 * @example
 * const api = await openApi(shell, { api: args.api });
 * const projects = dataOf(await api.client.get('/projects', {}));
 */
export async function openApi(shell: Shell, options: { readonly api?: string | undefined } = {}): Promise<Api> {
  return connect(await findAccess(shell, options));
}

/**
 * Which API, and with which token, in this order. The address: `--api`, `PLATFORM_API_URL`, the platform of `FS_PATH`
 * where that is set and runs, the last login, the one platform that runs on this machine. The token:
 * `PLATFORM_API_TOKEN`, the login's, that of this machine's platform.
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
            ? `Name the one you mean: --api ${machine[0]!.origin}`
            : 'Run `platform login --api <address of its API>`, set PLATFORM_API_TOKEN, or start a platform here: `npm start` in its clone.',
      },
    );
  }
  if (variable) return { origin, token: variable, source: 'variable' };
  const login = logins.platforms[origin];
  // The platform of this machine goes before a login that a reinstallation may have left behind.
  const local = machine.find((one) => one.origin === origin);
  if (local !== undefined) return { origin, token: local.token, source: 'machine' };
  if (login !== undefined) return { origin, token: login.token, source: 'login' };
  throw new CliError(`You are not logged in to ${origin}`, {
    advice: `Run \`platform login --api ${origin}\`, or set PLATFORM_API_TOKEN.`,
  });
}

/** The API with this token. */
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

/** The error for a revoked token that the platform of this machine keeps for its user. */
function revokedHere(origin: string): CliError {
  return new CliError(`The token of this machine for ${origin} was revoked`, {
    code: 'unauthorized',
    advice: 'Restart the platform to issue a new one, or set PLATFORM_API_TOKEN.',
  });
}

/**
 * Sends a request to an API. A redirect is an error: the token goes nowhere else.
 *
 * @throws {CliError} when nobody answers.
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
    throw new CliError(`${origin} is no API of a platform: it sends on to ${sentTo(response)}`, {
      advice: 'Give its own address: --api, PLATFORM_API_URL, or `platform login`.',
    });
  } catch (error) {
    if (request.signal.aborted || error instanceof CliError) throw error;
    const { cause, message } = error as Error & { cause?: { code?: string; message?: string } };
    const reason = late.signal.aborted ? `nothing came in ${ANSWER_MS_MAX / 1000} s` : (cause?.code ?? message);
    throw new CliError(`The platform at ${origin} does not answer: ${reason}`, {
      advice: 'Look whether it runs and whether the address is right: --api, PLATFORM_API_URL or `platform login`.',
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
 * What an answer holds.
 *
 * @throws {CliError} with the API's message, and what to do, when it did not go well.
 */
export function dataOf<Result extends Answer>(result: Result): Extract<Result, { readonly ok: true }>['data'] {
  if (result.ok) return result.data as never;
  throw apiFailure(result.response, result.data);
}

/** The error that an answer of the API stands for. */
export function apiFailure({ status, headers, url }: Response, body: unknown): CliError {
  const { message, code, requestId } = (typeof body === 'object' && body !== null ? body : {}) as Partial<
    Record<'message' | 'code' | 'requestId', unknown>
  >;
  const said = typeof message === 'string' ? message : `The platform answered ${status}`;
  const id = typeof requestId === 'string' ? requestId : headers.get('x-request-id');
  const advice = adviceFor(status, code, headers, originOf(url, ''));
  return new CliError(said, { advice, code: typeof code === 'string' ? code : null, requestId: id });
}

function adviceFor(status: number, code: unknown, headers: Headers, origin: string): string | null {
  if (status === 401) return `Log in again: \`platform login${origin === '' ? '' : ` --api ${origin}`}\`.`;
  if (code === 'forbidden')
    return 'Ask an owner or admin of the organization for the role, or use a token with a wider scope.';
  if (status === 429) return `Wait ${headers.get('retry-after') ?? 'some'} seconds.`;
  if (status >= 500) return 'Try again; `platform doctor` looks at what is wrong.';
  return null;
}

/**
 * The address of an API as it is kept: without a slash at its end.
 *
 * @throws {CliError} when it is none.
 */
export function originOf(address: string, otherwise?: string): string {
  const isLoopback = /^(?:localhost|127\.0\.0\.1|\[::1\])(?:[:/]|$)/i.test(address);
  const text = /^[a-z]+:\/\//i.test(address) ? address : `${isLoopback ? 'http' : 'https'}://${address}`;
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '')
    return `${url.origin}${otherwise === undefined ? url.pathname.replace(/\/+$/, '') : ''}`;
  if (otherwise !== undefined) return otherwise;
  throw new CliError(`${address} is no address of an API`, {
    exitCode: 2,
    advice: 'Give one such as https://api.example.com or http://localhost:4002.',
  });
}
