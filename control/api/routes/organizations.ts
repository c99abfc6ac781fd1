// Organizations: create, rename, transfer, leave, delete.
import Type from '#core/typebox/typebox.mjs';
import { isProjectName } from '#core/names.ts';
import { plans } from '#core/plans.ts';
import { MACHINE_SIZES } from '#core/sandbox/options.ts';
import { platform } from '#packages/worker/index.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { holdRole, removeMember, setRole } from '../../records/members.ts';
import {
  addOrganization,
  countOwned,
  listOrganizations,
  readOrganization,
  slugOf,
  toOrganization,
} from '../../records/organizations.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { needs } from '../request/needs.ts';
import { pageOf, pageQuery, readPage, toPage } from '../../http/page.ts';
import { Id, nullable, ONE_LINE, Timestamp } from '../../http/schemas.ts';
import { RoleSchema } from '../../access/role-schemas.ts';

/** Null means the operator's setting. */
const BuildMachine = nullable(Type.Enum([...MACHINE_SIZES]));
const Organization = Type.Object({
  id: Id,
  slug: Type.String(),
  name: Type.String(),
  plan: Type.Enum([...plans]),
  role: nullable(RoleSchema),
  buildMachine: BuildMachine,
  createdAt: Timestamp,
});
const Name = Type.String({ minLength: 1, maxLength: 80, pattern: ONE_LINE.replace('^', '^(?=.*\\S)') });
const Slug = Type.String({ maxLength: 40 });
const tags = ['organizations'];

function checkSlug(slug: string): string {
  if (isProjectName(slug)) return slug;
  throw new ApiError('bad_request', {
    reason: 'body.slug: must have lower-case letters, digits and single hyphens, at most 40 characters',
  });
}

