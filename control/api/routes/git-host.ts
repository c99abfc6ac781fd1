// The Git host: receives its webhooks, lists repositories that a person can connect, reports missing permissions of the
// application, and approves deployments of forks.
import { isFailure } from '#core/failure.ts';
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { readApp } from '#git/host/repositories.ts';
import { approveDeployment } from '../../git-host/approval.ts';
import { APPLICATION_PATH, creationProblem, removeApplication } from '../../git-host/application.ts';
import { gitHostOf } from '../../git-host/connect.ts';
import { installUrlOf, listConnectable } from '../../git-host/connectable.ts';
import { missingPermissions } from '../../git-host/missing-permissions.ts';
import { receiveDelivery } from '../../git-host/receive.ts';
import { listByToken } from '../../git-host/token-repositories.ts';
import { personToken } from '../../git-host/person-token.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import type { RequestState } from '../request/middleware.ts';
import { needs, openToAll } from '../request/needs.ts';
import { pageQuery } from '../../http/page.ts';
import { nullable } from '../../http/schemas.ts';

const Connectable = Type.Object({
  installationId: Type.String(),
  /** The Git host's id. */
  hostId: Type.String(),
  fullName: Type.String(),
  defaultBranch: Type.String(),
  isPrivate: Type.Boolean(),
  isArchived: Type.Boolean(),
  mayPush: Type.Boolean(),
});

const Status = Type.Object({
  isConfigured: Type.Boolean(),
  /**
   * `platform`: created in the dashboard; `environment`: variables, which override it. Null if there is no application.
   */
  source: nullable(Type.Enum(['environment', 'platform'])),
  /** The page on which an operator creates the application; null if variables configure it, or if it exists. */
  createUrl: nullable(Type.String()),
  url: Type.Union([Type.String(), Type.Null()]),
  webhookUrl: Type.String(),
  isWebhookSecretSet: Type.Boolean(),
  installUrl: Type.Union([Type.String(), Type.Null()]),
  missing: Type.Array(
    Type.Object({
      kind: Type.Union([Type.Literal('permission'), Type.Literal('event')]),
      name: Type.String(),
      isRequired: Type.Boolean(),
      without: Type.String(),
    }),
  ),
  /** Why the Git host could not be reached; null means no problem. */
  problem: Type.Union([Type.String(), Type.Null()]),
});

