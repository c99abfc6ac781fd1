// Custom domains of projects: asked for, proved by a TXT record, removed. Certificates are not issued here: a domain
// answers by http, or by https where a proxy in front holds its certificate.
import { isIP } from 'node:net';
import Type from 'typebox';
import { platform } from '#packages/worker/index.ts';
import type { Permission } from '../../access/permissions.ts';
import type { Parts } from '../../parts.ts';
import {
  addDomain,
  countDomains,
  deleteDomain,
  listDomains,
  readDomain,
  settleDomain,
  toDomain,
  type DomainRow,
} from '../../records/domains.ts';
import { enqueueEvent } from '../../webhooks/events.ts';
import { changeProject } from '../../records/projects.ts';
import type { RequestState } from '../app.ts';
import { ApiError } from '../errors.ts';
import { needs } from '../needs.ts';
import { Id, nullable, Timestamp } from '../schemas.ts';

const NOTE =
  'Point the host at this platform (CNAME or A). Certificates are not issued by this version: it answers by http, or by https where a proxy in front has a certificate.';
const Hostname = Type.String({ minLength: 1, maxLength: 253 });
const Branch = Type.String({ minLength: 1, maxLength: 255 });
const Domain = Type.Object({
  id: Id,
  projectId: Id,
  hostname: Type.String(),
  branch: nullable(Type.String()),
  redirectTo: nullable(Type.String()),
  status: Type.Enum(['pending_verification', 'verifying', 'issuing', 'active', 'error']),
  verification: Type.Object({ type: Type.Literal('TXT'), name: Type.String(), value: Type.String() }),
  // What the last verification found wrong.
  problem: nullable(Type.String()),
  certificate: nullable(Type.Object({ issuer: Type.String(), expiresAt: Timestamp })),
  note: Type.String(),
  createdAt: Timestamp,
  verifiedAt: nullable(Timestamp),
});
const tags = ['domains'];
const shown = (row: DomainRow) => ({ ...toDomain(row), note: NOTE });

/** The hostname in lower case. @throws {ApiError} for what is none, or is the platform's own. */
function checkHostname(name: string, given: string, { domain, api, ui }: Parts['addresses']): string {
  const hostname = given.toLowerCase().replace(/\.$/, '');
  const refuse = (reason: string): never => {
    throw new ApiError('unprocessable', { reason: `body.${name}: ${reason}` });
  };
  const isName = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(hostname);
  if (!isName || hostname.length > 253 || isIP(hostname) !== 0) refuse('is no hostname such as www.example.com');
  const own = [domain, new URL(api).hostname, new URL(ui).hostname, 'localhost'];
  if (own.some((host) => hostname === host || hostname.endsWith(`.${host}`))) refuse("is one of the platform's own");
  return hostname;
}

