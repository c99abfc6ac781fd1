// Logs in to a platform in one of three ways: with the local browser (RFC 8252, loopback redirect with PKCE), with a
// browser on any device (RFC 8628, device code), or with a token.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { CliError } from '../terminal/failure.ts';
import { answerOf, apiFailure, connect, dataOf } from './api.ts';
import { awaitCallback } from './callback.ts';
import type { Credentials } from './credentials.ts';

const CLIENT_ID = 'platform-cli';
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

/** Response of `POST /oauth/token`. */
interface Granted {
  readonly access_token: string;
  readonly expires_in?: number;
}

interface DeviceCodes {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete: string;
  readonly expires_in: number;
  readonly interval: number;
}

/**
 * Logs in with the local browser.
 *
 * @param openPage opens a page in the browser.
 * @throws {CliError} if the user declines, or after five minutes.
 */
export async function loginInBrowser(
  origin: string,
  openPage: (url: string) => void | Promise<void>,
): Promise<Credentials> {
  const verifier = randomBytes(32).toString('base64url');
  const state = randomBytes(32).toString('base64url');
  const callback = await awaitCallback();
  try {
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: CLIENT_ID,
      redirect_uri: callback.url,
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      name: machineName(),
    });
    await openPage(`${origin}/oauth/authorize?${query}`);
    const answer = await callback.answered;
    if (!isSame(answer.get('state') ?? '', state))
      throw new CliError('The browser returned the result of another login', { advice: 'Log in again.' });
    const code = answer.get('code');
    if (code === null) throw refused(answer.get('error') ?? '', answer.get('error_description'));
    const form = { grant_type: 'authorization_code', code, redirect_uri: callback.url, code_verifier: verifier };
    return await toCredentials(origin, await granted(origin, form));
  } finally {
    callback.close();
  }
}

/**
 * Logs in with a device code.
 *
 * @param show shows the URL and the code.
 * @param pause between polls.
 */
export async function loginWithCode(
  origin: string,
  show: (page: string, code: string, whole: string) => void,
  pause: (ms: number) => Promise<unknown> = wait,
): Promise<Credentials> {
  const { status, body, response } = await post(origin, '/oauth/device', { name: machineName() });
  if (status !== 200) throw apiFailure(response, body);
  const codes = body as unknown as DeviceCodes;
  show(codes.verification_uri, codes.user_code, codes.verification_uri_complete);
  const until = performance.now() + codes.expires_in * 1000;
  for (let interval = codes.interval; performance.now() < until;) {
    await pause(interval * 1000);
    const form = { grant_type: DEVICE_GRANT, device_code: codes.device_code };
    const polled = await post(origin, '/oauth/token', form);
    if (polled.status === 200) return toCredentials(origin, polled.body as unknown as Granted);
    if (polled.body['error'] === 'slow_down') interval += 5;
    else if (polled.body['error'] !== 'authorization_pending') throw failureOf(polled);
  }
  throw refused('expired_token', null);
}

/** Logs in with a token. @throws {CliError} if the token is invalid. */
export async function loginWithToken(origin: string, token: string): Promise<Credentials> {
  if (!/^[\x21-\x7e]{8,512}$/.test(token))
    throw new CliError('No token on standard input', {
      exitCode: 2,
      advice: 'Pass the token on a single line: `platform login --token < file`.',
    });
  return toCredentials(origin, { access_token: token });
}

async function toCredentials(
  origin: string,
  { access_token: token, expires_in: seconds }: Granted,
): Promise<Credentials> {
  const user = dataOf(await connect({ origin, token, source: 'login' }).client.get('/user'));
  const expiresAt =
    seconds === undefined ? (user.token?.expiresAt ?? null) : new Date(Date.now() + seconds * 1000).toISOString();
  return { token, login: user.login, expiresAt };
}

async function granted(origin: string, form: Record<string, string>): Promise<Granted> {
  const answer = await post(origin, '/oauth/token', form);
  if (answer.status !== 200) throw failureOf(answer);
  return answer.body as unknown as Granted;
}

interface Posted {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly response: Response;
}

async function post(origin: string, path: string, form: Record<string, string>): Promise<Posted> {
  const request = new Request(`${origin}${path}`, {
    method: 'POST',
    headers: { accept: 'application/json' },
    body: new URLSearchParams({ client_id: CLIENT_ID, ...form }),
  });
  const response = await answerOf(origin, request);
  const text = await response.text();
  try {
    return { status: response.status, body: JSON.parse(text) as Record<string, unknown>, response };
  } catch {
    throw new CliError(`${origin} is not a platform API: it returned status ${response.status} without JSON`, {
      advice: 'Check the URL, which is PUBLIC_API_URL of the platform, for example http://localhost:4002.',
    });
  }
}

function failureOf({ body, response }: Posted): CliError {
  const { error, error_description: description } = body;
  if (typeof error !== 'string') return apiFailure(response, body);
  return refused(error, typeof description === 'string' ? description : null);
}

/** @param error an error code of RFC 6749 or RFC 8628. */
function refused(error: string, description: string | null): CliError {
  if (error === 'access_denied') return new CliError('The login was refused in the browser');
  if (error === 'expired_token' || error === 'invalid_grant')
    return new CliError('The login timed out', { advice: 'Run `platform login` again.' });
  const said = /^[\x20-\x7e]{1,200}$/.test(description ?? '') ? description : 'unknown reason';
  return new CliError(`The login failed: ${said}`);
}

/** The name that the token gets on the platform. */
function machineName(): string {
  return `Command line on ${hostname().replace(/[^\w.-]/g, '') || 'a machine'}`.slice(0, 64);
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
