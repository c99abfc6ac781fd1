// Whether this installation offers passkeys, and the form that the script of passkeys fills in. Used by the pages of
// sign-in and by the API.
import Type from '#core/typebox/typebox.mjs';
import { isIP } from 'node:net';
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { html } from './pages.ts';

/**
 * The name that passkeys are bound to: the host of `AUTH_URL`. Null if passkeys are not possible: browsers support them
 * neither for an IP address, nor over http for another name than localhost.
 *
 * @param ui `AUTH_URL`.
 */
function relyingPartyOf(ui: string): string | null {
  const { protocol, hostname } = new URL(ui);
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return null;
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost');
  return protocol === 'https:' || isLocal ? hostname : null;
}

/** Whether people can sign in with passkeys. */
export function offersPasskeys({ signIn, addresses }: Pick<Dependencies, 'signIn' | 'addresses'>): boolean {
  return signIn.ways.includes('passkey') && relyingPartyOf(addresses.ui) !== null;
}

/** The name that passkeys are bound to. @throws {ApiError} `not_available` if passkeys are not offered. */
export function checkPasskeys(deps: Pick<Dependencies, 'signIn' | 'addresses'>): string {
  const name = relyingPartyOf(deps.addresses.ui);
  if (name === null)
    throw new ApiError('not_available', {
      reason: 'Passkeys need a dashboard with a name and https: AUTH_URL is an IP address, or plain http',
    });
  if (!offersPasskeys(deps))
    throw new ApiError('not_available', { reason: 'Sign-in with a passkey is not enabled on this platform' });
  return name;
}

const base64url = (charsMax: number) => Type.String({ minLength: 1, maxLength: charsMax, pattern: '^[A-Za-z0-9_-]+$' });

/** Form fields that the script fills for a new passkey. */
export const attestationFields = {
  id: base64url(1364),
  clientDataJSON: base64url(4096),
  attestationObject: base64url(16_384),
};
/** Form fields that the script fills for a sign-in. */
export const assertionFields = {
  id: base64url(1364),
  clientDataJSON: base64url(4096),
  authenticatorData: base64url(4096),
  signature: base64url(4096),
  userHandle: base64url(88),
};
export const PASSKEY_EXPIRED = 'This took too long, or was started in another browser or account. Try again.';
export const PASSKEY_REFUSED = 'This passkey was refused. Try again, or use another device.';
export const PASSKEY_KNOWN = 'This passkey is registered already.';
/** Maximum size of a form with these fields. */
export const PASSKEY_FORM_BYTES_MAX = 32_768;

/**
 * A form that the script fills in and sends; it is only shown if the browser supports passkeys.
 *
 * @param action the address to which the form is sent; the script gets the options from `<action>/options`.
 * @param fields further fields of the form.
 */
export function passkeyForm(
  kind: 'create' | 'get',
  action: string,
  button: string,
  fields: ReturnType<typeof html>,
): ReturnType<typeof html> {
  const hidden = Object.keys(kind === 'create' ? attestationFields : assertionFields)
    .map((name) => html`<input type="hidden" name="${name}" />`)
    .reduce((all, one) => html`${all}${one}`);
  return html`<form method="post" action="${action}" data-passkey="${kind}" hidden>
    ${fields}${hidden}
    <p role="alert" hidden></p>
    <button>${button}</button>
  </form>`;
}
