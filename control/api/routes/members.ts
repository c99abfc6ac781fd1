// Members of an organization, and invitations by Git host login.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { newId } from '../../records/ids.ts';
import {
  addInvitation,
  countSeats,
  holdRole,
  invitationsFor,
  isMember,
  listInvitations,
  listMembers,
  removeInvitation,
  removeMember,
  setRole,
  toInvitation,
  toMember,
} from '../../records/members.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { needs } from '../request/needs.ts';
import { pageOf, pageQuery, readPage, toPage } from '../../http/page.ts';
import { Id, nullable, Timestamp } from '../../http/schemas.ts';
import { RoleSchema } from '../../access/role-schemas.ts';

const INVITATION_DAYS = 7;

const Member = Type.Object({
  accountId: Id,
  login: Type.String(),
  name: Type.String(),
  avatarUrl: nullable(Type.String()),
  role: RoleSchema,
  createdAt: Timestamp,
});
const Invitation = Type.Object({
  id: Id,
  organizationId: Id,
  organizationName: Type.String(),
  login: Type.String(),
  role: RoleSchema,
  createdAt: Timestamp,
  expiresAt: Timestamp,
});
const GrantedRole = Type.Enum(['admin', 'member', 'viewer']);
const tags = ['members'];

export const members = platform<Dependencies, RequestState>()
  .get(
    '/orgs/:id/members',
    {
      ...needs('organization:read', 'organization'),
      tags,
      summary: 'List the members of an organization',
      query: Type.Object(pageQuery),
      response: pageOf(Member),
    },
    async (ctx) => {
      const { count, after } = readPage(ctx.query);
      const rows = await listMembers(ctx.env.sql, ctx.params.id, after, count);
      return toPage(rows, count, toMember, (row) => ({ order: row.login, id: row.account_id }));
    },
  )
  .patch(
    '/orgs/:id/members/:accountId',
    {
      ...needs('member:write', 'organization'),
      tags,
      summary: "Change a member's role",
      description:
        'Revokes what the new role could not create: tokens for platform dev, deploy hooks, keys of the AI gateway, the preview bypass, invitations.',
      body: Type.Object({ role: GrantedRole }),
      response: { 204: null },
    },
    async (ctx) => {
      const { id, accountId } = ctx.params;
      const { role } = ctx.body;
      await ctx.env.sql.begin(async (tx) => {
        const before = await holdRole(tx, id, accountId);
        if (before === null) throw new ApiError('not_found');
        if (before === 'owner')
          throw new ApiError('conflict', {
            reason: 'The role of the owner cannot be changed: transfer the organization first',
          });
        const ended = await setRole(tx, id, accountId, role);
        await ctx.state.audit(tx, {
          organizationId: id,
          action: 'member.update',
          subjectKind: 'account',
          subjectId: accountId,
          details: { before, role, ...ended },
        });
      });
      return ctx.json(null, 204);
    },
  )
  .delete(
    '/orgs/:id/members/:accountId',
    {
      ...needs('member:write', 'organization'),
      tags,
      summary: 'Remove a member',
      description:
        'Revokes what the member created and may know the secret of: tokens, tokens for platform dev, keys of the AI gateway, deploy hooks, the preview bypass, invitations.',
      response: { 204: null },
    },
    async (ctx) => {
      const { id, accountId } = ctx.params;
      await ctx.env.sql.begin(async (tx) => {
        const role = await holdRole(tx, id, accountId);
        if (role === null) throw new ApiError('not_found');
        if (role === 'owner')
          throw new ApiError('conflict', { reason: 'The owner cannot be removed: transfer the organization first' });
        const ended = await removeMember(tx, id, accountId);
        await ctx.state.audit(tx, {
          organizationId: id,
          action: 'member.remove',
          subjectKind: 'account',
          subjectId: accountId,
          details: { role, ...ended },
        });
      });
      return ctx.json(null, 204);
    },
  )
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
      summary: 'Invite an account by its login on the Git host',
      body: Type.Object({
        login: Type.String({ minLength: 1, maxLength: 100, pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$' }),
        role: GrantedRole,
      }),
      response: { 201: Invitation },
    },
    async (ctx) => {
      const { accountId } = ctx.state.access.account('member:write');
      const { id } = ctx.params;
      const { login, role } = ctx.body;
      const allowed = ctx.env.limits.membersMax;
      const made = await ctx.env.sql.begin(async (tx) => {
        await holdRole(tx, id, accountId);
        if (await isMember(tx, id, login)) throw new ApiError('conflict', { reason: `${login} is already a member` });
        if ((await countSeats(tx, id)) >= allowed)
          throw new ApiError('limit_reached', {
            what: 'members and invitations',
            allowed: `${allowed} (API_MEMBERS_MAX)`,
          });
        const invitation = await addInvitation(tx, {
          id: newId('invitation'),
          organizationId: id,
          login,
          role,
          invitedBy: accountId,
          days: INVITATION_DAYS,
        });
        await ctx.state.audit(tx, {
          organizationId: id,
          action: 'member.invite',
          subjectKind: 'invitation',
          subjectId: invitation.id,
          details: { login, role },
        });
        return invitation;
      });
      return ctx.json(toInvitation(made), 201);
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
          details: { login: removed.login },
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
