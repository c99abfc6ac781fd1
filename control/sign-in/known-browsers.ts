// Browsers that have signed in to an account with its password, named by a signed cookie. Attempts from such browsers
// are counted separately, so wrong passwords from other browsers do not lock the person out. The cookie gives no
// access.
import { createHmac, randomBytes } from 'node:crypto';
import { hashOf, isSame } from '../access/secrets.ts';
import { findPassword } from '../records/passwords.ts';
import { countAttempt } from './attempts.ts';
import { cookiesOf, readCookie } from './cookies.ts';
import type { UiRequest } from './ui-request.ts';

const KNOWN_SECONDS = 180 * 86_400;

/** `Set-Cookie` header that marks this browser as known to an account. */
export function knowBrowser({ signIn, addresses }: UiRequest, accountId: string): string {
  const cookies = cookiesOf(addresses.ui);
  const text = `${randomBytes(18).toString('base64url')}.${Math.floor(Date.now() / 1000) + KNOWN_SECONDS}`;
  return cookies.set(cookies.known, `${text}.${signatureOf(signIn.secret, accountId, text)}`, KNOWN_SECONDS);
}

/**
 * Counts an attempt on a username. A browser that is known to its account has a separate limit. All other browsers
 * share one limit for all addresses, whether or not an account has the username.
 */
export async function countUsername(env: UiRequest, headers: Headers, username: string): Promise<void> {
  const known = await findPassword(env.sql, username);
  // For an unknown username, the same work is done with the account id '', for which no cookie is valid.
  const browser = knownBrowser(env, headers, known?.account_id ?? '');
  await countAttempt(env.sql, 'username', browser ?? hashOf(username.toLowerCase()).toString('hex'));
}

/** The browser's own key of attempts; null if it is not known to the account. */
function knownBrowser({ signIn, addresses }: UiRequest, headers: Headers, accountId: string): string | null {
  const value = readCookie(headers.get('cookie'), cookiesOf(addresses.ui).known);
  const [, text, nonce, expiresAt, signature] = /^(([\w-]{24})\.(\d{1,12}))\.([\w-]{43})$/.exec(value ?? '') ?? [];
  if (text === undefined || Number(expiresAt) * 1000 < Date.now()) return null;
  return isSame(signature!, signatureOf(signIn.secret, accountId, text)) ? `known:${nonce!}` : null;
}

function signatureOf(secret: string, accountId: string, text: string): string {
  return createHmac('sha256', secret).update(`known-browser:${accountId}:${text}`).digest('base64url');
}
