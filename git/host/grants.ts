// The token of an account on a Git host: an access token as it was entered, or the current token of a grant, which is
// renewed before it expires. The API process and the builder renew under a lock of the account's row, so that a refresh
// token is used once.
import { seal, unseal, type EncryptionKeys } from '#core/encryption.ts';
import { Failure } from '#core/failure.ts';
import type { Sql } from '#postgres/sql.ts';
import type { TokenAccess } from './access.ts';
import { refreshGrant, type Grant, type OAuthClient } from './oauth.ts';
import { hostTitle, openTokenHost, type TokenHost } from './token-hosts.ts';

/** Where accounts are stored, and which hosts may have private addresses. */
interface AccountDeps {
  readonly sql: Sql;
  readonly keys: EncryptionKeys;
  /** `GIT_REMOTE_PRIVATE_HOSTS` */
  readonly privateHosts: readonly string[];
}

/** The columns of control.installation that opening an account needs. */
interface StoredAccount {
  readonly id: string;
  readonly token: Uint8Array;
  readonly is_grant: boolean;
}

/** A clone or a build's status must not fail because the token expires in the meantime. */
const SPARE_MS = 5 * 60_000;

/** The encryption context of an account's token. */
export function accountContext(accountId: string): string {
  return `git-account:${accountId}`;
}

/** The encryption context of the secret of a host's OAuth application. */
export function clientContext(hostId: string): string {
  return `git-host-oauth:${hostId}`;
}

/** The current token of an account. @param refused a token that the host has just refused: another token is needed. */
type CurrentToken = (refused?: string) => Promise<string>;

/** Reads a stored grant. */
export function openGrant(keys: EncryptionKeys, account: Pick<StoredAccount, 'id' | 'token'>): Grant {
  return JSON.parse(unseal(keys, account.token, accountContext(account.id))) as Grant;
}

/** Seals a grant. */
export function sealGrant(keys: EncryptionKeys, accountId: string, grant: Grant): Buffer {
  return seal(keys, JSON.stringify(grant), accountContext(accountId));
}

/** The OAuth application of a host; null if it has none. */
export function openClient(
  keys: EncryptionKeys,
  row: {
    readonly id: string;
    readonly oauth_client_id: string | null;
    readonly oauth_client_secret: Uint8Array | null;
  },
): OAuthClient | null {
  const { id, oauth_client_id: clientId, oauth_client_secret: secret } = row;
  if (clientId === null || secret === null) return null;
  return { clientId, clientSecret: unseal(keys, secret, clientContext(id)) };
}

/**
 * Returns a function that returns the current token of an account.
 *
 * The returned function throws {@link Failure} `git_host`, with status 401 if the grant was revoked.
 */
function currentToken(deps: AccountDeps, host: TokenHost, account: StoredAccount): CurrentToken {
  if (!account.is_grant) {
    const token = unseal(deps.keys, account.token, accountContext(account.id));
    return () => Promise.resolve(token);
  }
  let known = openGrant(deps.keys, account);
  return async (refused) => {
    if (!isOver(known, refused)) return known.accessToken;
    known = await renewed(deps, host, account.id, refused);
    return known.accessToken;
  };
}

/** Opens an account of a host. Does not connect yet. */
export function openAccount(deps: AccountDeps, host: TokenHost, account: StoredAccount): TokenAccess {
  return openTokenHost(deps, host, { token: currentToken(deps, host, account), isGrant: account.is_grant });
}

function isOver({ accessToken, expiresAt }: Grant, refused: string | undefined): boolean {
  return accessToken === refused || (expiresAt !== null && expiresAt - SPARE_MS < Date.now());
}

/** Renews a grant, unless another process has done so. */
async function renewed(
  { sql, keys, privateHosts }: AccountDeps,
  host: TokenHost,
  accountId: string,
  refused: string | undefined,
): Promise<Grant> {
  return sql.begin(async (tx) => {
    const [row] = await tx<
      { token: Uint8Array; id: string; oauth_client_id: string | null; oauth_client_secret: Uint8Array | null }[]
    >`SELECT installation.token, git_host.id, oauth_client_id, oauth_client_secret
        FROM control.installation JOIN control.git_host ON git_host.id = installation.git_host_id
       WHERE installation.id = ${accountId} AND is_grant FOR UPDATE OF installation`;
    const revoked = (why: string): Error =>
      new Failure('git_host', `${hostTitle(host)}: ${why}. Connect the account again`, {
        reason: 'refused',
        status: 401,
      });
    if (row === undefined) throw revoked('the account was disconnected, or connected in another way');
    const grant = openGrant(keys, { id: accountId, token: row.token });
    if (!isOver(grant, refused)) return grant;
    if (grant.refreshToken === null) throw revoked('its access has expired or was revoked');
    const client = openClient(keys, row);
    if (client === null) throw revoked('the OAuth application of the host was removed');
    const next = await refreshGrant({ privateHosts }, host, client, grant.refreshToken);
    await tx`UPDATE control.installation SET token = ${sealGrant(keys, accountId, next)} WHERE id = ${accountId}`;
    return next;
  });
}
