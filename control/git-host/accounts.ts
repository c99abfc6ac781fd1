// Accounts on Git hosts that an organization connects by an access token, or by a grant of the host's OAuth
// application. The token is checked immediately, and stored encrypted. On the host, the token needs the permissions
// that the platform uses for connected repositories.
import { seal } from '#core/encryption.ts';
import { accountContext, openClient, openGrant, sealGrant } from '#git/host/grants.ts';
import { revokeGrant, type Grant } from '#git/host/oauth.ts';
import { openTokenHost, tokenHostKinds } from '#git/host/token-hosts.ts';
import type { Sql } from '#postgres/sql.ts';
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { newId } from '../records/ids.ts';
import { asTokenErrors, type HostRow, type Noted } from './hosts.ts';
import { disconnectReasons } from './installations.ts';

/** Accounts of an organization on one host. */
const ACCOUNTS_MAX = 20;
/** The permissions that every such token has, as GitHub Apps name them. */
const granted = { contents: 'read', statuses: 'write', pull_requests: 'write' };

/** An account's row, with its host. */
export interface AccountRow {
  readonly id: string;
  readonly git_host_id: string;
  readonly host_name: string;
  readonly account_login: string;
  /** Null if the expiry is unknown, if the token never expires, and for a grant, which is renewed. */
  readonly token_expires_at: Date | null;
  readonly is_grant: boolean;
  readonly problem: string | null;
  readonly created_at: Date;
}

/** How an account is connected: a token that a person created, or a grant of the host's OAuth application. */
type Credential = { readonly token: string } | { readonly grant: Grant };

/**
 * Connects the account of a token or a grant, or replaces its token.
 *
 * @returns the id of the account's record
 * @throws {ApiError} `unprocessable` for a token that is refused or lacks scopes, `unavailable` if the host does not
 * respond.
 */
export async function connectAccount(
  deps: Pick<Dependencies, 'sql' | 'keys' | 'git'>,
  host: HostRow,
  { organizationId, credential }: { readonly organizationId: string; readonly credential: Credential },
  note: Noted,
): Promise<string> {
  const { keys, git } = deps;
  const isGrant = 'grant' in credential;
  const token = isGrant ? credential.grant.accessToken : credential.token;
  const opened = openTokenHost(git, host, { token: () => Promise.resolve(token), isGrant });
  const account = await asTokenErrors(() => opened.readAccount());
  const { tokenAdvice, oauth } = tokenHostKinds[host.kind];
  if (account.missing.length > 0)
    throw new ApiError('unprocessable', {
      reason: isGrant
        ? `The OAuth application lacks ${account.missing.join(' and ')}: create it ${oauth.advice}`
        : `The token lacks ${account.missing.join(' and ')}: create ${tokenAdvice}`,
    });
  if (account.expiresAt !== null && account.expiresAt.getTime() <= Date.now())
    throw new ApiError('unprocessable', { reason: 'The token has expired: create a new one' });
  return deps.sql.begin(async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`git-accounts:${organizationId}`}, 0))`;
    const rows = await tx<{ id: string; account_login: string }[]>`
      SELECT id, account_login FROM control.installation
       WHERE organization_id = ${organizationId} AND git_host_id = ${host.id}`;
    const known = rows.find(({ account_login: login }) => login === account.login);
    if (known === undefined && rows.length >= ACCOUNTS_MAX)
      throw new ApiError('conflict', { reason: `The organization has ${ACCOUNTS_MAX} accounts on ${host.name}` });
    const id = known?.id ?? newId('gitAccount');
    const sealed = isGrant ? sealGrant(keys, id, credential.grant) : seal(keys, token, accountContext(id));
    await tx`
      INSERT INTO control.installation (id, organization_id, account_login, permissions, git_host_id, token, is_grant,
        token_expires_at)
      VALUES (${id}, ${organizationId}, ${account.login}, ${tx.json(granted)}, ${host.id}, ${sealed}, ${isGrant},
        ${account.expiresAt})
      ON CONFLICT (id) DO UPDATE
         SET token = excluded.token, is_grant = excluded.is_grant, token_expires_at = excluded.token_expires_at,
             problem = NULL`;
    // Checks the repositories again, because the previous token may not have worked.
    if (known !== undefined) await tx`UPDATE control.repository SET checked_at = NULL WHERE installation_id = ${id}`;
    await note(tx, id, `${account.login} on ${host.name}`);
    return id;
  });
}

/** The accounts of an organization. */
export async function listAccounts(sql: Sql, organizationId: string): Promise<AccountRow[]> {
  return sql<AccountRow[]>`
    SELECT installation.id, git_host_id, git_host.name AS host_name, account_login, token_expires_at, is_grant, problem,
           installation.created_at
      FROM control.installation JOIN control.git_host ON git_host.id = installation.git_host_id
     WHERE organization_id = ${organizationId} ORDER BY git_host.name, account_login`;
}

/**
 * Deletes an account's token and disconnects its repositories, which another account can connect again.
 *
 * @returns a function that revokes the grant, if there is one: call it after the record is deleted.
 * @throws {ApiError} `not_found`
 */
export async function removeAccount(
  deps: Pick<Dependencies, 'sql' | 'keys' | 'git' | 'log'>,
  { organizationId, id }: { readonly organizationId: string; readonly id: string },
  note: Noted,
): Promise<() => Promise<void>> {
  const { sql } = deps;
  const revoke = await revocation(deps, sql`installation.id = ${id} AND organization_id = ${organizationId}`);
  await sql.begin(async (tx) => {
    await tx`
      UPDATE control.repository SET disconnected_at = now(), disconnect_reason = ${disconnectReasons.account}
       WHERE installation_id = ${id} AND organization_id = ${organizationId} AND disconnected_at IS NULL`;
    const [row] = await tx<{ account_login: string }[]>`
      DELETE FROM control.installation
       WHERE id = ${id} AND organization_id = ${organizationId} AND git_host_id IS NOT NULL RETURNING account_login`;
    if (row === undefined) throw new ApiError('not_found');
    await note(tx, id, row.account_login);
  });
  return revoke;
}

/** Prepares to revoke the grants of accounts on their hosts: call the result once their records are deleted. */
export async function revocation(
  { sql, keys, git, log }: Pick<Dependencies, 'sql' | 'keys' | 'git' | 'log'>,
  condition: ReturnType<Sql>,
): Promise<() => Promise<void>> {
  const rows = await sql<(HostRow & { readonly account_id: string; readonly token: Uint8Array })[]>`
    SELECT git_host.*, installation.id AS account_id, installation.token
      FROM control.installation JOIN control.git_host ON git_host.id = installation.git_host_id
     WHERE is_grant AND ${condition}`;
  return async () => {
    for (const row of rows) {
      try {
        const client = openClient(keys, row);
        const grant = openGrant(keys, { id: row.account_id, token: row.token });
        if (client !== null) await revokeGrant(git, row, client, grant);
      } catch (error) {
        log.warn({ reason: (error as Error).message, host: row.id }, 'The grant could not be revoked on the Git host');
      }
    }
  };
}
