// The OAuth grants of the CLI: authorization code with PKCE (RFC 6749, 7636, 8252) and device code (RFC 8628). The
// grants are stored in control.single_use and control.token; pages and routes are in other files.
import { createHash, randomInt } from 'node:crypto';
import { Failure, isFailure } from '#core/failure.ts';
import type { Sql } from '#postgres/sql.ts';
import { isSame } from '../access/secrets.ts';
import type { SignedIn } from '../access/actor.ts';
import type { IssuedToken } from '../records/tokens.ts';
import { changeOnce, holdOnce, makeOnce, onceHash, takeOnce } from './single-use.ts';
import { issueToken } from './tokens.ts';

/** The only client, which is public: the CLI has no secret. */
export const CLIENT_ID = 'platform-cli';
export const TOKEN_DAYS = 90;
export const DEVICE_SECONDS = 600;
export const POLL_SECONDS = 5;
const CODE_SECONDS = 60;
/** No vowels, so that no words appear, and no letters that are easily confused. */
const USER_CODE_LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const USER_CODE_LENGTH = 8;
const NAME_CHARS_MAX = 64;

/** An authorization request of the CLI. */
interface CodeRequest {
  readonly redirectUri: string;
  readonly state: string;
  readonly challenge: string;
  /** Name that the client gives itself. */
  readonly name: string;
}

/** Whether a redirect URI is a loopback IP address (RFC 8252, 7.3 and 8.3). */
export function isLoopbackRedirect(uri: string): boolean {
  return /^http:\/\/(?:127\.0\.0\.1|\[::1\]):[1-9]\d{0,4}\/callback$/.test(uri) && URL.canParse(uri);
}

/**
 * Parses the query of `GET /oauth/authorize`.
 *
 * @returns the request, or an error that may be sent to its redirect URI.
 * @throws {Failure} `oauth` if the redirect URI is invalid.
 */
export function readCodeRequest(
  query: URLSearchParams,
): CodeRequest | { readonly error: string; readonly back: string } {
  const get = (name: string): string => {
    const values = query.getAll(name);
    return values.length === 1 ? values[0]! : '';
  };
  const redirectUri = get('redirect_uri');
  if (get('client_id') !== CLIENT_ID)
    throw new Failure('oauth', `Unknown client: use ${CLIENT_ID}`, { code: 'invalid_client' });
  if (!isLoopbackRedirect(redirectUri))
    throw new Failure('oauth', 'redirect_uri must be http://127.0.0.1:<port>/callback', { code: 'invalid_request' });
  const state = get('state');
  const back = (error: string): { error: string; back: string } => ({
    error,
    back: backTo(redirectUri, { error, ...(state !== '' && { state }) }),
  });
  if (!/^[\x21-\x7e]{8,512}$/.test(state)) return back('invalid_request');
  if (get('response_type') !== 'code') return back('unsupported_response_type');
  if (get('code_challenge_method') !== 'S256' || !/^[\w-]{43}$/.test(get('code_challenge')))
    return back('invalid_request');
  return { redirectUri, state, challenge: get('code_challenge'), name: clientName(get('name')) };
}

/** Serializes a request as the query it was parsed from. */
export function toQuery({ redirectUri, state, challenge, name }: CodeRequest): Record<string, string> {
  return {
    response_type: 'code',
    client_id: CLIENT_ID,
    redirect_uri: redirectUri,
    state,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    name,
  };
}

/** Truncates and cleans the name of a client for display. */
export function clientName(text: string | undefined): string {
  const shown = (text ?? '')
    .replace(/[^\w .()-]/g, '')
    .trim()
    .slice(0, NAME_CHARS_MAX);
  return shown === '' ? 'Command line' : shown;
}

/** The loopback redirect URI with response parameters. */
export function backTo(redirectUri: string, answer: Record<string, string>): string {
  return `${redirectUri}?${new URLSearchParams(answer)}`;
}

/** Creates an authorization code: single use, valid for a minute. */
export function makeCode(
  sql: Sql,
  { accountId, tokenId }: SignedIn,
  { redirectUri, challenge, name }: CodeRequest,
): Promise<string> {
  return makeOnce(sql, 'cli-code', { accountId, tokenId, redirectUri, challenge, name }, CODE_SECONDS);
}

/** A stored code. */
interface KeptCode extends Record<string, string | null> {
  readonly accountId: string;
  readonly tokenId: string | null;
  readonly redirectUri: string;
  readonly challenge: string;
  readonly name: string;
}

/** @throws {Failure} `oauth` with the code `invalid_grant`; the code is used up in any case. */
export async function exchangeCode(
  sql: Sql,
  given: { readonly code: string; readonly redirectUri: string; readonly verifier: string },
): Promise<IssuedToken> {
  const kept = await takeOnce<KeptCode>(sql, 'cli-code', onceHash('cli-code', given.code));
  const challenge = createHash('sha256').update(given.verifier).digest('base64url');
  const isGood =
    kept !== null &&
    /^[\w.~-]{43,128}$/.test(given.verifier) &&
    isSame(challenge, kept.challenge) &&
    isSame(given.redirectUri, kept.redirectUri);
  const issued = isGood ? await sql.begin((tx) => issueToken(tx, { ...kept, days: TOKEN_DAYS })) : null;
  if (issued === null)
    throw new Failure('oauth', 'The code is unknown, used, expired, or belongs to another client', {
      code: 'invalid_grant',
    });
  return issued;
}

