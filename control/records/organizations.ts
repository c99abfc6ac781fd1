// Queries and updates of organizations. Callers check access.
import type { Sql, Transaction } from '#postgres/sql.ts';
import type { Plan } from '#core/plans.ts';
import type { MachineSize } from '#core/sandbox/options.ts';
import type { Role } from '../access/permissions.ts';
import { newId } from './ids.ts';

/** A row of control.organization, with the caller's role. */
interface OrganizationRow {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly plan: Plan;
  readonly role: Role | null;
  readonly build_machine: MachineSize | null;
  readonly created_at: Date;
}

export const toOrganization = (row: OrganizationRow) => ({
  id: row.id,
  slug: row.slug,
  name: row.name,
  plan: row.plan,
  role: row.role,
  buildMachine: row.build_machine,
  createdAt: row.created_at.toISOString(),
});

/** Reads one organization; null if it does not exist. */
export async function readOrganization(
  sql: Sql | Transaction,
  id: string,
  accountId: string,
): Promise<OrganizationRow | null> {
  const [row] = await sql<OrganizationRow[]>`
    SELECT o.id, slug, name, plan, role, build_machine, o.created_at FROM control.organization o
    LEFT JOIN control.membership m ON m.organization_id = o.id AND m.account_id = ${accountId}
    WHERE o.id = ${id}`;
  return row ?? null;
}

/** Organizations of an account, by name; `ids` restricts them further. */
export async function listOrganizations(
  sql: Sql,
  accountId: string,
  onlyId: string | null,
  after: { readonly order: string; readonly id: string } | null,
  count: number,
): Promise<OrganizationRow[]> {
  return sql<OrganizationRow[]>`
    SELECT o.id, slug, name, plan, role, build_machine, o.created_at FROM control.organization o
    JOIN control.membership m ON m.organization_id = o.id
    WHERE m.account_id = ${accountId} ${onlyId === null ? sql`` : sql`AND o.id = ${onlyId}`}
      ${after === null ? sql`` : sql`AND (slug, o.id) > (${after.order}, ${after.id})`}
    ORDER BY slug, o.id LIMIT ${count}`;
}

/** Adds an organization with its owner; null if the slug is taken. */
export async function addOrganization(
  tx: Transaction,
  { name, slug, accountId }: { readonly name: string; readonly slug: string; readonly accountId: string },
): Promise<string | null> {
  const id = newId('organization');
  const { count } = await tx`
    INSERT INTO control.organization (id, slug, name) VALUES (${id}, ${slug}, ${name}) ON CONFLICT (slug) DO NOTHING`;
  if (count === 0) return null;
  await tx`INSERT INTO control.membership (organization_id, account_id, role) VALUES (${id}, ${accountId}, 'owner')`;
  return id;
}

/** Number of organizations that an account owns. */
export async function countOwned(sql: Sql | Transaction, accountId: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    SELECT count(*)::int FROM control.membership WHERE account_id = ${accountId} AND role = 'owner'`;
  return row!.count;
}

/**
 * Derives a slug from a name: lower-case letters, digits and single hyphens.
 *
 * @example slugOf('Acme & Sons') // 'acme-sons'
 */
export function slugOf(name: string): string {
  const plain = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-+|-+$/g, '');
  return plain === '' ? 'organization' : plain;
}
