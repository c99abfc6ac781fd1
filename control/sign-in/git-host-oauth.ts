// OAuth client for the Git host: the authorization URL, the exchange of codes for tokens, and the owner of a token.
// Uses the most common host's variant of OAuth 2 with PKCE.
import { createHash, createHmac } from 'node:crypto';
import { Failure } from '#core/failure.ts';
import type { GitHostSettings } from '../process/configuration.ts';

/** A user of the Git host. */
export interface GitHostPerson {
  /** Contains the host's user id, which stays the same when the login changes. */
  readonly subject: string;
  readonly login: string;
  readonly name: string;
  readonly email: string | null;
  readonly avatarUrl: string | null;
}

/** The subject of an identity: the host's id of the person, with the host's name if it has one. */
function subjectOf({ realm }: Pick<GitHostSettings, 'realm'>, id: string): string {
  return realm === undefined ? id : `${realm} ${id}`;
}

/** Tokens to call the host as a user. */
export interface GitHostToken {
  readonly accessToken: string;
  /** Null if tokens do not expire. */
  readonly refreshToken: string | null;
  /** ISO 8601; null if tokens do not expire. */
  readonly expiresAt: string | null;
}

const WAIT_MS = 10_000;
const ANSWER_BYTES_MAX = 1024 * 1024;
const USER_AGENT = 'platform';

/**
 * The PKCE verifier of a state. The verifier is derived from the state and a secret, so it cannot be forged and need
 * not be stored.
 */
export function verifierOf(state: string, secret: string): string {
  return createHmac('sha256', secret).update(`pkce:${state}`).digest('base64url');
}

/** The URL to sign in at. @param callback URL on the platform to return to. */
export function authorizeUrl(host: GitHostSettings, callback: string, state: string, secret: string): string {
  const url = new URL(`${host.url}/login/oauth/authorize`);
  url.search = String(
    new URLSearchParams({
      response_type: 'code',
      client_id: host.oauth?.clientId ?? '',
      redirect_uri: callback,
      scope: 'read:user user:email',
      state,
      code_challenge: createHash('sha256').update(verifierOf(state, secret)).digest('base64url'),
      code_challenge_method: 'S256',
    }),
  );
  return url.href;
}

/** @throws {Failure} `sign_in_refused` if the code is invalid or the host does not respond. */
export function exchangeCode(
  host: GitHostSettings,
  code: string,
  callback: string,
  state: string,
  secret: string,
): Promise<GitHostToken> {
  return askForToken(host, { code, redirect_uri: callback, code_verifier: verifierOf(state, secret) });
}

/** @throws {Failure} `sign_in_refused` if the token cannot be refreshed. */
export function refreshToken(host: GitHostSettings, refresh: string): Promise<GitHostToken> {
  return askForToken(host, { grant_type: 'refresh_token', refresh_token: refresh });
}

async function askForToken(host: GitHostSettings, form: Record<string, string>): Promise<GitHostToken> {
  const { clientId = '', clientSecret = '' } = host.oauth ?? {};
  const body = new URLSearchParams({ client_id: clientId, client_secret: clientSecret, ...form });
  const answer = await ask(`${host.url}/login/oauth/access_token`, { method: 'POST', body });
  const { access_token: accessToken, refresh_token: refresh, expires_in: seconds, error } = answer;
  if (typeof accessToken !== 'string' || accessToken === '') {
    const word = typeof error === 'string' && /^\w{1,60}$/.test(error) ? error : 'no token in its answer';
    throw new Failure('sign_in_refused', `The Git host issued no token: ${word}`);
  }
  return {
    accessToken,
    refreshToken: typeof refresh === 'string' ? refresh : null,
    expiresAt: typeof seconds === 'number' ? new Date(Date.now() + seconds * 1000).toISOString() : null,
  };
}

/** Reads the user that a token belongs to. @throws {Failure} `sign_in_refused` */
export async function personOf(host: GitHostSettings, accessToken: string): Promise<GitHostPerson> {
  const found = await ask(`${host.apiUrl}/user`, { headers: { authorization: `Bearer ${accessToken}` } });
  const { id, login, name, email, avatar_url: avatarUrl } = found;
  const isWhole = (typeof id === 'number' || typeof id === 'string') && String(id) !== '' && typeof login === 'string';
  if (!isWhole || login === '') throw new Failure('sign_in_refused', 'The Git host returned no account');
  return {
    subject: subjectOf(host, String(id)),
    login: login.slice(0, 100),
    name: typeof name === 'string' ? name.slice(0, 200) : '',
    email: typeof email === 'string' && email.includes('@') ? email.slice(0, 320) : null,
    avatarUrl: typeof avatarUrl === 'string' && /^https?:\/\//.test(avatarUrl) ? avatarUrl.slice(0, 500) : null,
  };
}

async function ask(url: string, init: RequestInit): Promise<Record<string, unknown>> {
  let status = 0;
  try {
    const response = await fetch(url, {
      ...init,
      headers: { accept: 'application/json', 'user-agent': USER_AGENT, ...(init.headers as Record<string, string>) },
      redirect: 'error',
      signal: AbortSignal.timeout(WAIT_MS),
    });
    ({ status } = response);
    const value: unknown = JSON.parse(await boundedText(response));
    if (response.ok && typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // The error's text may contain data that was sent.
  }
  throw new Failure(
    'sign_in_refused',
    status === 0 ? 'The Git host is not responding' : `The Git host answered ${status}`,
  );
}

async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > ANSWER_BYTES_MAX) throw new Error('too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
