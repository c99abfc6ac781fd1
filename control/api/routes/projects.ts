// Projects: list, create, read, change, delete; and builds of a branch on request.
import Type from '#core/typebox/typebox.mjs';
import { defaultReleaseSettings, stepsProblem, type ReleaseSettings } from '#core/release-settings.ts';
import { hashPreviewBypass, hashPreviewPassword } from '#core/preview-access.ts';
import { platform } from '#packages/worker/index.ts';
import { createProject } from '../../releases/create-project.ts';
import { createDeployment } from '../../releases/create-deployment.ts';
import { refuseWhileTransferred } from '../../releases/object-classes.ts';
import { writeRoute } from '../../releases/project-routes.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { newSecret } from '../../access/secrets.ts';
import { readDeployments, toDeployment } from '../../records/deployments.ts';
import {
  changeProject,
  deleteProject,
  listDeployedProjects,
  listProjects,
  readProject,
  toProject,
} from '../../records/projects.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { needs } from '../request/needs.ts';
import { pageOf, pageQuery, readTimePage, toTimePage } from '../../http/page.ts';
import { Id, nullable, releaseKeys, ReleaseSettingsSchema, Timestamp } from '../../http/schemas.ts';
import { DeploymentSchema } from './deployments.ts';

const Visibility = Type.Enum(['private', 'public']);
const Text = nullable(Type.String({ maxLength: 1000 }));
const fields = {
  id: Id,
  name: Type.String(),
  organizationId: Id,
  repositoryId: nullable(Id),
  description: Type.String(),
  visibility: Visibility,
  kind: nullable(Type.String()),
  deploymentUrl: nullable(Type.String()),
  configPath: Type.String(),
  defaultBranch: Type.String(),
  productionDeploymentId: nullable(Type.String()),
  settings: Type.Object({
    buildCommand: Text,
    outputDirectory: Text,
    installCommand: Text,
    redeployOnVariables: Type.Boolean(),
    keepDeployments: nullable(Type.Integer()),
    // Guarded releases, unless platform.yaml configures them; null means that production moves immediately.
    release: nullable(ReleaseSettingsSchema),
    hasPreviewPassword: Type.Boolean(),
    hasPreviewBypass: Type.Boolean(),
  }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
};
const Project = Type.Object(fields);
const searchQuery = { ...pageQuery, search: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })) };
const Branch = Type.String({ minLength: 1, maxLength: 255 });
const Description = Type.String({ maxLength: 500 });
const tags = ['projects'];

/** Checks a folder inside the repository. @throws {ApiError} with the message used for platform.yaml. */
function checkFolder(name: string, field: string, value: string): string {
  const refuse = (reason: string): never => {
    throw new ApiError('bad_request', { reason: `body.${name}: ${reason}` });
  };
  if (value.startsWith('/')) refuse(`${field} path must be relative, not absolute`);
  if (value.split(/[\\/]/).includes('..')) refuse(`${field} path cannot contain '..'`);
  // oxlint-disable-next-line no-control-regex -- rejects control characters
  if (/[\x00-\x1f]/.test(value)) refuse('contains a control character');
  return value.replace(/\/+$/, '');
}

/** Adds the defaults. @throws {ApiError} if the steps do not rise to 100. */
function checkRelease(written: Partial<ReleaseSettings>): ReleaseSettings {
  const settings = { ...defaultReleaseSettings, ...written };
  const problem = stepsProblem(settings.steps);
  if (problem !== null) throw new ApiError('bad_request', { reason: `body.release.steps: ${problem}` });
  return settings;
}