/** A stored device code. */
interface Device extends Record<string, string | number | boolean | null> {
  readonly name: string;
  readonly address: string;
  /** Null if not decided yet. */
  readonly decision: 'allow' | 'deny' | null;
  readonly accountId: string | null;
  readonly tokenId: string | null;
  /** Milliseconds since 1970. */
  readonly polledAt: number;
  readonly interval: number;
}

/** Starts a device grant. @param address the address of the device, shown to the person who decides. */
export async function makeDevice(
  sql: Sql,
  name: string,
  address: string,
): Promise<{ readonly deviceCode: string; readonly userCode: string }> {
  return sql.begin(async (tx) => {
    const undecided = { decision: null, accountId: null, tokenId: null };
    const asked: Device = { name, address, ...undecided, polledAt: 0, interval: POLL_SECONDS };
    const deviceCode = await makeOnce(tx, 'device-code', asked, DEVICE_SECONDS);
    const letters = Array.from(
      { length: USER_CODE_LENGTH },
      () => USER_CODE_LETTERS[randomInt(USER_CODE_LETTERS.length)]!,
    );
    const plain = letters.join('');
    const device = onceHash('device-code', deviceCode).toString('hex');
    await makeOnce(tx, 'device-user-code', { device }, DEVICE_SECONDS, plain);
    return { deviceCode, userCode: `${plain.slice(0, 4)}-${plain.slice(4)}` };
  });
}

/** Normalizes a typed code; null if it cannot be valid. */
export function plainUserCode(typed: string): string | null {
  const plain = typed.toUpperCase().replace(/[^A-Z]/g, '');
  return plain.length === USER_CODE_LENGTH && [...plain].every((letter) => USER_CODE_LETTERS.includes(letter))
    ? plain
    : null;
}

/** The device that waits for the decision on a code; null if the code is unknown or was decided. */
export async function findDevice(
  sql: Sql,
  userCode: string,
): Promise<{ readonly name: string; readonly address: string } | null> {
  return sql.begin(async (tx) => {
    const kept = await holdOnce<{ device: string }>(tx, 'device-user-code', onceHash('device-user-code', userCode));
    const device = kept === null ? null : await holdOnce<Device>(tx, 'device-code', Buffer.from(kept.device, 'hex'));
    return device === null || device.decision !== null ? null : { name: device.name, address: device.address };
  });
}

/** Decides about a device and uses up its code. @returns whether a device was waiting. */
export async function decideDevice(
  sql: Sql,
  userCode: string,
  { accountId, tokenId }: SignedIn,
  decision: 'allow' | 'deny',
): Promise<boolean> {
  return sql.begin(async (tx) => {
    const kept = await takeOnce<{ device: string }>(tx, 'device-user-code', onceHash('device-user-code', userCode));
    const hash = Buffer.from(kept?.device ?? '', 'hex');
    const device = kept === null ? null : await holdOnce<Device>(tx, 'device-code', hash);
    if (device === null || device.decision !== null) return false;
    await changeOnce(tx, hash, { ...device, decision, accountId, tokenId });
    return true;
  });
}

/** @throws {Failure} `oauth` with the code `authorization_pending`, `slow_down`, `access_denied` or `expired_token`. */
export async function pollDevice(sql: Sql, deviceCode: string, now: number = Date.now()): Promise<IssuedToken> {
  // The failure is returned, not thrown, because an error would roll back the changes.
  const result = await sql.begin(async (tx): Promise<IssuedToken | Failure<'oauth'>> => {
    const hash = onceHash('device-code', deviceCode);
    const device = await holdOnce<Device>(tx, 'device-code', hash);
    if (device === null)
      return new Failure('oauth', 'The device code is unknown, used or expired', { code: 'expired_token' });
    if (device.decision === null) {
      const isEarly = now - device.polledAt < device.interval * 1000;
      const interval = device.interval + (isEarly ? POLL_SECONDS : 0);
      await changeOnce(tx, hash, { ...device, polledAt: now, interval });
      return isEarly
        ? new Failure('oauth', `Poll every ${interval} seconds`, { code: 'slow_down' })
        : new Failure('oauth', 'The request is not approved yet', { code: 'authorization_pending' });
    }
    await takeOnce(tx, 'device-code', hash);
    if (device.decision === 'deny' || device.accountId === null)
      return new Failure('oauth', 'The request was denied in the browser', { code: 'access_denied' });
    const { accountId, tokenId, name } = device;
    const issued = await issueToken(tx, { accountId, tokenId, name, days: TOKEN_DAYS });
    return issued ?? new Failure('oauth', 'The session that approved it has ended', { code: 'access_denied' });
  });
  if (isFailure(result, 'oauth')) throw result;
  return result;
}