export const gitHost = platform<Dependencies, RequestState>()
  .post(
    '/webhooks/git-host',
    {
      // All deliveries come from a few addresses, and are signed.
      ...openToAll('uncounted'),
      tags: ['git hosts'],
      summary: 'Receive a webhook of the Git host',
      description:
        'Signed with GITHOST_WEBHOOK_SECRET. The delivery is stored and acknowledged, and processed afterwards.',
      response: {
        202: Type.Object({
          outcome: Type.Union([Type.Literal('accepted'), Type.Literal('ignored'), Type.Literal('replayed')]),
        }),
      },
    },
    async (ctx) => {
      return ctx.json({ outcome: await receiveDelivery(ctx.env, ctx.req) }, 202);
    },
  )
  .get(
    '/git-host/repositories',
    {
      ...needs('project:create'),
      tags: ['git hosts'],
      summary: 'List the repositories of a Git host that you can connect',
      description:
        'Without `accountId`, those of the host of GITHOST_URL: requires a sign-in there. `nextCursor` leads to the next page; null: there is none. A page has at most 129 repositories, and may have none where a search finds little.',
      query: Type.Object({
        organizationId: Type.String(),
        accountId: Type.Optional(
          Type.String({ maxLength: 64, description: 'Account of another Git host, from `GET /git-accounts`' }),
        ),
        search: Type.Optional(Type.String({ maxLength: 200, description: 'Part of `owner/name`' })),
        cursor: pageQuery.cursor,
      }),
      response: Type.Object({
        repositories: Type.Array(Connectable),
        nextCursor: nullable(Type.String()),
        // Accounts of the Git host whose repositories cannot be deployed.
        problems: Type.Array(Type.Object({ account: Type.String(), reason: Type.String() })),
        // The page that gives the application access to repositories; null if unknown, and after the first page.
        installUrl: nullable(Type.String()),
      }),
    },
    async (ctx) => {
      const actor = ctx.state.access.organization('project:create', ctx.query.organizationId);
      const { organizationId, accountId, search = '', cursor = null } = ctx.query;
      if (accountId !== undefined) {
        const page = await listByToken(ctx.env, organizationId, accountId, { search, cursor });
        const repositories = page.repositories.map(({ id, ...repository }) => {
          return { installationId: accountId, hostId: id, ...repository };
        });
        return { repositories, nextCursor: page.nextCursor, problems: [], installUrl: null };
      }
      gitHostOf(ctx.env);
      const token = await personToken(ctx.env, actor.accountId);
      const { repositories, nextCursor, problems, installUrl } = await listConnectable(ctx.env, token, {
        search,
        cursor,
      });
      return {
        repositories: repositories.map(({ id, ...repository }) => ({ hostId: id, ...repository })),
        nextCursor,
        problems: [...problems],
        installUrl,
      };
    },
  )
  .get(
    '/git-host/status',
    {
      ...needs('operator'),
      tags: ['git hosts'],
      summary: "List the permissions that the Git host's app lacks",
      response: Status,
    },
    async (ctx) => {
      ctx.state.access.operator();
      const { git, addresses, settings } = ctx.env;
      const isCreated = settings.application() !== null;
      const status = {
        isConfigured: git.gitHost !== null,
        source: isCreated ? ('platform' as const) : git.gitHost === null ? null : ('environment' as const),
        createUrl:
          git.gitHost === null && creationProblem(ctx.env) === null ? `${addresses.ui}${APPLICATION_PATH}` : null,
        url: git.gitHost?.url ?? null,
        webhookUrl: `${addresses.api}/webhooks/git-host`,
        isWebhookSecretSet: git.webhookSecret !== null,
        installUrl: null,
        missing: [],
        problem: null,
      };
      if (git.gitHost === null) return status;
      try {
        const { slug } = await readApp(git.gitHost);
        const missing = await missingPermissions(git.gitHost);
        return { ...status, installUrl: installUrlOf(git.gitHost, slug), missing };
      } catch (error) {
        if (!isFailure(error, 'git_host')) throw error;
        return { ...status, problem: error.message };
      }
    },
  )
  .delete(
    '/git-host/application',
    {
      ...needs('operator'),
      tags: ['git hosts'],
      summary: 'Remove the GitHub App that was created in the dashboard; deployments stay',
      description:
        'The app still exists on GitHub: delete it there. An application that is configured by variables cannot be removed here.',
      query: Type.Object({
        disconnect: Type.Optional(
          Type.Boolean({
            description: 'Disconnect its repositories; without this, a connected repository prevents the removal',
          }),
        ),
      }),
      response: { 204: Type.Null() },
    },
    async (ctx) => {
      const { accountId } = ctx.state.access.operator();
      const disconnect = ctx.query.disconnect === true;
      await removeApplication(ctx.env, { accountId, disconnect }, (tx, { slug, url }) =>
        ctx.state.audit(tx, {
          organizationId: null,
          action: 'git_host.delete',
          subjectKind: 'git_host',
          subjectId: null,
          details: { kind: 'github', name: slug, url },
        }),
      );
      return ctx.json(null, 204);
    },
  )
  .post(
    '/deployments/:id/approve',
    {
      // The `deploy` scope is not enough to approve code of forks.
      ...needs('project:write', 'deployment'),
      tags: ['deployments'],
      summary: "Build a deployment of a fork's pull request, after you have reviewed its changes",
      response: { 202: Type.Object({ deploymentId: Type.String() }) },
    },
    async (ctx) => {
      const { actor } = await ctx.state.access.deployment('project:write', ctx.params.id);
      await approveDeployment(ctx.env, ctx.params.id, actor.accountId, ctx.state.audit);
      return ctx.json({ deploymentId: ctx.params.id }, 202);
    },
  );
