// Custom domains of projects: add, verify by a TXT record or a CNAME to the project's host, remove. The route record
// maps the domains. The edge (runtime/edge/), if there is one, issues certificates for the domains.
import Type from '#core/typebox/typebox.mjs';
import type { Transaction } from '#postgres/sql.ts';
import { platform } from '#packages/worker/index.ts';
import type { Permission } from '../../access/permissions.ts';
import { checkDomain } from '../../domains/check-domain.ts';
import { domainSchema, showDomain, showDomains } from '../../domains/domain-view.ts';
import { checkHostname } from '../../domains/hostname.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import {
  addDomain,
  countDomains,
  deleteDomain,
  listDomains,
  readDomain,
  type DomainRow,
  type NewDomain,
} from '../../records/domains.ts';
import { changeProject } from '../../records/projects.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { needs } from '../request/needs.ts';

const Hostname = Type.String({ minLength: 1, maxLength: 253 });
const Branch = Type.String({ minLength: 1, maxLength: 255 });
const tags = ['domains'];

export const domains = platform<Dependencies, RequestState>()
  .get(
    '/projects/:id/domains',
    {
      ...needs('domain:read', 'project'),
      tags,
      summary: 'List the custom domains of a project',
      response: Type.Object({ items: Type.Array(domainSchema) }),
    },
    async (ctx) => {
      const rows = await listDomains(ctx.env.sql, ctx.params.id);
      return { items: await showDomains(ctx.env, rows) };
    },
  )
  .post(
    '/projects/:id/domains',
    {
      ...needs('domain:write', 'project'),
      tags,
      summary: 'Add a custom domain; DNS records prove its ownership',
      body: Type.Object(
        { hostname: Hostname, branch: Type.Optional(Branch), redirectTo: Type.Optional(Hostname) },
        { additionalProperties: false },
      ),
      response: { 201: domainSchema },
    },
    async (ctx) => {
      const { projectId, organizationId } = await ctx.state.access.project('domain:write', ctx.params.id);
      const { addresses, limits } = ctx.env;
      const hostname = checkHostname('hostname', ctx.body.hostname, addresses);
      const { branch = null } = ctx.body;
      const redirectTo =
        ctx.body.redirectTo === undefined ? null : checkHostname('redirectTo', ctx.body.redirectTo, addresses);
      if (branch !== null && redirectTo !== null)
        throw new ApiError('unprocessable', {
          reason: 'body: branch and redirectTo exclude each other: leave out one of them',
        });
      const row = await ctx.env.sql.begin(async (tx) => {
        await checkRedirect(tx, { projectId, hostname, branch, redirectTo });
        const made = await addDomain(tx, { projectId, hostname, branch, redirectTo });
        if (made === null) throw new ApiError('conflict', { reason: `The project already has the domain ${hostname}` });
        const allowed = limits.domainsMax;
        if ((await countDomains(tx, projectId)) > allowed)
          throw new ApiError('limit_reached', { what: 'domains', allowed: `${allowed} (API_DOMAINS_MAX)` });
        await ctx.state.audit(tx, {
          organizationId,
          projectId,
          action: 'domain.create',
          subjectKind: 'domain',
          subjectId: made.id,
          details: { hostname, branch, redirectTo },
        });
        return made;
      });
      return ctx.json(await showDomain(ctx.env, row), 201);
    },
  )
  .get(
    '/domains/:id',
    { ...needs('domain:read'), tags, summary: 'Read a custom domain', response: domainSchema },
    async (ctx) => showDomain(ctx.env, await reach(ctx, 'domain:read')),
  )
  .post(
    '/domains/:id/verify',
    {
      ...needs('domain:write'),
      tags,
      summary: 'Check the DNS records now; the domain serves once they are correct',
      response: domainSchema,
    },
    async (ctx) => {
      const row = await reach(ctx, 'domain:write');
      const checked = await checkDomain(ctx.env, row, (tx, proof) =>
        ctx.state.audit(tx, {
          organizationId: row.organization_id,
          projectId: row.project_id,
          action: 'domain.verify',
          subjectKind: 'domain',
          subjectId: row.id,
          details: { hostname: row.hostname, problem: 'problem' in proof ? proof.problem : null },
        }),
      );
      if (checked.isTaken) throw new ApiError('conflict', { reason: 'Another project has verified this domain' });
      if (checked.row === null) throw new ApiError('not_found');
      return showDomain(ctx.env, checked.row);
    },
  )
  .delete(
    '/domains/:id',
    { ...needs('domain:write'), tags, summary: 'Remove a custom domain', response: { 204: null } },
    async (ctx) => {
      const row = await reach(ctx, 'domain:write');
      await ctx.env.sql.begin(async (tx) => {
        await deleteDomain(tx, row.id);
        await changeProject(tx, row.project_id, { settings: {} });
        await ctx.state.audit(tx, {
          organizationId: row.organization_id,
          projectId: row.project_id,
          action: 'domain.delete',
          subjectKind: 'domain',
          subjectId: row.id,
          details: { hostname: row.hostname },
        });
      });
      return ctx.json(null, 204);
    },
  );

/** Redirects must not point to their own host or to another redirect. @throws {ApiError} */
async function checkRedirect(tx: Transaction, { projectId, hostname, redirectTo }: NewDomain): Promise<void> {
  const [clash] = await tx<{ hostname: string; redirect_to: string }[]>`
    SELECT hostname, redirect_to FROM control.domain
    WHERE project_id = ${projectId} AND redirect_to IS NOT NULL
      AND (hostname = ${redirectTo} OR (redirect_to = ${hostname} AND ${redirectTo !== null})) LIMIT 1`;
  if (redirectTo === hostname)
    throw new ApiError('unprocessable', { reason: 'body.redirectTo: must not be the domain itself' });
  if (clash !== undefined)
    throw new ApiError('unprocessable', {
      reason: `body.redirectTo: ${clash.hostname} already redirects to ${clash.redirect_to}: redirect to the final domain`,
    });
}

/** The domain in the path, if the actor has the permission on its project. @throws {ApiError} */
async function reach(
  ctx: { readonly env: Dependencies; readonly state: RequestState; readonly params: { readonly id: string } },
  permission: Permission,
): Promise<DomainRow> {
  ctx.state.access.account(permission);
  const row = await readDomain(ctx.env.sql, ctx.params.id);
  if (row === null) throw new ApiError('not_found');
  await ctx.state.access.project(permission, row.project_id);
  return row;
}
