// Repositories of an organization, and the projects connected to them.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { isBranchName } from '#git/host/remote-url.ts';
import type { Sql, Transaction } from '#postgres/sql.ts';
import { connectHosted, connectRemote } from '../../git-host/connect.ts';
import { createDeployment } from '../../releases/create-deployment.ts';
import { touchRoute } from '../../releases/project-routes.ts';
import { personToken } from '../../git-host/person-token.ts';
import { dropDeployKey, readDeployKey } from '../../git-host/deploy-keys.ts';
import { pollSeconds } from '../../git-host/remote-polls.ts';
import { checkNow, connectByToken, webhookRemoval } from '../../git-host/token-repositories.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { nullable } from '../../http/schemas.ts';
import { needs } from '../request/needs.ts';
import { PollSeconds } from './remotes.ts';

const Repository = Type.Object({
  id: Type.String(),
  organizationId: Type.String(),
  source: Type.Union([Type.Literal('git-host'), Type.Literal('remote'), Type.Literal('builtin')]),
  fullName: Type.String(),
  defaultBranch: Type.String(),
  /** Kind of the Git host, and the page of the repository. */
  hostKind: nullable(Type.String()),
  url: nullable(Type.String()),
  /** Why the repository is disconnected; null if it is connected. */
  disconnectReason: Type.Union([Type.String(), Type.Null()]),
  createdAt: Type.String(),
});

interface Row {
  readonly id: string;
  readonly organization_id: string;
  readonly source: 'git-host' | 'remote' | 'builtin';
  readonly full_name: string;
  readonly default_branch: string;
  readonly url: string;
  /** Null means the host of GITHOST_URL. */
  readonly host_kind: string | null;
  readonly disconnected_at: Date | null;
  readonly disconnect_reason: string | null;
  readonly created_at: Date;
}

const toRepository = (row: Row) => ({
  id: row.id,
  organizationId: row.organization_id,
  source: row.source,
  fullName: row.full_name,
  defaultBranch: row.default_branch,
  hostKind: row.source === 'git-host' ? (row.host_kind ?? 'github') : null,
  url: row.source === 'git-host' ? row.url : null,
  disconnectReason: row.disconnected_at === null ? null : (row.disconnect_reason ?? 'disconnected'),
  createdAt: row.created_at.toISOString(),
});

/** Rows of repositories, with the kind of their host. */
function repositoryRows(sql: Sql, condition: ReturnType<Sql>) {
  return sql<Row[]>`
    SELECT repository.*, git_host.kind AS host_kind
      FROM control.repository LEFT JOIN control.git_host ON git_host.id = repository.git_host_id
     WHERE ${condition} ORDER BY repository.full_name LIMIT 1000`;
}

const HostedBody = Type.Object({
  organizationId: Type.String(),
  source: Type.Literal('git-host'),
  installationId: Type.String({
    pattern: '^(?:[0-9]{1,16}|gac_[a-z0-9]{20})$',
    description: 'ID of an installation of the application, or of an account from `GET /git-accounts`',
  }),
  hostId: Type.String({ pattern: '^(?:[0-9]{1,16}|[0-9a-f-]{36})$' }),
});

const RemoteBody = Type.Object({
  organizationId: Type.String(),
  source: Type.Literal('remote'),
  url: Type.String({ maxLength: 2048 }),
  username: Type.Optional(Type.String({ maxLength: 255 })),
  password: Type.Optional(Type.String({ maxLength: 4096 })),
  sshKey: Type.Optional(Type.String({ maxLength: 20_000 })),
  deployKey: Type.Optional(Type.String({ maxLength: 64, description: 'From `POST /repositories/deploy-key`' })),
  knownHosts: Type.Optional(Type.String({ maxLength: 20_000 })),
  pollSeconds: Type.Optional(PollSeconds),
  defaultBranch: Type.Optional(Type.String({ maxLength: 255 })),
});

const FOLDER = /^(?!\/)(?!.*(?:^|\/)\.\.?(?:\/|$))(?!.*\/\/)[^\\\0]*[^\\/\0]$/;

