// Members of organizations, and invitations. An organization always has one owner.
import type { Sql, Transaction } from '#postgres/sql.ts';
import type { Role } from '../access/permissions.ts';
import { revokeCredentials } from './revoke-credentials.ts';

interface MemberRow {
  readonly account_id: string;
  readonly login: string;
  readonly name: string;
  readonly avatar_url: string | null;
  readonly role: Role;
  readonly is_from_group: boolean;
  readonly created_at: Date;
}

/** An invitation that has not expired. */
interface InvitationRow {
  readonly id: string;
  readonly organization_id: string;
  readonly organization_name: string;
  /** The login on the Git host; null if the invitation is a link. */
  readonly login: string | null;
  /** Recipient of the link; null if the link was not sent by email. */
  readonly email: string | null;
  readonly role: Role;
  readonly created_at: Date;
  readonly expires_at: Date;
}

export const toMember = (row: MemberRow) => ({
  accountId: row.account_id,
  login: row.login,
  name: row.name,
  avatarUrl: row.avatar_url,
  role: row.role,
  isFromGroup: row.is_from_group,
  createdAt: row.created_at.toISOString(),
});

export const toInvitation = (row: InvitationRow) => ({
  id: row.id,
  organizationId: row.organization_id,
  organizationName: row.organization_name,
  login: row.login,
  email: row.email,
  role: row.role,
  createdAt: row.created_at.toISOString(),
  expiresAt: row.expires_at.toISOString(),
});

type After = { readonly order: string; readonly id: string } | null;

export async function listMembers(sql: Sql, organizationId: string, after: After, count: number): Promise<MemberRow[]> {
  return sql<MemberRow[]>`
    SELECT account_id, login, name, avatar_url, role, is_from_group, m.created_at FROM control.membership m
    JOIN control.account a ON a.id = account_id
    WHERE organization_id = ${organizationId}
      ${after === null ? sql`` : sql`AND (login, account_id) > (${after.order}, ${after.id})`}
    ORDER BY login, account_id LIMIT ${count}`;
}

/** Role of an account, locked until the transaction ends; null if the account is not a member. */
export async function holdRole(tx: Transaction, organizationId: string, accountId: string): Promise<Role | null> {
  // Serializes changes of members per organization.
  await tx`SELECT 1 FROM control.organization WHERE id = ${organizationId} FOR UPDATE`;
  const [row] = await tx<{ role: Role }[]>`
    SELECT role FROM control.membership WHERE organization_id = ${organizationId} AND account_id = ${accountId}`;
  return row?.role ?? null;
}

/** Changes the role of a member. @returns the revoked credentials: see {@link revokeCredentials}. */
export async function setRole(tx: Transaction, organizationId: string, accountId: string, role: Role) {
  await tx`
    UPDATE control.membership SET role = ${role}
    WHERE organization_id = ${organizationId} AND account_id = ${accountId}`;
  return revokeCredentials(tx, { organizationId, accountId }, role);
}

/** Removes a member. @returns the revoked credentials: see {@link revokeCredentials}. */
export async function removeMember(tx: Transaction, organizationId: string, accountId: string) {
  await tx`DELETE FROM control.membership WHERE organization_id = ${organizationId} AND account_id = ${accountId}`;
  return revokeCredentials(tx, { organizationId, accountId }, null);
}

/** Number of members and open invitations. */
export async function countSeats(tx: Transaction, organizationId: string): Promise<number> {
  const [row] = await tx<{ count: number }[]>`
    SELECT ((SELECT count(*) FROM control.membership WHERE organization_id = ${organizationId})
      + (SELECT count(*) FROM control.invitation WHERE organization_id = ${organizationId} AND expires_at > now()))::int
      AS count`;
  return row!.count;
}

/** Whether a member has this login on the Git host. */
export async function isMember(tx: Transaction, organizationId: string, login: string): Promise<boolean> {
  const rows = await tx`
    SELECT 1 FROM control.membership m JOIN control.identity i ON i.account_id = m.account_id
    WHERE organization_id = ${organizationId} AND lower(i.login) = lower(${login})`;
  return rows.length > 0;
}

const invitationColumns = (sql: Sql | Transaction) => sql`
  i.id, i.organization_id, o.name AS organization_name, i.login, i.email, i.role, i.created_at, i.expires_at`;

/** The recipient of an invitation: a login on the Git host, or the holder of a link. */
type Invited = { readonly login: string } | { readonly linkHash: Buffer; readonly email: string | null };