export const organizations = platform<Dependencies, RequestState>()
  .get(
    '/orgs',
    {
      ...needs('account:read'),
      tags,
      summary: 'List the organizations of the account',
      query: Type.Object(pageQuery),
      response: pageOf(Organization),
    },
    async (ctx) => {
      const { accountId, token } = ctx.state.access.account('account:read');
      const { count, after } = readPage(ctx.query);
      const rows = await listOrganizations(ctx.env.sql, accountId, token?.organizationId ?? null, after, count);
      return toPage(rows, count, toOrganization, ({ slug, id }) => ({ order: slug, id }));
    },
  )
  .post(
    '/orgs',
    {
      ...needs('account:write'),
      tags,
      summary: 'Create an organization; the account becomes its owner',
      body: Type.Object({ name: Name, slug: Type.Optional(Slug) }),
      response: { 201: Organization },
    },
    async (ctx) => {
      const { accountId } = ctx.state.access.wholeAccount('account:write');
      const { name } = ctx.body;
      const slug = ctx.body.slug === undefined ? slugOf(name) : checkSlug(ctx.body.slug);
      const allowed = ctx.env.limits.organizationsMax;
      const made = await ctx.env.sql.begin(async (tx) => {
        await tx`SELECT 1 FROM control.account WHERE id = ${accountId} FOR UPDATE`;
        if ((await countOwned(tx, accountId)) >= allowed)
          throw new ApiError('limit_reached', { what: 'organizations', allowed: `${allowed} (API_ORGANIZATIONS_MAX)` });
        const id = await addOrganization(tx, { name, slug, accountId });
        if (id === null) throw new ApiError('conflict', { reason: `The slug ${slug} is taken` });
        await ctx.state.audit(tx, {
          organizationId: id,
          action: 'organization.create',
          subjectKind: 'organization',
          subjectId: id,
          details: { name, slug },
        });
        return readOrganization(tx, id, accountId);
      });
      return ctx.json(toOrganization(made!), 201);
    },
  )
  .get(
    '/orgs/:id',
    { ...needs('organization:read', 'organization'), tags, summary: 'Read an organization', response: Organization },
    async (ctx) => {
      const { accountId } = ctx.state.access.account('organization:read');
      return toOrganization((await readOrganization(ctx.env.sql, ctx.params.id, accountId))!);
    },
  )
  .patch(
    '/orgs/:id',
    {
      ...needs('organization:write', 'organization'),
      tags,
      summary: 'Rename an organization, or change the machine size of its sandbox builds',
      body: Type.Object({
        name: Type.Optional(Name),
        slug: Type.Optional(Slug),
        buildMachine: Type.Optional(BuildMachine),
      }),
      response: Organization,
    },
    async (ctx) => {
      const { accountId } = ctx.state.access.account('organization:write');
      const { id } = ctx.params;
      const name = ctx.body.name ?? null;
      const slug = ctx.body.slug === undefined ? null : checkSlug(ctx.body.slug);
      const { buildMachine } = ctx.body;
      return ctx.env.sql.begin(async (tx) => {
        if (slug !== null) {
          const taken = await tx`SELECT 1 FROM control.organization WHERE slug = ${slug} AND id <> ${id}`;
          if (taken.length > 0) throw new ApiError('conflict', { reason: `The slug ${slug} is taken` });
        }
        await tx`
          UPDATE control.organization SET name = coalesce(${name}, name), slug = coalesce(${slug}, slug),
            build_machine = ${buildMachine === undefined ? tx`build_machine` : buildMachine}
          WHERE id = ${id}`;
        await ctx.state.audit(tx, {
          organizationId: id,
          action: 'organization.update',
          subjectKind: 'organization',
          subjectId: id,
          details: {
            ...(name !== null && { name }),
            ...(slug !== null && { slug }),
            ...(buildMachine !== undefined && { buildMachine }),
          },
        });
        return toOrganization((await readOrganization(tx, id, accountId))!);
      });
    },
  )
  .delete(
    '/orgs/:id',
    {
      ...needs('organization:delete', 'organization'),
      tags,
      summary: 'Delete an organization without projects; `slug` confirms it',
      query: Type.Object({ slug: Slug }),
      response: { 204: null },
    },
    async (ctx) => {
      const { id } = ctx.params;
      await ctx.env.sql.begin(async (tx) => {
        const [row] = await tx<{ slug: string; is_first: boolean }[]>`
          SELECT slug, is_first FROM control.organization WHERE id = ${id} FOR UPDATE`;
        if (row === undefined) throw new ApiError('not_found');
        if (row.slug !== ctx.query.slug)
          throw new ApiError('unprocessable', { reason: 'query.slug: must be the slug of this organization' });
        if (row.is_first)
          throw new ApiError('conflict', {
            reason: 'The first organization cannot be deleted: it belongs to the operator',
          });
        const projects = await tx`SELECT 1 FROM control.project WHERE organization_id = ${id} AND deleted_at IS NULL`;
        if (projects.length > 0)
          throw new ApiError('conflict', { reason: 'The organization has projects: delete them first' });
        // Deleted projects keep their names, since their data is stored under them.
        const gone = await tx`SELECT 1 FROM control.project WHERE organization_id = ${id} LIMIT 1`;
        if (gone.length > 0) {
          await tx`DELETE FROM control.membership WHERE organization_id = ${id}`;
          await tx`UPDATE control.token SET revoked_at = now() WHERE organization_id = ${id} AND revoked_at IS NULL`;
          await tx`DELETE FROM control.ai_token WHERE organization_id = ${id}`;
          await tx`DELETE FROM control.invitation WHERE organization_id = ${id}`;
          await tx`UPDATE control.organization SET slug = id WHERE id = ${id}`;
        } else await tx`DELETE FROM control.organization WHERE id = ${id}`;
        await ctx.state.audit(tx, {
          organizationId: id,
          action: 'organization.delete',
          subjectKind: 'organization',
          subjectId: id,
          details: { slug: row.slug },
        });
      });
      return ctx.json(null, 204);
    },
  )
  .post(
    '/orgs/:id/transfer',
    {
      ...needs('organization:delete', 'organization'),
      tags,
      summary: 'Transfer the ownership to another member; the owner becomes an admin',
      body: Type.Object({ accountId: Id }),
      response: Organization,
    },
    async (ctx) => {
      const { accountId } = ctx.state.access.account('organization:delete');
      const { id } = ctx.params;
      const next = ctx.body.accountId;
      return ctx.env.sql.begin(async (tx) => {
        const role = await holdRole(tx, id, next);
        if (role === null)
          throw new ApiError('unprocessable', { reason: 'body.accountId: must be a member of the organization' });
        if ((await holdRole(tx, id, accountId)) !== 'owner')
          throw new ApiError('forbidden', { permission: 'organization:delete' });
        if (next !== accountId) {
          await setRole(tx, id, accountId, 'admin');
          await setRole(tx, id, next, 'owner');
        }
        await ctx.state.audit(tx, {
          organizationId: id,
          action: 'organization.transfer',
          subjectKind: 'account',
          subjectId: next,
        });
        return toOrganization((await readOrganization(tx, id, accountId))!);
      });
    },
  )
  .post(
    '/orgs/:id/leave',
    { ...needs('organization:leave', 'organization'), tags, summary: 'Leave an organization', response: { 204: null } },
    async (ctx) => {
      const { accountId } = ctx.state.access.account('organization:leave');
      const { id } = ctx.params;
      await ctx.env.sql.begin(async (tx) => {
        const role = await holdRole(tx, id, accountId);
        if (role === 'owner')
          throw new ApiError('conflict', { reason: 'The owner cannot leave the organization: transfer it first' });
        const ended = await removeMember(tx, id, accountId);
        await ctx.state.audit(tx, {
          organizationId: id,
          action: 'member.leave',
          subjectKind: 'account',
          subjectId: accountId,
          details: ended,
        });
      });
      return ctx.json(null, 204);
    },
  );
