// Memberships that come from groups at the OpenID Connect provider (OIDC_GROUPS), applied at each sign-in: added,
// changed and removed. Owners, and memberships of another origin, do not change. Used by oidc-accounts.ts.
import type { Transaction } from '#postgres/sql.ts';
import type { GroupRole, OidcPerson } from '../access/oidc/provider.ts';
import type { Role } from '../access/permissions.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { writeAudit } from '../records/audit.ts';
import { countSeats, removeMember, setRole } from '../records/members.ts';

type Env = Pick<Dependencies, 'signIn' | 'limits' | 'log'>;

/** Roles by organization id. */
type Roles = ReadonlyMap<string, GroupRole>;

/** From the weakest. */
const ROLES: readonly GroupRole[] = ['viewer', 'member', 'admin'];
const SYSTEM = { actor: null, address: null, requestId: null };

/**
 * Locks the organizations that a sign-in may change, in the order of their ids: two sign-ins must not wait for each
 * other.
 *
 * @returns the strongest role of the person's groups for each organization.
 */
export async function holdOrganizations(
  { signIn, log }: Env,
  tx: Transaction,
  { groups }: Pick<OidcPerson, 'groups'>,
  { accountId, invitation }: { readonly accountId: string | null; readonly invitation: Buffer | null },
): Promise<Roles> {
  const { groups: rules = [] } = signIn.oidc?.settings ?? {};
  const theirs = new Set(groups);
  const bySlug = new Map<string, GroupRole>();
  for (const { group, organization, role } of rules) {
    const before = bySlug.get(organization);
    const isStronger = before === undefined || ROLES.indexOf(role) > ROLES.indexOf(before);
    if (theirs.has(group) && isStronger) bySlug.set(organization, role);
  }
  const rows = await tx<{ id: string; slug: string }[]>`
    SELECT id, slug FROM control.organization
    WHERE slug = ANY(${[...bySlug.keys()]})
      OR id IN (SELECT organization_id FROM control.invitation WHERE link_hash = ${invitation})
      OR id IN (SELECT organization_id FROM control.membership WHERE account_id = ${accountId} AND is_from_group)
    ORDER BY id FOR UPDATE`;
  const bySlugFound = new Map(rows.map(({ id, slug }) => [slug, id]));
  for (const slug of bySlug.keys())
    if (!bySlugFound.has(slug))
      log.warn({ organization: slug }, 'OIDC_GROUPS names an organization that does not exist');
  return new Map(
    [...bySlug].flatMap(([slug, role]) => (bySlugFound.has(slug) ? [[bySlugFound.get(slug)!, role]] : [])),
  );
}

/** Adds, changes and removes memberships. @param roles of {@link holdOrganizations}. */
export async function applyGroups(
  { limits, log }: Pick<Env, 'limits' | 'log'>,
  tx: Transaction,
  accountId: string,
  roles: Roles,
): Promise<void> {
  const rows = await tx<{ organization_id: string; role: Role; is_from_group: boolean }[]>`
    SELECT organization_id, role, is_from_group FROM control.membership WHERE account_id = ${accountId}`;
  const current = new Map(rows.map((row) => [row.organization_id, row]));
  const subject = { subjectKind: 'account', subjectId: accountId };
  for (const [organizationId, role] of roles) {
    const before = current.get(organizationId);
    if (before === undefined) {
      if ((await countSeats(tx, organizationId)) >= limits.membersMax) {
        log.warn({ organizationId, accountId }, 'Groups add no member: API_MEMBERS_MAX is reached');
        continue;
      }
      await tx`
        INSERT INTO control.membership (organization_id, account_id, role, is_from_group)
        VALUES (${organizationId}, ${accountId}, ${role}, true)`;
      const details = { role, by: 'group' };
      await writeAudit(tx, SYSTEM, { organizationId, action: 'member.join', ...subject, details });
    } else if (before.is_from_group && before.role !== 'owner' && before.role !== role) {
      const ended = await setRole(tx, organizationId, accountId, role);
      const details = { before: before.role, role, by: 'group', ...ended };
      await writeAudit(tx, SYSTEM, { organizationId, action: 'member.update', ...subject, details });
    }
  }
  for (const { organization_id: organizationId, role, is_from_group: isFromGroup } of rows) {
    if (!isFromGroup || role === 'owner' || roles.has(organizationId)) continue;
    const ended = await removeMember(tx, organizationId, accountId);
    const details = { role, by: 'group', ...ended };
    await writeAudit(tx, SYSTEM, { organizationId, action: 'member.remove', ...subject, details });
  }
}
