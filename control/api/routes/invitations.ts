// Invitations to organizations: for a login on the Git host, or as a link for anyone who has it.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { GrantedRole, RoleSchema } from '../../access/role-schemas.ts';
import { newSecret } from '../../access/secrets.ts';
import { ApiError } from '../../http/errors.ts';
import { EmailAddress, Id, nullable, Timestamp } from '../../http/schemas.ts';
import { NO_MAIL } from '../../outbound/send-mail.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { newId } from '../../records/ids.ts';
import {
  addInvitation,
  countSeats,
  holdRole,
  invitationsFor,
  isMember,
  listInvitations,
  removeInvitation,
  toInvitation,
} from '../../records/members.ts';
import { countAttempt } from '../../sign-in/attempts.ts';
import { invitationUrl } from '../../sign-in/invitation-app.ts';
import type { RequestState } from '../request/middleware.ts';
import { needs } from '../request/needs.ts';

const DAYS = 7;
const DAYS_MAX = 30;

const Invitation = Type.Object({
  id: Id,
  organizationId: Id,
  organizationName: Type.String(),
  login: nullable(Type.String({ description: 'Login on the Git host. Null for a link or an email' })),
  email: nullable(Type.String({ description: 'Address that received the link' })),
  role: RoleSchema,
  createdAt: Timestamp,
  expiresAt: Timestamp,
});
const tags = ['members'];