export const projects = platform<Dependencies, RequestState>()
  .get(
    '/projects',
    {
      ...needs('project:read'),
      tags,
      summary: 'List the projects of all your organizations with their last deployment, most recently deployed first',
      query: Type.Object(searchQuery),
      response: pageOf(Type.Object({ ...fields, lastDeployment: nullable(DeploymentSchema) })),
    },
    async (ctx) => {
      const { access } = ctx.state;
      const { memberships, token } = access.account('project:read');
      const projectId = token?.projectId ?? null;
      if (projectId === null) access.everybody();
      else await access.project('project:read', projectId);
      const page = readTimePage(ctx.query);
      const rows = await listDeployedProjects(ctx.env.sql, {
        organizationIds: Object.keys(memberships).filter((id) => access.may('project:read', id, projectId)),
        projectId,
        search: ctx.query.search ?? null,
        page,
      });
      const last = await readDeployments(
        ctx.env.sql,
        rows.flatMap(({ last_deployment_id: id }) => id ?? []),
      );
      const { addresses } = ctx.env;
      return toTimePage(rows, page, (row) => {
        const deployment = last.get(row.last_deployment_id ?? '');
        return {
          ...toProject(addresses, row),
          lastDeployment: deployment === undefined ? null : toDeployment(addresses, deployment),
        };
      });
    },
  )
  .get(
    '/orgs/:id/projects',
    {
      ...needs('project:read'),
      tags,
      summary: 'List the projects of an organization, newest first',
      query: Type.Object(searchQuery),
      response: pageOf(Project),
    },
    async (ctx) => {
      const { id } = ctx.params;
      const bound = ctx.state.access.account('project:read').token?.projectId ?? null;
      ctx.state.access.organization('project:read', id, bound);
      const page = readTimePage(ctx.query);
      const rows = await listProjects(ctx.env.sql, {
        organizationIds: [id],
        projectId: bound,
        search: ctx.query.search ?? null,
        page,
      });
      return toTimePage(rows, page, (row) => toProject(ctx.env.addresses, row));
    },
  )
  .post(
    '/projects',
    {
      ...needs('project:create'),
      tags,
      summary: 'Create a project',
      body: Type.Object({
        name: Type.String({ maxLength: 40 }),
        organizationId: Id,
        description: Type.Optional(Description),
        visibility: Type.Optional(Visibility),
        kind: Type.Optional(Type.Enum(['static', 'ssr', 'dynamic'])),
      }),
      response: { 201: Project },
    },
    async (ctx) => {
      const { name, organizationId, description = '', visibility = 'private', kind = null } = ctx.body;
      ctx.state.access.organization('project:create', organizationId);
      const given = { organizationId, name, description, visibility, kind };
      const projectId = await createProject(ctx.env, given, ctx.state.audit);
      return ctx.json(toProject(ctx.env.addresses, await readProject(ctx.env.sql, projectId)), 201);
    },
  )
  .get(
    '/projects/:id',
    { ...needs('project:read', 'project'), tags, summary: 'Read a project', response: Project },
    async (ctx) => toProject(ctx.env.addresses, await readProject(ctx.env.sql, ctx.params.id)),
  )
  .patch(
    '/projects/:id',
    {
      ...needs('project:write', 'project'),
      tags,
      summary: 'Change a project; null resets a setting to the detected value',
      body: Type.Object(
        {
          description: Type.Optional(Description),
          visibility: Type.Optional(Visibility),
          defaultBranch: Type.Optional(Branch),
          configPath: Type.Optional(Type.String({ maxLength: 500 })),
          buildCommand: Type.Optional(Text),
          outputDirectory: Type.Optional(Text),
          installCommand: Type.Optional(Text),
          redeployOnVariables: Type.Optional(Type.Boolean()),
          keepDeployments: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 1000 }))),
          release: Type.Optional(
            nullable(Type.Object(Type.Partial(Type.Object(releaseKeys)).properties, { additionalProperties: false })),
          ),
          previewPassword: Type.Optional(nullable(Type.String({ minLength: 8, maxLength: 200 }))),
        },
        { additionalProperties: false },
      ),
      response: Project,
    },
    async (ctx) => {
      const { projectId, organizationId } = await ctx.state.access.project('project:write', ctx.params.id);
      const { description, visibility, defaultBranch, configPath, previewPassword, release, ...rest } = ctx.body;
      if (rest.outputDirectory != null)
        rest.outputDirectory = checkFolder('outputDirectory', 'Out', rest.outputDirectory);
      const folder = configPath === undefined ? undefined : checkFolder('configPath', 'Base', configPath);
      // Hashing is slow: do it outside the transaction.
      const password = previewPassword == null ? previewPassword : await hashPreviewPassword(previewPassword);
      const settings = {
        ...rest,
        ...(password !== undefined && { previewPassword: password }),
        ...(release !== undefined && { release: release === null ? null : checkRelease(release) }),
      };
      const row = await ctx.env.sql.begin(async (tx) => {
        await changeProject(tx, projectId, {
          description,
          visibility,
          defaultBranch,
          configPath: folder,
          settings: settings as Record<string, string | number | boolean | object | null>,
        });
        await ctx.state.audit(tx, {
          organizationId,
          projectId,
          action: 'project.update',
          subjectKind: 'project',
          subjectId: projectId,
          details: { changed: Object.keys(ctx.body) },
        });
        return readProject(tx, projectId);
      });
      return toProject(ctx.env.addresses, row);
    },
  )
  .delete(
    '/projects/:id',
    {
      ...needs('project:delete', 'project'),
      tags,
      summary: 'Delete a project with its URLs; `name` confirms it',
      query: Type.Object({ name: Type.String({ maxLength: 40 }) }),
      response: { 204: null },
    },
    async (ctx) => {
      const { projectId, organizationId } = await ctx.state.access.project('project:delete', ctx.params.id);
      await ctx.env.sql.begin(async (tx) => {
        const [row] = await tx<{ name: string }[]>`
          SELECT name FROM control.project WHERE id = ${projectId} AND deleted_at IS NULL FOR UPDATE`;
        if (row === undefined) throw new ApiError('not_found');
        if (row.name !== ctx.query.name)
          throw new ApiError('unprocessable', { reason: 'query.name: must be the name of this project' });
        await refuseWhileTransferred(ctx.env, tx, projectId);
        await deleteProject(tx, projectId);
        await ctx.state.audit(tx, {
          organizationId,
          projectId,
          action: 'project.delete',
          subjectKind: 'project',
          subjectId: projectId,
          details: { name: row.name },
        });
      });
      // Wait until no route has hosts of the project.
      await writeRoute(ctx.env, projectId);
      return ctx.json(null, 204);
    },
  )
  .post(
    '/projects/:id/preview-bypass',
    {
      ...needs('project:write', 'project'),
      tags,
      summary:
        'Create the token with which programs bypass the preview password; shown once, replaces the previous one',
      response: { 201: Type.Object({ token: Type.String() }) },
    },
    async (ctx) => {
      const { projectId, organizationId, actor } = await ctx.state.access.project('project:write', ctx.params.id);
      const { secret } = newSecret('pvw');
      await ctx.env.sql.begin(async (tx) => {
        const settings = { previewBypassHash: hashPreviewBypass(secret), previewBypassBy: actor.accountId };
        await changeProject(tx, projectId, { settings });
        await ctx.state.audit(tx, {
          organizationId,
          projectId,
          action: 'project.preview_bypass.create',
          subjectKind: 'project',
          subjectId: projectId,
        });
      });
      return ctx.json({ token: secret }, 201);
    },
  )
  .delete(
    '/projects/:id/preview-bypass',
    { ...needs('project:write', 'project'), tags, summary: 'Revoke the bypass token', response: { 204: null } },
    async (ctx) => {
      const { projectId, organizationId } = await ctx.state.access.project('project:write', ctx.params.id);
      await ctx.env.sql.begin(async (tx) => {
        await changeProject(tx, projectId, { settings: { previewBypassHash: null, previewBypassBy: null } });
        await ctx.state.audit(tx, {
          organizationId,
          projectId,
          action: 'project.preview_bypass.delete',
          subjectKind: 'project',
          subjectId: projectId,
        });
      });
      return ctx.json(null, 204);
    },
  )
  .post(
    '/projects/:id/deploy',
    {
      ...needs('deployment:create', 'project'),
      tags: ['deployments'],
      summary: 'Build and deploy a branch of the connected repository',
      body: Type.Object({ ref: Branch }),
      response: { 202: Type.Object({ deploymentId: Type.String() }) },
    },
    async (ctx) => {
      const { projectId, actor } = await ctx.state.access.project('deployment:create', ctx.params.id);
      const made = await createDeployment(ctx.env, {
        projectId,
        branch: ctx.body.ref,
        commit: null,
        source: 'redeploy',
        createdBy: actor.accountId,
      });
      return ctx.json({ deploymentId: made.id }, 202);
    },
  );
