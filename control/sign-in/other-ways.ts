// Whether an account can still sign in after one of its ways is removed. The caller has locked the account. Used by the
// pages that remove passkeys and identities.
import type { Transaction } from '#postgres/sql.ts';
import { listPasskeys } from '../records/passkeys.ts';
import { oidcLoginOf } from '../records/oidc-identities.ts';
import { readPassword } from '../records/passwords.ts';
import { offersPasswords } from './new-password.ts';
import { offersPasskeys } from './passkey-offer.ts';
import { hasSignInToken } from './tokens.ts';
import { hostName, offeredProvider, type UiRequest } from './ui-request.ts';

/** The removed sign-in method: a passkey by its id, or the identity at the OpenID Connect provider. */
type Removed = { readonly passkeyId: string } | 'oidc';

/** Whether an account can still sign in: by another passkey, a password, another identity, or a token. */
export async function hasOtherWay(
  tx: Transaction,
  env: UiRequest,
  accountId: string,
  removed: Removed,
): Promise<boolean> {
  const passkeys = offersPasskeys(env) ? await listPasskeys(tx, accountId) : [];
  if (passkeys.some(({ id }) => removed === 'oidc' || id !== removed.passkeyId)) return true;
  if (offersPasswords(env) && (await readPassword(tx, accountId)) !== null) return true;
  const provider = removed === 'oidc' ? null : offeredProvider(env);
  if (provider !== null && (await oidcLoginOf(tx, accountId, provider.settings.issuer)) !== null) return true;
  const identities =
    hostName(env) === null ? [] : await tx`SELECT 1 FROM control.identity WHERE account_id = ${accountId} LIMIT 1`;
  return identities.length > 0 || hasSignInToken(tx, accountId);
}