export const invitations = platform<Dependencies, RequestState>()
  .get(
    '/orgs/:id/invitations',
    {
      ...needs('member:write', 'organization'),
      tags,
      summary: 'List open invitations',
      response: Type.Object({ items: Type.Array(Invitation) }),
    },
    async (ctx) => ({ items: (await listInvitations(ctx.env.sql, ctx.params.id)).map(toInvitation) }),
  )
  .post(
    '/orgs/:id/invitations',
    {
      ...needs('member:write', 'organization'),
      tags,
      summary: 'Invite by login on the Git host, by a link, or by mail',
      description:
        'With `login`, the invitation is for that login on the Git host. With `email`, the platform sends a link to that address. With neither, the response contains the link, which is not shown again. A link can be used once.',
      body: Type.Object({
        login: Type.Optional(Type.String({ minLength: 1, maxLength: 100, pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$' })),
        email: Type.Optional(EmailAddress),
        role: GrantedRole,
        expiresInDays: Type.Optional(Type.Integer({ minimum: 1, maximum: DAYS_MAX, description: `Default: ${DAYS}` })),
      }),
      response: {
        201: Type.Object({
          ...Invitation.properties,
          url: nullable(
            Type.String({ description: 'The link. Null for a login, and for a link that was sent by mail' }),
          ),
        }),
      },
    },
    async (ctx) => {
      const { accountId } = ctx.state.access.account('member:write');
      const { id } = ctx.params;
      const { login, email = null, role, expiresInDays: days = DAYS } = ctx.body;
      const { sql, limits, addresses, mail } = ctx.env;
      if (login !== undefined && email !== null)
        throw new ApiError('bad_request', { reason: 'body: pass login or email, not both' });
      if (email !== null) {
        if (!mail.isOn()) throw new ApiError('not_available', { reason: NO_MAIL });
        await countAttempt(sql, 'mail', accountId);
      }
      const { secret, hash: linkHash } = newSecret('pli');
      const allowed = limits.membersMax;
      const made = await sql.begin(async (tx) => {
        await holdRole(tx, id, accountId);
        if (login !== undefined && (await isMember(tx, id, login)))
          throw new ApiError('conflict', { reason: `${login} is already a member` });
        if ((await countSeats(tx, id)) >= allowed)
          throw new ApiError('limit_reached', {
            what: 'members and invitations',
            allowed: `${allowed} (API_MEMBERS_MAX)`,
          });
        const invitation = await addInvitation(tx, {
          id: newId('invitation'),
          organizationId: id,
          invited: login === undefined ? { linkHash, email } : { login },
          role,
          invitedBy: accountId,
          days,
        });
        await ctx.state.audit(tx, {
          organizationId: id,
          action: 'member.invite',
          subjectKind: 'invitation',
          subjectId: invitation.id,
          details: { ...subjectOf(invitation), role },
        });
        return invitation;
      });
      const url = login === undefined ? invitationUrl(addresses.ui, secret) : null;
      if (email === null || url === null) return ctx.json({ ...toInvitation(made), url }, 201);
      const { organization_name: name, expires_at: end } = made;
      const { error } = await mail.send({
        to: email,
        subject: `Join ${name}`,
        text: `You are invited to ${name} as ${role}. Open this address to accept:\n${url}\n\nIt can be used once, until ${end.toISOString().slice(0, 10)}. If you do not know ${name}, do nothing.`,
      });
      if (error !== null) {
        await sql.begin(async (tx) => {
          await removeInvitation(tx, made.id, id);
          await ctx.state.audit(tx, {
            organizationId: id,
            action: 'member.uninvite',
            subjectKind: 'invitation',
            subjectId: made.id,
            details: { email },
          });
        });
        throw new ApiError('unavailable', { reason: `The invitation could not be sent by mail: ${error}` });
      }
      return ctx.json({ ...toInvitation(made), url: null }, 201);
    },
  )
  .delete(
    '/orgs/:id/invitations/:invitationId',
    { ...needs('member:write', 'organization'), tags, summary: 'Withdraw an invitation', response: { 204: null } },
    async (ctx) => {
      const { id, invitationId } = ctx.params;
      await ctx.env.sql.begin(async (tx) => {
        const removed = await removeInvitation(tx, invitationId, id);
        if (removed === null) throw new ApiError('not_found');
        await ctx.state.audit(tx, {
          organizationId: id,
          action: 'member.uninvite',
          subjectKind: 'invitation',
          subjectId: invitationId,
          details: subjectOf(removed),
        });
      });
      return ctx.json(null, 204);
    },
  )
  .get(
    '/invitations',
    {
      ...needs('account:read'),
      tags,
      summary: 'List the invitations for the account',
      response: Type.Object({ items: Type.Array(Invitation) }),
    },
    async (ctx) => {
      const { accountId } = ctx.state.access.wholeAccount('account:read');
      return { items: (await invitationsFor(ctx.env.sql, accountId)).map(toInvitation) };
    },
  )
  .post(
    '/invitations/:id/accept',
    { ...needs('account:write'), tags, summary: 'Accept an invitation', response: { 204: null } },
    async (ctx) => {
      const { accountId } = ctx.state.access.wholeAccount('account:write');
      await ctx.env.sql.begin(async (tx) => {
        const mine = (await invitationsFor(tx, accountId)).find(({ id }) => id === ctx.params.id);
        if (mine === undefined) throw new ApiError('not_found');
        const { organization_id: organizationId, id } = mine;
        const before = await holdRole(tx, organizationId, accountId);
        const taken = await removeInvitation(tx, id, organizationId);
        if (taken === null) throw new ApiError('not_found');
        if (before === null)
          await tx`
            INSERT INTO control.membership (organization_id, account_id, role)
            VALUES (${organizationId}, ${accountId}, ${taken.role})`;
        await ctx.state.audit(tx, {
          organizationId,
          action: 'member.join',
          subjectKind: 'account',
          subjectId: accountId,
          details: { role: before ?? taken.role },
        });
      });
      return ctx.json(null, 204);
    },
  )
  .post(
    '/invitations/:id/decline',
    { ...needs('account:write'), tags, summary: 'Decline an invitation', response: { 204: null } },
    async (ctx) => {
      const { accountId } = ctx.state.access.wholeAccount('account:write');
      await ctx.env.sql.begin(async (tx) => {
        const mine = (await invitationsFor(tx, accountId)).find(({ id }) => id === ctx.params.id);
        if (mine === undefined) throw new ApiError('not_found');
        await removeInvitation(tx, mine.id, mine.organization_id);
        await ctx.state.audit(tx, {
          organizationId: mine.organization_id,
          action: 'member.decline',
          subjectKind: 'invitation',
          subjectId: mine.id,
        });
      });
      return ctx.json(null, 204);
    },
  );

/** The recipient of an invitation, for the audit log. */
function subjectOf({ login, email }: { readonly login: string | null; readonly email: string | null }) {
  return { ...(login !== null && { login }), ...(email !== null && { email }) };
}
