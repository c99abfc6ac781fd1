// Templates: list them, and create the files of a new project from one.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { deployableTemplates, pushTemplate } from '../../git-push/template-push.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { readProject } from '../../records/projects.ts';
import type { RequestState } from '../request/middleware.ts';
import { needs } from '../request/needs.ts';

const names = Object.keys(deployableTemplates);
const tags = ['projects'];

export const templates = platform<Dependencies, RequestState>()
  .get(
    '/templates',
    {
      ...needs('account:read'),
      tags,
      summary: 'List the templates that a project can start from',
      response: Type.Object({ items: Type.Array(Type.Object({ name: Type.String(), summary: Type.String() })) }),
    },
    (ctx) => {
      ctx.state.access.account('account:read');
      return { items: Object.entries(deployableTemplates).map(([name, summary]) => ({ name, summary })) };
    },
  )
  .post(
    '/projects/:id/template',
    {
      ...needs('deployment:create', 'project'),
      tags,
      summary: 'Commit the files of a template to a project without a repository, and deploy them',
      body: Type.Object({ template: Type.Enum(names) }),
      response: { 202: Type.Object({ deploymentId: Type.String() }) },
    },
    async (ctx) => {
      const { projectId, organizationId, actor } = await ctx.state.access.project('deployment:create', ctx.params.id);
      const { name } = await readProject(ctx.env.sql, projectId);
      const { template } = ctx.body;
      const { audit } = ctx.state;
      const deploymentId = await pushTemplate(ctx.env, { projectId, organizationId, name, template, actor, audit });
      return ctx.json({ deploymentId }, 202);
    },
  );
