// Shared code of the sign-in pages: data about a request, opening a session, redirecting to the sign-in page.
import type { SignedIn } from '../access/actor.ts';
import type { OidcProvider } from '../access/oidc/provider.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { SESSION_MS, type Session } from '../sessions/sessions.ts';
import { hasPasskeys } from '../records/passkeys.ts';
import { hasPasswords } from '../records/passwords.ts';
import { cookiesOf, readCookie } from './cookies.ts';
import { offersPasswords } from './new-password.ts';
import { goTo, html, signInPage } from './pages.ts';
import { offersPasskeys, passkeyForm } from './passkey-offer.ts';

const FRESH_MS = 600_000;

/** Dependencies, and properties of the request that ui.ts determines. */
export interface UiRequest extends Dependencies {
  /** The session of the request; null if the client is not signed in. */
  readonly session: Session | null;
  /** Network of the client. */
  readonly network: string;
  readonly address: string | null;
}

/** Opens a session. @returns `Set-Cookie`. */
export async function openSession(
  { signIn, addresses, address }: UiRequest,
  signedIn: SignedIn,
  headers: Headers,
): Promise<string> {
  const cookies = cookiesOf(addresses.ui);
  // Always opens a new session, so that no earlier session continues under another account or in parallel.
  const before = readCookie(headers.get('cookie'), cookies.session);
  if (before !== null) await signIn.sessions.end(before);
  const value = await signIn.sessions.open({ ...signedIn, userAgent: headers.get('user-agent'), address });
  return cookies.set(cookies.session, value, SESSION_MS / 1000);
}

/** Redirects to the sign-in page, which then opens a path of the platform. */
export function signInFirst(path: string): Response {
  return goTo(`/api/auth/sign-in?${new URLSearchParams({ redirect: path })}`);
}

/** Requires another sign-in, which then opens a path of the platform. */
export function signInAgain(path: string): Response {
  return goTo(`/api/auth/sign-in?${new URLSearchParams({ redirect: path, error: 'again' })}`);
}

/** Whether the person has just signed in: enough to change how the account signs in. */
export function isFresh({ createdAt }: Session): boolean {
  return Date.now() - createdAt.getTime() < FRESH_MS;
}

/** The login of an account, for display. */
export async function loginOf({ sql }: Dependencies, accountId: string): Promise<string> {
  const [account] = await sql<{ login: string }[]>`SELECT login FROM control.account WHERE id = ${accountId}`;
  return account?.login ?? accountId;
}

/** The sign-in page, with the ways that this platform offers. */
export async function showSignIn(
  env: UiRequest,
  redirect: string,
  { error = null, status }: { readonly error?: string | null; readonly status?: number } = {},
): Promise<Response> {
  // Before anyone has a password, the field is not shown.
  const hasPassword = offersPasswords(env) && (await hasPasswords(env.sql));
  const to = html`<input type="hidden" name="redirect" value="${redirect}" />`;
  const hasPasskey = offersPasskeys(env) && (await hasPasskeys(env.sql));
  const passkey = hasPasskey ? passkeyForm('get', '/api/auth/sign-in/passkey', 'Sign in with a passkey', to) : null;
  return signInPage(redirect, {
    gitHost: hostName(env),
    provider: offeredProvider(env)?.settings.name ?? null,
    hasPassword,
    passkey: passkey === null ? null : { form: passkey, origin: env.addresses.ui },
    error,
    ...(status !== undefined && { status }),
  });
}

/** The OpenID Connect provider that sign-in offers, or null. */
export function offeredProvider({ signIn: { oidc, ways } }: Pick<Dependencies, 'signIn'>): OidcProvider | null {
  return ways.includes('oidc') ? oidc : null;
}

/** Label of the Git host's button; null means no button. */
export function hostName({ signIn: { gitHost, ways } }: Dependencies): string | null {
  return gitHost.oauth === null || !ways.includes('git-host') ? null : new URL(gitHost.url).host;
}
