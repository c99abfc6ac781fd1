// Repositories of an organization, and the projects connected to them.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { isBranchName } from '#git/remote-url.ts';
import type { Transaction } from '#postgres/sql.ts';
import { connectHosted, connectRemote } from '../../git-host/connect.ts';
import { createDeployment } from '../../releases/create-deployment.ts';
import { touchRoute } from '../../releases/project-routes.ts';
import { personToken } from '../../git-host/person-token.ts';
import { askForRefresh } from '../../git-host/remote-refresh.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { hashOf } from '../../access/secrets.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { needs, openToAll } from '../request/needs.ts';

const Repository = Type.Object({
  id: Type.String(),
  organizationId: Type.String(),
  source: Type.Union([Type.Literal('git-host'), Type.Literal('remote'), Type.Literal('builtin')]),
  fullName: Type.String(),
  defaultBranch: Type.String(),
  /** Why the repository is disconnected; null: it is connected. */
  disconnectReason: Type.Union([Type.String(), Type.Null()]),
  createdAt: Type.String(),
});

interface Row {
  readonly id: string;
  readonly organization_id: string;
  readonly source: 'git-host' | 'remote' | 'builtin';
  readonly full_name: string;
  readonly default_branch: string;
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
  disconnectReason: row.disconnected_at === null ? null : (row.disconnect_reason ?? 'disconnected'),
  createdAt: row.created_at.toISOString(),
});

const HostedBody = Type.Object({
  organizationId: Type.String(),
  source: Type.Literal('git-host'),
  installationId: Type.String({ pattern: '^[0-9]{1,16}$' }),
  hostId: Type.String({ pattern: '^[0-9]{1,16}$' }),
});

const RemoteBody = Type.Object({
  organizationId: Type.String(),
  source: Type.Literal('remote'),
  url: Type.String({ maxLength: 2048 }),
  username: Type.Optional(Type.String({ maxLength: 255 })),
  password: Type.Optional(Type.String({ maxLength: 4096 })),
  sshKey: Type.Optional(Type.String({ maxLength: 20_000 })),
  knownHosts: Type.Optional(Type.String({ maxLength: 20_000 })),
  defaultBranch: Type.Optional(Type.String({ maxLength: 255 })),
});

const FOLDER = /^(?!\/)(?!.*(?:^|\/)\.\.?(?:\/|$))(?!.*\/\/)[^\\\0]*[^\\/\0]$/;

export const repositories = platform<Dependencies, RequestState>()
  .post(
    '/repositories',
    {
      ...needs('project:create'),
      summary: 'Connect a repository of the Git host, or a plain Git remote',
      description:
        'To connect a repository of the Git host, you need push access to it. For a remote, `webhookUrl` is shown once: a POST to it deploys the pushed commit.',
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
        const token = await personToken(ctx.env, actor.accountId);
        id = await connectHosted(ctx.env, { organizationId, installationId, hostId }, token, note);
      } else {
        const { url, defaultBranch = null, username, password, sshKey, knownHosts } = body;
        const given = Object.entries({ username, password, sshKey, knownHosts });
        const credentials = Object.fromEntries(given.filter(([, value]) => value !== undefined));
        const made = await connectRemote(ctx.env, { organizationId, url, credentials, defaultBranch }, note);
        id = made.id;
        webhookUrl = `${addresses.api}/webhooks/remote/${made.webhookToken}`;
      }
      const [row] = await sql<Row[]>`SELECT * FROM control.repository WHERE id = ${id}`;
      return ctx.json({ repository: toRepository(row!), webhookUrl }, 201);
    },
  )
  .get(
    '/repositories',
    {
      ...needs('project:read'),
      summary: 'List the connected repositories of an organization',
      query: Type.Object({ organizationId: Type.String() }),
      response: Type.Object({ repositories: Type.Array(Repository) }),
    },
    async (ctx) => {
      const { organizationId } = ctx.query;
      ctx.state.access.organization('project:read', organizationId);
      const rows = await ctx.env.sql<Row[]>`
        SELECT * FROM control.repository WHERE organization_id = ${organizationId} ORDER BY full_name LIMIT 1000`;
      return { repositories: rows.map(toRepository) };
    },
  )
  .delete(
    '/repositories/:id',
    {
      ...needs('project:write'),
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
      await sql.begin(async (tx) => {
        await tx`DELETE FROM control.repository WHERE id = ${ctx.params.id}`;
        await ctx.state.audit(tx, {
          organizationId: row.organization_id,
          action: 'repository.disconnect',
          subjectKind: 'repository',
          subjectId: ctx.params.id,
        });
      });
      return ctx.json(null, 204);
    },
  )
  .post(
    '/projects/:id/repository',
    {
      ...needs('project:write', 'project'),
      summary: 'Connect a project to a repository of its organization',
      body: Type.Object({
        repositoryId: Type.String(),
        /** Folder of the project in the repository; '' is its root. */
        configPath: Type.Optional(Type.String({ maxLength: 255 })),
        /** Production branch; default: that of the repository. */
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
      const [row] = await sql<Row[]>`
        SELECT * FROM control.repository WHERE id = ${repositoryId} AND organization_id = ${organizationId}`;
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
  )
  .post(
    '/webhooks/remote/:token',
    {
      ...openToAll(),
      summary: 'Report a push to a plain remote',
      description:
        'The URL is shown when the remote is connected. The body is ignored: the platform fetches the remote.',
      response: { 202: Type.Object({ outcome: Type.Literal('accepted') }) },
    },
    async (ctx) => {
      const [row] = await ctx.env.sql<{ id: string }[]>`
        SELECT id FROM control.repository
         WHERE webhook_hash = ${hashOf(ctx.params.token)} AND disconnected_at IS NULL`;
      if (row === undefined) throw new ApiError('not_found');
      await askForRefresh(ctx.env, row.id);
      return ctx.json({ outcome: 'accepted' as const }, 202);
    },
  );
