// Revokes credentials that a member created in an organization, once the member leaves or gets a role that may not
// create them. API tokens and sessions check the role with each request. Called by members.ts; docs/sign-in.md lists
// what is revoked.
import type { Transaction } from '#postgres/sql.ts';
import { roleMay, type Permission, type Role } from '../access/permissions.ts';
import { changeProject } from './projects.ts';

/** A member, or former member, of an organization. */
interface Maker {
  readonly organizationId: string;
  readonly accountId: string;
}

/** A kind of credential. */
interface Made {
  /** Permission that is required to create the credential. */
  readonly permission: Permission;
  /** Revokes all credentials of this kind that a member created. @returns how many. */
  end(tx: Transaction, maker: Maker): Promise<number>;
}

const made: Readonly<Record<string, Made>> = {
  // Revokes only tokens that are bound to this organization: other tokens lost access to it with the membership.
  tokens: {
    permission: 'organization:read',
    async end(tx, { organizationId, accountId }) {
      const { count } = await tx`
        UPDATE control.token SET revoked_at = now()
        WHERE organization_id = ${organizationId} AND account_id = ${accountId} AND revoked_at IS NULL`;
      return count;
    },
  },
  devTokens: { permission: 'deployment:create', end: (tx, maker) => endAiTokens(tx, maker, 'dev') },
  aiKeys: { permission: 'token:write', end: (tx, maker) => endAiTokens(tx, maker, 'key') },
  deployHooks: {
    permission: 'project:write',
    async end(tx, { organizationId, accountId }) {
      const { count } = await tx`
        DELETE FROM control.deploy_hook WHERE created_by = ${accountId}
          AND project_id IN (SELECT id FROM control.project WHERE organization_id = ${organizationId})`;
      return count;
    },
  },
  previewBypasses: {
    permission: 'project:write',
    async end(tx, { organizationId, accountId }) {
      const projects = await tx<{ id: string }[]>`
        SELECT id FROM control.project WHERE organization_id = ${organizationId} AND deleted_at IS NULL
          AND settings->>'previewBypassBy' = ${accountId} FOR UPDATE`;
      const settings = { previewBypassHash: null, previewBypassBy: null };
      for (const { id } of projects) await changeProject(tx, id, { settings });
      return projects.length;
    },
  },
  invitations: {
    permission: 'member:write',
    async end(tx, { organizationId, accountId }) {
      const { count } = await tx`
        DELETE FROM control.invitation WHERE organization_id = ${organizationId} AND invited_by = ${accountId}`;
      return count;
    },
  },
};

async function endAiTokens(tx: Transaction, { organizationId, accountId }: Maker, kind: 'dev' | 'key') {
  const { count } = await tx`
    DELETE FROM control.ai_token
    WHERE organization_id = ${organizationId} AND kind = ${kind} AND created_by = ${accountId}`;
  return count;
}

/**
 * Revokes credentials that the member could not create now.
 *
 * @param role the current role; null means that the account is no longer a member.
 * @returns the number of revoked credentials by kind, for the audit log, without zeros.
 */
export async function revokeCredentials(
  tx: Transaction,
  maker: Maker,
  role: Role | null,
): Promise<Readonly<Record<string, number>>> {
  const ended: Record<string, number> = {};
  for (const [kind, { permission, end }] of Object.entries(made)) {
    if (role !== null && roleMay(role, permission)) continue;
    const count = await end(tx, maker);
    if (count > 0) ended[kind] = count;
  }
  return ended;
}
