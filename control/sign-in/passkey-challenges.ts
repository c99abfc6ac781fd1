// Challenges that passkeys sign: created here, valid for one attempt, for five minutes, in the browser that requested
// them. Challenges are stored as single-use records.
import { randomBytes } from 'node:crypto';
import { hashOf, isSame } from '../access/secrets.ts';
import { cookiesOf, readCookie } from './cookies.ts';
import { challengeOf } from './passkey-verification.ts';
import { makeOnce, onceHash, takeOnce } from './single-use.ts';
import type { UiRequest } from './ui-request.ts';

type Kind = 'passkey-sign-in' | 'passkey-add' | 'passkey-join';
type Content = Readonly<Record<string, string>>;

export const CHALLENGE_SECONDS = 300;

/** Creates a challenge. @returns the challenge in base64url, and the cookie that binds it to the browser. */
export async function makeChallenge(
  { sql, addresses }: UiRequest,
  kind: Kind,
  headers: Headers,
  content: Content = {},
): Promise<{ readonly challenge: string; readonly cookie: string }> {
  const cookies = cookiesOf(addresses.ui);
  const known = readCookie(headers.get('cookie'), cookies.passkey);
  // Several tabs of a browser share the cookie.
  const browser = known !== null && /^[\w-]{43}$/.test(known) ? known : randomBytes(32).toString('base64url');
  const challenge = await makeOnce(sql, kind, { ...content, browser: hashed(browser) }, CHALLENGE_SECONDS);
  return { challenge, cookie: cookies.set(cookies.passkey, browser, CHALLENGE_SECONDS) };
}

/** Options for the script of passkeys, with the cookie of their challenge. */
export function optionsResponse(publicKey: object, cookie: string): Response {
  return Response.json({ publicKey }, { headers: { 'cache-control': 'no-store', 'set-cookie': cookie } });
}

/**
 * Uses up the challenge that a browser answers, even if the answer is then refused.
 *
 * @returns null if the challenge is unknown, used or expired, or was issued to another browser.
 */
export async function takeChallenge(
  { sql, addresses }: UiRequest,
  kind: Kind,
  headers: Headers,
  clientDataJSON: string,
): Promise<{ readonly challenge: string; readonly content: Content } | null> {
  const challenge = challengeOf(clientDataJSON);
  if (challenge === null) return null;
  const content = await takeOnce<Content>(sql, kind, onceHash(kind, challenge));
  const browser = readCookie(headers.get('cookie'), cookiesOf(addresses.ui).passkey);
  if (content === null || browser === null || !isSame(hashed(browser), content['browser']!)) return null;
  return { challenge, content };
}

function hashed(browser: string): string {
  return hashOf(browser).toString('base64url');
}
