// Projects of an organization.
import Type from 'typebox';
import { isProjectName } from '#core/names.ts';
import { platform } from '#packages/worker/index.ts';
import { createDeployment } from '../../deployments/create-deployment.ts';
import type { Parts } from '../../parts.ts';
import { newId } from '../../records/ids.ts';
import type { RequestState } from '../app.ts';
import { ApiError } from '../errors.ts';
import { needs } from '../needs.ts';

const Project = Type.Object({
  id: Type.String(),
  name: Type.String(),
  organizationId: Type.String(),
  description: Type.String(),
  kind: Type.Union([Type.String(), Type.Null()]),
  defaultBranch: Type.String(),
  productionDeploymentId: Type.Union([Type.String(), Type.Null()]),
  repositoryId: Type.Union([Type.String(), Type.Null()]),
  createdAt: Type.String(),
});

interface Row {
  readonly id: string;
  readonly name: string;
  readonly organization_id: string;
  readonly description: string;
  readonly kind: string | null;
  readonly default_branch: string;
  readonly production_deployment_id: string | null;
  readonly repository_id: string | null;
  readonly created_at: Date;
}

const toProject = (row: Row) => ({
  id: row.id,
  name: row.name,
  organizationId: row.organization_id,
  description: row.description,
  kind: row.kind,
  defaultBranch: row.default_branch,
  productionDeploymentId: row.production_deployment_id,
  repositoryId: row.repository_id,
  createdAt: row.created_at.toISOString(),
});

export const projects = platform<Parts, RequestState>()
  .post(
    '/projects',
    {
      ...needs('project:create'),
      summary: 'Create a project',
      body: Type.Object({
        name: Type.String({ maxLength: 40 }),
        organizationId: Type.String(),
        description: Type.Optional(Type.String({ maxLength: 500 })),
      }),
      response: { 201: Project },
    },
    async (ctx) => {
      const { name, organizationId, description = '' } = ctx.body;
      ctx.state.access.organization('project:create', organizationId);
      if (!isProjectName(name))
        throw new ApiError('bad_request', {
          reason: `"${name}" is no project name: lower-case letters, digits and single hyphens, at most 40 characters`,
        });
      const [row] = await ctx.env.sql<Row[]>`
        INSERT INTO control.project (id, organization_id, name, description)
        VALUES (${newId('project')}, ${organizationId}, ${name}, ${description})
        ON CONFLICT (name) WHERE deleted_at IS NULL DO NOTHING RETURNING *`;
      if (row === undefined) throw new ApiError('conflict', { reason: `The name ${name} is taken` });
      return ctx.json(toProject(row), 201);
    },
  )
  .get(
    '/projects/:id',
    { ...needs('project:read', 'project'), summary: 'Read a project', response: Project },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('project:read', ctx.params.id);
      const [row] = await ctx.env.sql<Row[]>`SELECT * FROM control.project WHERE id = ${projectId}`;
      return toProject(row!);
    },
  )
  .post(
    '/projects/:id/deploy',
    {
      ...needs('deployment:create', 'project'),
      summary: 'Build and deploy a branch or a commit of the connected repository',
      body: Type.Object({ ref: Type.String({ minLength: 1, maxLength: 255 }) }),
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
