// Members of an organization.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { holdRole, listMembers, removeMember, setRole, toMember } from '../../records/members.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { needs } from '../request/needs.ts';
import { pageOf, pageQuery, readPage, toPage } from '../../http/page.ts';
import { Id, nullable, Timestamp } from '../../http/schemas.ts';
import { GrantedRole, RoleSchema } from '../../access/role-schemas.ts';

const Member = Type.Object({
  accountId: Id,
  login: Type.String(),
  name: Type.String(),
  avatarUrl: nullable(Type.String()),
  role: RoleSchema,
  isFromGroup: Type.Boolean({
    description: 'Whether the membership comes from a group at the OpenID Connect provider',
  }),
  createdAt: Timestamp,
});
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
        'Revokes everything that the new role could not create: tokens for platform dev, deploy hooks, keys of the AI gateway, the preview bypass, invitations.',
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
        'Revokes everything whose secret the member may know: tokens, tokens for platform dev, keys of the AI gateway, deploy hooks, the preview bypass, invitations.',
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
  );