export const repositories = platform<Dependencies, RequestState>()
  .post(
    '/repositories',
    {
      ...needs('project:create'),
      tags: ['repositories'],
      summary: 'Connect a repository of a Git host, or a plain Git remote',
      description:
        'To connect a repository of the host of GITHOST_URL, you need push access to it; for other hosts, the account must administer it. For a remote, `webhookUrl` is shown once: a POST to it deploys the pushed commit.',
      body: Type.Union([HostedBody, RemoteBody]),
      response: {
        201: Type.Object({ repository: Repository, webhookUrl: Type.Union([Type.String(), Type.Null()]) }),
      },
    },
    async (ctx) => {
      const { sql, addresses } = ctx.env;
      const { body } = ctx;
      const actor = ctx.state.access.organization('project:create', body.organizationId);
      const { organizationId } = body;
      const note = (tx: Transaction, subjectId: string, name: string): Promise<void> =>
        ctx.state.audit(tx, {
          organizationId,
          action: 'repository.connect',
          subjectKind: 'repository',
          subjectId,
          details: { name },
        });
      let id: string;
      let webhookUrl: string | null = null;
      if (body.source === 'git-host') {
        const { installationId, hostId } = body;
        if (installationId.startsWith('gac_'))
          id = await connectByToken(ctx.env, { organizationId, accountId: installationId, hostId }, note);
        else {
          const token = await personToken(ctx.env, actor.accountId);
          id = await connectHosted(ctx.env, { organizationId, installationId, hostId }, token, note);
        }
      } else {
        const { url, defaultBranch = null, username, password, knownHosts, deployKey } = body;
        if (deployKey !== undefined && body.sshKey !== undefined)
          throw new ApiError('bad_request', { reason: 'sshKey and deployKey exclude each other' });
        const made = deployKey === undefined ? null : await readDeployKey(ctx.env, organizationId, deployKey);
        const sshKey = made?.privateKey ?? body.sshKey;
        const given = Object.entries({ username, password, sshKey, publicKey: made?.publicKey, knownHosts });
        const credentials = Object.fromEntries(given.filter(([, value]) => value !== undefined));
        const { pollSeconds: polled = pollSeconds.usual } = body;
        const remote = { organizationId, url, credentials, defaultBranch, pollSeconds: polled };
        const connected = await connectRemote(ctx.env, remote, note);
        if (deployKey !== undefined) await dropDeployKey(sql, deployKey);
        id = connected.id;
        webhookUrl = `${addresses.api}/webhooks/remote/${connected.webhookToken}`;
      }
      const [row] = await repositoryRows(sql, sql`repository.id = ${id}`);
      return ctx.json({ repository: toRepository(row!), webhookUrl }, 201);
    },
  )
  .get(
    '/repositories',
    {
      ...needs('project:read'),
      tags: ['repositories'],
      summary: 'List the connected repositories of an organization',
      query: Type.Object({ organizationId: Type.String() }),
      response: Type.Object({ repositories: Type.Array(Repository) }),
    },
    async (ctx) => {
      const { organizationId } = ctx.query;
      ctx.state.access.organization('project:read', organizationId);
      const { sql } = ctx.env;
      const rows = await repositoryRows(sql, sql`repository.organization_id = ${organizationId}`);
      return { repositories: rows.map(toRepository) };
    },
  )
  .post(
    '/repositories/:id/check',
    {
      ...needs('project:write'),
      tags: ['repositories'],
      summary: 'Check a repository that an account of a Git host connects, and repair its webhook',
      description:
        'Detects whether the repository was renamed, archived or deleted. The platform also checks about once a day.',
      response: Type.Object({
        repository: Repository,
        webhook: nullable(
          Type.Enum(['created', 'updated', 'kept'], { description: 'Null: the repository was deleted' }),
        ),
      }),
    },
    async (ctx) => {
      const { sql } = ctx.env;
      ctx.state.access.account('project:write');
      const [row] = await repositoryRows(sql, sql`repository.id = ${ctx.params.id}`);
      if (row === undefined) throw new ApiError('not_found');
      ctx.state.access.organization('project:write', row.organization_id);
      const { webhook } = await checkNow(ctx.env, row.id);
      await ctx.state.audit(sql, {
        organizationId: row.organization_id,
        action: 'repository.check',
        subjectKind: 'repository',
        subjectId: row.id,
        details: { webhook },
      });
      const [after] = await repositoryRows(sql, sql`repository.id = ${row.id}`);
      return { repository: toRepository(after!), webhook };
    },
  )
  .delete(
    '/repositories/:id',
    {
      ...needs('project:write'),
      tags: ['repositories'],
      summary: 'Disconnect a repository; deployments stay',
      response: { 204: Type.Null() },
    },
    async (ctx) => {
      const { sql } = ctx.env;
      ctx.state.access.account('project:write');
      const [row] = await sql<{ organization_id: string }[]>`
        SELECT organization_id FROM control.repository WHERE id = ${ctx.params.id} AND source <> 'builtin'`;
      if (row === undefined) throw new ApiError('not_found');
      ctx.state.access.organization('project:write', row.organization_id);
      const removeWebhook = await webhookRemoval(ctx.env, ctx.params.id);
      await sql.begin(async (tx) => {
        await tx`DELETE FROM control.repository WHERE id = ${ctx.params.id}`;
        await ctx.state.audit(tx, {
          organizationId: row.organization_id,
          action: 'repository.disconnect',
          subjectKind: 'repository',
          subjectId: ctx.params.id,
        });
      });
      ctx.env.background('Removing a webhook', removeWebhook);
      return ctx.json(null, 204);
    },
  )
  .post(
    '/projects/:id/repository',
    {
      ...needs('project:write', 'project'),
      tags: ['repositories'],
      summary: 'Connect a project to a repository of its organization',
      body: Type.Object({
        repositoryId: Type.String(),
        /** Folder of the project in the repository; '' is its root. */
        configPath: Type.Optional(Type.String({ maxLength: 255 })),
        /** The production branch. The default is the default branch of the repository. */
        defaultBranch: Type.Optional(Type.String({ maxLength: 255 })),
        /** Whether to deploy that branch immediately. */
        deploy: Type.Optional(Type.Boolean()),
      }),
      response: Type.Object({
        repository: Repository,
        deploymentId: Type.Union([Type.String(), Type.Null()]),
      }),
    },
    async (ctx) => {
      const { sql } = ctx.env;
      const { projectId, organizationId, actor } = await ctx.state.access.project('project:write', ctx.params.id);
      const { repositoryId, configPath = '', deploy = false } = ctx.body;
      const folder = configPath.replace(/^\.\/?|\/+$/g, '');
      if (folder !== '' && !FOLDER.test(folder))
        throw new ApiError('bad_request', { reason: `"${configPath}" is not a valid folder in a repository` });
      const [row] = await repositoryRows(
        sql,
        sql`repository.id = ${repositoryId} AND repository.organization_id = ${organizationId}`,
      );
      if (row === undefined) throw new ApiError('not_found');
      const branch = ctx.body.defaultBranch ?? row.default_branch;
      if (!isBranchName(branch))
        throw new ApiError('bad_request', { reason: `"${branch}" is not a valid branch name` });
      await sql.begin(async (tx) => {
        await tx`
          UPDATE control.project
             SET repository_id = ${repositoryId}, config_path = ${folder}, default_branch = ${branch}, updated_at = now()
           WHERE id = ${projectId}`;
        await touchRoute(tx, projectId);
        await ctx.state.audit(tx, {
          organizationId,
          projectId,
          action: 'project.connect',
          subjectKind: 'repository',
          subjectId: repositoryId,
          details: { name: row.full_name, branch },
        });
      });
      if (!deploy) return { repository: toRepository(row), deploymentId: null };
      const { id } = await createDeployment(ctx.env, {
        projectId,
        branch,
        commit: null,
        source: 'redeploy',
        createdBy: actor.accountId,
      });
      return { repository: toRepository(row), deploymentId: id };
    },
  )
  .delete(
    '/projects/:id/repository',
    {
      ...needs('project:write', 'project'),
      tags: ['repositories'],
      summary: 'Disconnect a project from its repository; deployments stay',
      response: { 204: Type.Null() },
    },
    async (ctx) => {
      const { projectId, organizationId } = await ctx.state.access.project('project:write', ctx.params.id);
      await ctx.env.sql.begin(async (tx) => {
        await tx`UPDATE control.project SET repository_id = NULL, updated_at = now() WHERE id = ${projectId}`;
        await ctx.state.audit(tx, {
          organizationId,
          projectId,
          action: 'project.disconnect',
          subjectKind: 'project',
          subjectId: projectId,
        });
      });
      return ctx.json(null, 204);
    },
  );
