// Updates connections when an installation of the application is created, deleted or gets other repositories.
// Deployments are always kept.
import type { Dependencies } from '../process/dependencies.ts';
import type { InstallationChange, InstallationRepositories } from '#git/host/delivery.ts';

/** Why a repository is disconnected, as stored in its row. */
export const disconnectReasons = {
  deleted: 'the repository was deleted on the Git host',
  archived: 'the repository was archived on the Git host',
  uninstalled: 'the application was uninstalled on the Git host',
  suspended: 'the application was suspended on the Git host',
  transferred: 'the repository went to another owner on the Git host: connect it again',
  unreachable: 'the application was denied the repository on the Git host',
  gone: 'the repository was deleted on the Git host, or its account can no longer see it',
  account: 'the account on the Git host was disconnected: connect the repository again',
} as const;

/** @returns the result, stored with the delivery */
export async function handleInstallation({ sql }: Dependencies, change: InstallationChange): Promise<string> {
  const { action, installationId: id, accountLogin: login, permissions } = change;
  if (action === 'created' || action === 'new_permissions_accepted' || action === 'unsuspend') {
    await sql`
      INSERT INTO control.installation (id, account_login, permissions) VALUES (${id}, ${login}, ${sql.json(permissions)})
      ON CONFLICT (id) DO UPDATE
         SET account_login = excluded.account_login, permissions = excluded.permissions, suspended_at = NULL`;
    if (action === 'unsuspend') await reconnect(sql, id, null, 'suspended');
    return action;
  }
  if (action === 'suspend') {
    await sql`UPDATE control.installation SET suspended_at = now() WHERE id = ${id}`;
    await disconnect(sql, id, null, 'suspended');
    return action;
  }
  await disconnect(sql, id, null, 'uninstalled');
  await sql`DELETE FROM control.installation WHERE id = ${id}`;
  return action;
}

/** @returns the result, stored with the delivery */
export async function handleInstallationRepositories(
  { sql }: Dependencies,
  { installationId, added, removed }: InstallationRepositories,
): Promise<string> {
  if (removed.length > 0) await disconnect(sql, installationId, removed, 'unreachable');
  if (added.length > 0) await reconnect(sql, installationId, added, 'unreachable');
  return 'noted';
}

type Reason = keyof typeof disconnectReasons;

async function disconnect(
  sql: Dependencies['sql'],
  installationId: string,
  hostIds: readonly string[] | null,
  reason: Reason,
): Promise<void> {
  await sql`
    UPDATE control.repository SET disconnected_at = now(), disconnect_reason = ${disconnectReasons[reason]}
     WHERE installation_id = ${installationId} AND disconnected_at IS NULL
       ${hostIds === null ? sql`` : sql`AND host_id IN ${sql(hostIds)}`}`;
}

/** Reconnects only repositories that were disconnected for the same reason. */
async function reconnect(
  sql: Dependencies['sql'],
  installationId: string,
  hostIds: readonly string[] | null,
  reason: Reason,
): Promise<void> {
  await sql`
    UPDATE control.repository SET disconnected_at = NULL, disconnect_reason = NULL
     WHERE installation_id = ${installationId} AND disconnect_reason = ${disconnectReasons[reason]}
       ${hostIds === null ? sql`` : sql`AND host_id IN ${sql(hostIds)}`}`;
}
