// What a member has made in an organization that acts without asking who they are: it ends with the right to make it,
// by the end of the membership or by a weaker role. Tokens of the API and sessions ask for the role with each request.
// The rows are those of docs/sign-in.md, each with a test.
import type { Transaction } from '#postgres/sql.ts';
import { roleMay, type Permission, type Role } from '../access/permissions.ts';
import { changeProject } from './projects.ts';

/** Whose things in which organization. */
interface Maker {
  readonly organizationId: string;
  readonly accountId: string;
}

/** A kind of things that somebody can make. */
interface Made {
  /** What it takes to make one. */
  readonly permission: Permission;
  /** Ends all of them. @returns how many. */
  end(tx: Transaction, maker: Maker): Promise<number>;
}

const made: Readonly<Record<string, Made>> = {
  // Those that are for this organization alone; others reach nothing of it any more.
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
 * Ends what somebody has made and may not make any more.
 *
 * @param role that they have now; null: they are no member.
 * @returns how many of each kind, for the audit log; kinds of which there were none are left out.
 */
export async function endMade(
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
