// Releases of production and branches: promote, rollback, split, removal of branches, redeploy.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { rotateAiToken } from '../../releases/ai-tokens.ts';
import { removeBranch } from '../../releases/branch-removal.ts';
import { promote, rollback, split } from '../../releases/promote.ts';
import { previewPromotion } from '../../releases/promotion-preview.ts';
import { redeploy } from '../../releases/redeploy.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { nullable, ReleaseSettingsSchema } from '../../http/schemas.ts';
import type { RequestState } from '../request/middleware.ts';
import { needs } from '../request/needs.ts';

const DeploymentId = Type.String({ pattern: '^d[0-9a-z]{12}$' });
const Ran = { resource: Type.String(), files: Type.Array(Type.String()) };
const promoted = {
  productionDeploymentId: Type.Union([Type.String(), Type.Null()]),
  previousDeploymentId: Type.Union([Type.String(), Type.Null()]),
  migrations: Type.Array(Type.Object(Ran)),
  warnings: Type.Array(Type.String()),
  routed: Type.Boolean(),
  // Whether a guarded release of the deployment runs: production moves when it succeeds.
  guarded: Type.Boolean(),
};
const Promoted = Type.Object(promoted);
const RolledBack = Type.Object({
  ...promoted,
  migrationsSince: Type.Array(Type.Object({ ...Ran, deploymentId: Type.String() })),
  restored: Type.Array(Type.String()),
});
const now = Type.Optional(
  Type.Boolean({ description: 'Send all visitors to the deployment at once, even if a guarded release is configured' }),
);
const confirm = Type.Optional(Type.Boolean({ description: 'Continue even if a running deployment may break' }));

