// Deploy hooks: URLs that build and deploy a branch when POSTed to, for content management systems and the like.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { isBranchName } from '#git/host/remote-url.ts';
import { createDeployment } from '../../releases/create-deployment.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { newId } from '../../records/ids.ts';
import { hashOf, newSecret } from '../../access/secrets.ts';
import type { OwnedTable } from '../../records/owned-table.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { needs, openToAll } from '../request/needs.ts';
import { Label } from '../../http/schemas.ts';
import { viewOf } from '../../http/view.ts';
import { createOwned, deleteOwned, listOwned } from './owned-rows.ts';

const DeployHook = Type.Object({
  id: Type.String(),
  name: Type.String(),
  branch: Type.String(),
  createdAt: Type.String(),
});

const toHook = viewOf(DeployHook);

const HOOKS_MAX = 100;
const table: OwnedTable = {
  subject: 'deploy_hook',
  table: 'control.deploy_hook',
  id: 'id',
  owner: 'project_id',
  // The routes check the limit themselves, because this error has another code.
  limit: null,
};

export const deployHooks = platform<Dependencies, RequestState>()
  .post(
    '/projects/:id/deploy-hooks',
    {
      ...needs('project:write', 'project'),
      tags: ['deploy hooks'],
      summary: 'Create a deploy hook',
      description:
        '`url` is shown once. Anyone with the URL can deploy the branch. The URL is revoked when its creator leaves the organization or becomes a viewer.',
      body: Type.Object({
        name: Label,
        branch: Type.String({ minLength: 1, maxLength: 255 }),
      }),
      response: { 201: Type.Object({ hook: DeployHook, url: Type.String() }) },
    },
    async (ctx) => {
      const reached = await ctx.state.access.project('project:write', ctx.params.id);
      const { name, branch } = ctx.body;
      if (!isBranchName(branch))
        throw new ApiError('bad_request', { reason: `"${branch}" is not a valid branch name` });
      const { secret, hash } = newSecret('pdh');
      const columns = { hash, name, branch, created_by: reached.actor.accountId };
      const given = { id: newId('deployHook'), columns, details: { name, branch } };
      const row = await createOwned(ctx, table, reached, given, async (tx) => {
        const [count] = await tx<{ count: number }[]>`
          SELECT count(*)::int AS count FROM control.deploy_hook WHERE project_id = ${reached.projectId}`;
        if (count!.count >= HOOKS_MAX)
          throw new ApiError('unprocessable', { reason: `Limit of deploy hooks reached: ${HOOKS_MAX} per project` });
      });
      return ctx.json({ hook: toHook(row), url: `${ctx.env.addresses.api}/deploy-hooks/${secret}` }, 201);
    },
  )
  .get(
    '/projects/:id/deploy-hooks',
    {
      ...needs('project:read', 'project'),
      tags: ['deploy hooks'],
      summary: 'List the deploy hooks of a project',
      response: Type.Object({ hooks: Type.Array(DeployHook) }),
    },
    async (ctx) => {
      const owner = await ctx.state.access.project('project:read', ctx.params.id);
      return { hooks: (await listOwned(ctx.env.sql, table, owner)).map(toHook) };
    },
  )
  .delete(
    '/projects/:id/deploy-hooks/:hookId',
    {
      ...needs('project:write', 'project'),
      tags: ['deploy hooks'],
      summary: 'Delete a deploy hook',
      response: { 204: Type.Null() },
    },
    async (ctx) => {
      const owner = await ctx.state.access.project('project:write', ctx.params.id);
      await deleteOwned(ctx, table, owner, ctx.params.hookId);
      return ctx.json(null, 204);
    },
  )
  .post(
    '/deploy-hooks/:token',
    {
      ...openToAll(),
      tags: ['deploy hooks'],
      summary: 'Deploy the branch of the deploy hook',
      description: 'The URL is the credential. The body is ignored.',
      response: { 202: Type.Object({ deploymentId: Type.String() }) },
    },
    async (ctx) => {
      const [hook] = await ctx.env.sql<{ project_id: string; branch: string }[]>`
        SELECT project_id, branch FROM control.deploy_hook WHERE hash = ${hashOf(ctx.params.token)}`;
      if (hook === undefined) throw new ApiError('not_found');
      const { id } = await createDeployment(ctx.env, {
        projectId: hook.project_id,
        branch: hook.branch,
        commit: null,
        source: 'hook',
        createdBy: null,
      });
      return ctx.json({ deploymentId: id }, 202);
    },
  );
