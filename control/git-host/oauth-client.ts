// The OAuth application of a Git host, which the operator enters once: its redirect URL to copy, and its secret.
import { seal } from '#core/encryption.ts';
import { clientContext } from '#git/host/grants.ts';
import type { OAuthClient } from '#git/host/oauth.ts';
import type { Dependencies } from '../process/dependencies.ts';
import type { HostRow, Noted } from './hosts.ts';

/**
 * Path at `AUTH_URL` to which a host redirects back. The path differs by host, so that a code of one host is never sent
 * to another.
 */
export function grantCallback(hostId: string): string {
  return `/api/auth/callback/git-hosts/${hostId}`;
}

/** Path of the page that connects an account. */
export function grantPage(hostId: string): string {
  return `/api/auth/git-hosts/${hostId}/connect`;
}

/** Stores the application of a host; null removes it, and accounts that it connected have to be connected again. */
export async function writeClient(
  { sql, keys }: Pick<Dependencies, 'sql' | 'keys'>,
  host: HostRow,
  client: OAuthClient | null,
  note: Noted,
): Promise<HostRow> {
  const secret = client === null ? null : seal(keys, client.clientSecret, clientContext(host.id));
  return sql.begin(async (tx) => {
    const [row] = await tx<HostRow[]>`
      UPDATE control.git_host SET oauth_client_id = ${client?.clientId ?? null}, oauth_client_secret = ${secret}
       WHERE id = ${host.id} RETURNING *`;
    await note(tx, host.id, host.name);
    return row!;
  });
}