const Files = Type.Object(Ran);
const Names = Type.Array(Type.String());
const Preview = Type.Object({
  // `rollback`: the deployment was production before. `none`: it is production.
  way: Type.Enum(['promote', 'rollback', 'none']),
  // Why the promotion is not possible now.
  objection: Type.Union([Type.String(), Type.Null()]),
  liveDeploymentId: Type.Union([Type.String(), Type.Null()]),
  urls: Names,
  commits: Type.Array(
    Type.Object({
      // Newest deployment of the branch, or null.
      deploymentId: Type.Union([Type.String(), Type.Null()]),
      sha: Type.String(),
      message: Type.Union([Type.String(), Type.Null()]),
      author: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
  direction: Type.Enum(['add', 'remove']),
  // Names; null if unknown or if the caller may not see them.
  variables: Type.Union([Type.Object({ added: Names, changed: Names, removed: Names }), Type.Null()]),
  // Null if no engine responded.
  migrations: Type.Union([Type.Array(Files), Type.Null()]),
  risky: Names,
  // The steps in which production would move; null means immediately.
  release: nullable(ReleaseSettingsSchema),
  migrationsSince: Type.Array(Type.Object({ ...Ran, deploymentId: Type.String() })),
});

export const releases = platform<Dependencies, RequestState>()
  .get(
    '/deployments/:id/promotion',
    {
      ...needs('deployment:read', 'deployment'),
      tags: ['releases'],
      summary: 'Preview the changes of a promotion',
      response: Preview,
    },
    async (ctx) => {
      const { organizationId, projectId } = await ctx.state.access.deployment('deployment:read', ctx.params.id);
      const withVariables = ctx.state.access.may('variable:read', organizationId, projectId);
      return previewPromotion(ctx.env, ctx.params.id, withVariables);
    },
  )
  .post(
    '/projects/:id/promote',
    {
      ...needs('deployment:promote', 'project'),
      tags: ['releases'],
      summary: 'Promote a deployment to production, in steps if a guarded release is configured',
      body: Type.Object({ deploymentId: DeploymentId, now, confirm }),
      response: Promoted,
    },
    async (ctx) => {
      const { projectId, actor } = await ctx.state.access.project('deployment:promote', ctx.params.id);
      const { deploymentId, now: isNow = false, confirm: isConfirmed = false } = ctx.body;
      const asked = { projectId, deploymentId, now: isNow, confirm: isConfirmed, requestedBy: actor.accountId };
      return toJson(await promote(ctx.env, asked, ctx.state.audit));
    },
  )
  .post(
    '/deployments/:id/promote',
    {
      ...needs('deployment:promote', 'deployment'),
      tags: ['releases'],
      summary: 'Promote this deployment to production, in steps if a guarded release is configured',
      body: Type.Object({ now, confirm }),
      response: Promoted,
    },
    async (ctx) => {
      const deploymentId = ctx.params.id;
      const { projectId, actor } = await ctx.state.access.deployment('deployment:promote', deploymentId);
      const { now: isNow = false, confirm: isConfirmed = false } = ctx.body;
      const asked = { projectId, deploymentId, now: isNow, confirm: isConfirmed, requestedBy: actor.accountId };
      return toJson(await promote(ctx.env, asked, ctx.state.audit));
    },
  )
  .post(
    '/projects/:id/rollback',
    {
      ...needs('deployment:promote', 'project'),
      tags: ['releases'],
      summary: 'Roll back to the previous production deployment, or to a named one; cancels a guarded release',
      body: Type.Object({
        deploymentId: Type.Optional(DeploymentId),
        restoreDatabase: Type.Optional(
          Type.Boolean({
            description:
              'Also restore the databases, to the copy made before the first migration after that deployment',
          }),
        ),
        confirm,
      }),
      response: RolledBack,
    },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('deployment:promote', ctx.params.id);
      const { deploymentId = null, restoreDatabase = false, confirm: isConfirmed = false } = ctx.body;
      const asked = { projectId, deploymentId, restoreDatabase, confirm: isConfirmed };
      const done = await rollback(ctx.env, asked, ctx.state.audit);
      return {
        ...toJson(done),
        migrationsSince: done.migrationsSince.map((one) => ({ ...one, files: [...one.files] })),
        restored: [...done.restored],
      };
    },
  )
  .post(
    '/projects/:id/split',
    {
      ...needs('deployment:promote', 'project'),
      tags: ['releases'],
      summary: "Give a deployment a part of production's requests; 0 ends that, 100 promotes it",
      body: Type.Object({
        deploymentId: DeploymentId,
        percent: Type.Integer({ minimum: 0, maximum: 100 }),
        confirm,
      }),
      response: Promoted,
    },
    async (ctx) => {
      const { projectId, actor } = await ctx.state.access.project('deployment:promote', ctx.params.id);
      const { deploymentId, percent, confirm: isConfirmed = false } = ctx.body;
      const asked = { projectId, deploymentId, percent, confirm: isConfirmed, requestedBy: actor.accountId };
      return toJson(await split(ctx.env, asked, ctx.state.audit));
    },
  )
  .post(
    '/deployments/:id/redeploy',
    {
      ...needs('deployment:create', 'deployment'),
      tags: ['releases'],
      summary: 'Release the same artifact again with the current variables, without a build',
      response: { 202: Type.Object({ deploymentId: Type.String() }) },
    },
    async (ctx) => {
      const { actor } = await ctx.state.access.deployment('deployment:create', ctx.params.id);
      const deploymentId = await redeploy(ctx.env, ctx.params.id, actor.accountId, ctx.state.audit);
      return ctx.json({ deploymentId }, 202);
    },
  )
  .post(
    '/deployments/:id/ai-token',
    {
      ...needs('deployment:create', 'deployment'),
      tags: ['releases'],
      summary: "Rotate a deployment's AI token; the old one is revoked when the workers have the new one",
      response: Type.Object({ routed: Type.Boolean() }),
    },
    async (ctx) => {
      const reached = await ctx.state.access.deployment('deployment:create', ctx.params.id);
      return rotateAiToken(ctx.env, { ...reached, deploymentId: ctx.params.id }, ctx.state.audit);
    },
  )
  .delete(
    '/projects/:id/branches',
    {
      ...needs('project:write', 'project'),
      tags: ['releases'],
      summary: 'Remove a branch with its deployments and its preview data',
      query: Type.Object({ branch: Type.String({ minLength: 1, maxLength: 255 }) }),
      response: Type.Object({
        branch: Type.String(),
        deployments: Type.Integer(),
        removed: Type.Union([Type.Record(Type.String(), Type.Integer()), Type.Null()]),
      }),
    },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('project:write', ctx.params.id);
      const asked = { projectId, branch: ctx.query.branch, cause: 'by_hand' } as const;
      const { removed, ...done } = await removeBranch(ctx.env, asked, ctx.state.audit);
      return { ...done, removed: removed === null ? null : { ...removed } };
    },
  );

/** Makes lists mutable, as the schema's type requires. */
function toJson(done: Awaited<ReturnType<typeof promote>>) {
  return {
    ...done,
    migrations: done.migrations.map(({ resource, files }) => ({ resource, files: [...files] })),
    warnings: [...done.warnings],
  };
}
