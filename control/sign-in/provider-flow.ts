// The state of a visit to another site that redirects back here, such as a sign-in at the Git host. A state is created
// before the visit, used up on return, and bound to the browser. Used by every flow that visits another site, such as
// git-host-flow.ts.
import { randomBytes } from 'node:crypto';
import { hashOf, isSame } from '../access/secrets.ts';
import { countAttempt } from './attempts.ts';
import { cookiesOf, readCookie } from './cookies.ts';
import { makeOnce, onceHash, takeOnce } from './single-use.ts';
import type { UiRequest } from './ui-request.ts';

const FLOW_SECONDS = 600;

/** A kind of state: a state of one kind is not valid for another. */
type StateKind = 'git-host-state' | 'oidc-state' | 'application-state' | 'git-account-state';

/** The account for which a sign-in was started. */
export interface Purpose {
  /** The signed-in account that gets the identity. */
  readonly linkTo?: string;
  /** Hash of an invitation's link, which the person uses. */
  readonly invitation?: Buffer;
  /** Further data for the callback. */
  readonly subject?: string;
}

/** A sign-in whose state was used up on the way back. */
interface Returned {
  readonly state: string;
  readonly redirect: string;
  readonly linkTo: string | null;
  readonly invitation: Buffer | null;
  readonly subject: string | null;
}

/** Data stored with a state. */
interface Kept extends Record<string, string | null> {
  readonly redirect: string;
  /** Hash of the cookie that binds the state to a browser. */
  readonly browser: string;
  readonly linkTo: string | null;
  readonly invitation: string | null;
  readonly subject: string | null;
}

/** Makes a state. @returns the state, and the `Set-Cookie` that binds it to the browser. */
export async function beginFlow(
  { sql, addresses, network }: UiRequest,
  kind: StateKind,
  redirect: string,
  purpose: Purpose,
  seconds = FLOW_SECONDS,
): Promise<{ readonly state: string; readonly cookie: string }> {
  await countAttempt(sql, 'sign-in', network);
  const cookies = cookiesOf(addresses.ui);
  const browser = randomBytes(32).toString('base64url');
  const content: Kept = {
    redirect,
    browser: hashOf(browser).toString('base64url'),
    linkTo: purpose.linkTo ?? null,
    invitation: purpose.invitation?.toString('hex') ?? null,
    subject: purpose.subject ?? null,
  };
  const state = await makeOnce(sql, kind, content, seconds);
  return { state, cookie: cookies.set(cookies.flow, browser, seconds) };
}

/** Uses up the state of a query. @returns null if the state belongs to another browser, was used or has expired. */
export async function endFlow(
  { sql, addresses, network, session }: UiRequest,
  kind: StateKind,
  query: URLSearchParams,
  headers: Headers,
): Promise<Returned | null> {
  await countAttempt(sql, 'sign-in', network);
  const [state = '', ...more] = query.getAll('state');
  const browser = readCookie(headers.get('cookie'), cookiesOf(addresses.ui).flow);
  // A state is used up in any case.
  const kept = /^[\w-]{43}$/.test(state) ? await takeOnce<Kept>(sql, kind, onceHash(kind, state)) : null;
  if (kept === null || more.length > 0 || browser === null) return null;
  if (!isSame(hashOf(browser).toString('base64url'), kept.browser)) return null;
  // The account that started linking must still be signed in.
  if (kept.linkTo !== null && session?.accountId !== kept.linkTo) return null;
  const { redirect, linkTo, invitation, subject = null } = kept;
  // Absent in states of an earlier version.
  return { state, redirect, linkTo, invitation: invitation == null ? null : Buffer.from(invitation, 'hex'), subject };
}