export const domains = platform<Parts, RequestState>()
  .get(
    '/projects/:id/domains',
    {
      ...needs('domain:read', 'project'),
      tags,
      summary: 'List the custom domains of a project',
      response: Type.Object({ items: Type.Array(Domain) }),
    },
    async (ctx) => ({ items: (await listDomains(ctx.env.sql, ctx.params.id)).map(shown) }),
  )
  .post(
    '/projects/:id/domains',
    {
      ...needs('domain:write', 'project'),
      tags,
      summary: 'Ask for a custom domain; its TXT record proves that it is yours',
      body: Type.Object(
        { hostname: Hostname, branch: Type.Optional(Branch), redirectTo: Type.Optional(Hostname) },
        { additionalProperties: false },
      ),
      response: { 201: Domain },
    },
    async (ctx) => {
      const { projectId, organizationId } = await ctx.state.access.project('domain:write', ctx.params.id);
      const { addresses, limits } = ctx.env;
      const hostname = checkHostname('hostname', ctx.body.hostname, addresses);
      const redirectTo =
        ctx.body.redirectTo === undefined ? null : checkHostname('redirectTo', ctx.body.redirectTo, addresses);
      if (ctx.body.branch !== undefined || redirectTo !== null)
        throw new ApiError('not_available', {
          reason: 'Domains of branches and redirects are not served by this version',
        });
      const row = await ctx.env.sql.begin(async (tx) => {
        const made = await addDomain(tx, { projectId, hostname, branch: ctx.body.branch ?? null, redirectTo });
        if (made === null) throw new ApiError('conflict', { reason: `The project has ${hostname} already` });
        const allowed = limits.domainsMax;
        if ((await countDomains(tx, projectId)) > allowed)
          throw new ApiError('limit_reached', { what: 'Domains', allowed, variable: 'API_DOMAINS_MAX' });
        await ctx.state.audit(tx, {
          organizationId,
          projectId,
          action: 'domain.create',
          subjectKind: 'domain',
          subjectId: made.id,
          details: { hostname },
        });
        return made;
      });
      return ctx.json(shown(row), 201);
    },
  )
  .get(
    '/domains/:id',
    { ...needs('domain:read'), tags, summary: 'Read a custom domain', response: Domain },
    async (ctx) => shown((await reach(ctx, 'domain:read')).row),
  )
  .post(
    '/domains/:id/verify',
    {
      ...needs('domain:write'),
      tags,
      summary: 'Look for the TXT record; the domain serves production when it is there',
      response: Domain,
    },
    async (ctx) => {
      const { row, organizationId } = await reach(ctx, 'domain:write');
      const problem = await findProblem(ctx.env, row);
      const settled = await ctx.env.sql.begin(async (tx) => {
        const changed = await settleDomain(tx, row, problem);
        if (changed === null) throw new ApiError('conflict', { reason: 'Another project has proved this host' });
        await changeProject(tx, row.project_id, { settings: {} });
        const { project_id: projectId, hostname } = row;
        if (changed.status === 'active' && row.status !== 'active')
          await enqueueEvent(tx, { organizationId, projectId, event: 'domain.active', data: { hostname } });
        await ctx.state.audit(tx, {
          organizationId,
          projectId: row.project_id,
          action: 'domain.verify',
          subjectKind: 'domain',
          subjectId: row.id,
          details: { hostname: row.hostname, problem },
        });
        return changed;
      });
      return shown(settled);
    },
  )
  .delete(
    '/domains/:id',
    { ...needs('domain:write'), tags, summary: 'Remove a custom domain', response: { 204: null } },
    async (ctx) => {
      const { row, organizationId } = await reach(ctx, 'domain:write');
      await ctx.env.sql.begin(async (tx) => {
        await deleteDomain(tx, row.id);
        await changeProject(tx, row.project_id, { settings: {} });
        await ctx.state.audit(tx, {
          organizationId,
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

/** The domain of the path, where the actor may do this to its project. @throws {ApiError} */
async function reach(
  ctx: { readonly env: Parts; readonly state: RequestState; readonly params: { readonly id: string } },
  permission: Permission,
): Promise<{ row: DomainRow; organizationId: string }> {
  ctx.state.access.account(permission);
  const row = await readDomain(ctx.env.sql, ctx.params.id);
  if (row === null) throw new ApiError('not_found');
  const { organizationId } = await ctx.state.access.project(permission, row.project_id);
  return { row, organizationId };
}

/** What is wrong with the TXT record; null when it proves the domain. */
async function findProblem({ resolveTxt }: Parts, { verification }: DomainRow): Promise<string | null> {
  let records: readonly string[];
  try {
    records = await resolveTxt(verification.name);
  } catch (error) {
    const { code = 'no answer' } = error as { code?: string };
    return code === 'ENOTFOUND' || code === 'ENODATA'
      ? `There is no TXT record ${verification.name}`
      : `The name servers did not answer: ${code}`;
  }
  return records.includes(verification.value) ? null : `The TXT record ${verification.name} has another value`;
}