/** Adds an invitation, or renews the login's existing one. */
export async function addInvitation(
  tx: Transaction,
  given: {
    readonly id: string;
    readonly organizationId: string;
    readonly invited: Invited;
    readonly role: Role;
    readonly invitedBy: string;
    readonly days: number;
  },
): Promise<InvitationRow> {
  const { invited } = given;
  const { login, linkHash, email } =
    'login' in invited
      ? { login: invited.login.toLowerCase(), linkHash: null, email: null }
      : { login: null, ...invited };
  const [row] = await tx<{ id: string }[]>`
    INSERT INTO control.invitation (id, organization_id, login, link_hash, email, role, invited_by, expires_at)
    VALUES (${given.id}, ${given.organizationId}, ${login}, ${linkHash}, ${email}, ${given.role}, ${given.invitedBy},
      now() + make_interval(days => ${given.days}))
    ON CONFLICT (organization_id, login) DO UPDATE
      SET role = excluded.role, invited_by = excluded.invited_by, expires_at = excluded.expires_at
    RETURNING id`;
  const [made] = await tx<InvitationRow[]>`
    SELECT ${invitationColumns(tx)} FROM control.invitation i JOIN control.organization o ON o.id = i.organization_id
    WHERE i.id = ${row!.id}`;
  return made!;
}

/** Open invitations of an organization. */
export async function listInvitations(sql: Sql, organizationId: string): Promise<InvitationRow[]> {
  return sql<InvitationRow[]>`
    SELECT ${invitationColumns(sql)} FROM control.invitation i JOIN control.organization o ON o.id = i.organization_id
    WHERE i.organization_id = ${organizationId} AND expires_at > now()
    ORDER BY i.login NULLS LAST, i.created_at, i.id LIMIT 1000`;
}

/** The open invitation of a link, or null. */
export async function findLink(sql: Sql | Transaction, linkHash: Buffer): Promise<InvitationRow | null> {
  const [row] = await sql<InvitationRow[]>`
    SELECT ${invitationColumns(sql)} FROM control.invitation i JOIN control.organization o ON o.id = i.organization_id
    WHERE i.link_hash = ${linkHash} AND expires_at > now()`;
  return row ?? null;
}

/** A link that was used, with the membership that it grants. */
export interface TakenLink {
  readonly organizationId: string;
  readonly role: Role;
  /** The address to which the platform sent the link, if it did: a person who has the link can read this mailbox. */
  readonly email: string | null;
}

/**
 * Uses up a link.
 *
 * @param accountId the account that joins; null for an account that is created in this transaction.
 * @returns null if the link is not open, or if the account is already a member, in which case the link stays open.
 */
export async function takeLink(tx: Transaction, linkHash: Buffer, accountId: string | null): Promise<TakenLink | null> {
  const link = await findLink(tx, linkHash);
  if (link === null) return null;
  const { id, organization_id: organizationId } = link;
  if ((await holdRole(tx, organizationId, accountId ?? '')) !== null) return null;
  const taken = await removeInvitation(tx, id, organizationId);
  return taken === null ? null : { organizationId, role: taken.role, email: taken.email };
}

/**
 * Makes an account a member, using an invitation link. If the platform sent the link to the account's email address,
 * this also verifies the address.
 */
export async function joinByLink(
  tx: Transaction,
  { organizationId, role, email }: TakenLink,
  accountId: string,
): Promise<void> {
  await tx`
    INSERT INTO control.membership (organization_id, account_id, role) VALUES (${organizationId}, ${accountId}, ${role})`;
  if (email === null) return;
  await tx`
    UPDATE control.account SET email = ${email}, email_proven_at = now()
    WHERE id = ${accountId} AND (email IS NULL OR lower(email) = lower(${email}))`;
}

/** Open invitations for an account's logins on the Git host. */
export async function invitationsFor(sql: Sql | Transaction, accountId: string): Promise<InvitationRow[]> {
  return sql<InvitationRow[]>`
    SELECT ${invitationColumns(sql)} FROM control.invitation i JOIN control.organization o ON o.id = i.organization_id
    WHERE i.login IN (SELECT lower(login) FROM control.identity WHERE account_id = ${accountId}) AND expires_at > now()
    ORDER BY i.created_at LIMIT 100`;
}

/** Deletes an invitation; returns null if it does not exist. */
export async function removeInvitation(
  tx: Transaction,
  id: string,
  organizationId: string,
): Promise<{ readonly login: string | null; readonly email: string | null; readonly role: Role } | null> {
  const [row] = await tx<{ login: string | null; email: string | null; role: Role }[]>`
    DELETE FROM control.invitation WHERE id = ${id} AND organization_id = ${organizationId}
    RETURNING login, email, role`;
  return row ?? null;
}
