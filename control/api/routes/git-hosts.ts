// Git hosts that are used with access tokens: the operator adds them, organizations connect accounts on them, and the
// hosts send webhooks for each repository.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { tokenHostKinds, type TokenHostKindName } from '#git/host/token-hosts.ts';
import type { Transaction } from '#postgres/sql.ts';
import { connectAccount, listAccounts, removeAccount, revocation, type AccountRow } from '../../git-host/accounts.ts';
import { hostStatus } from '../../git-host/host-status.ts';
import { createHost, findHost, listHosts, removeHost, type HostRow } from '../../git-host/hosts.ts';
import { grantCallback, grantPage, writeClient } from '../../git-host/oauth-client.ts';
import { receiveHosted } from '../../git-host/receive.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { Label, nullable, Timestamp } from '../../http/schemas.ts';
import type { RequestState } from '../request/middleware.ts';
import { needs, openToAll } from '../request/needs.ts';

const Kind = Type.Enum(Object.keys(tokenHostKinds) as TokenHostKindName[]);

const Host = Type.Object({
  id: Type.String(),
  kind: Type.String(),
  name: Type.String(),
  url: Type.String(),
  /** How to create the token that an account needs. */
  tokenAdvice: Type.String(),
  /** The page that connects an account without a token; null if the host has no OAuth application. */
  connectUrl: nullable(Type.String()),
  /** How to create an OAuth application on the host. */
  oauth: Type.Object({
    clientId: nullable(Type.String()),
    redirectUrl: Type.String(),
    scopes: Type.String(),
    advice: Type.String(),
  }),
});

function toHost({ id, kind, name, url, oauth_client_id: clientId }: HostRow, { addresses: { ui } }: Dependencies) {
  const { tokenAdvice, oauth } = tokenHostKinds[kind];
  const connectUrl = clientId === null ? null : `${ui}${grantPage(id)}`;
  const { scopes, advice } = oauth;
  return {
    id,
    kind,
    name,
    url,
    tokenAdvice,
    connectUrl,
    oauth: { clientId, redirectUrl: `${ui}${grantCallback(id)}`, scopes, advice },
  };
}

const Account = Type.Object({
  id: Type.String(),
  hostId: Type.String(),
  hostName: Type.String(),
  login: Type.String(),
  expiresAt: nullable(Timestamp),
  /** `grant`: a grant of the host's OAuth application, which the platform renews; `token`: an access token. */
  credential: Type.Enum(['token', 'grant']),
  /** Why the token of the account does not work; null if it worked at its last use. */
  problem: nullable(Type.String()),
  createdAt: Timestamp,
});

const toAccount = (row: AccountRow) => ({
  id: row.id,
  hostId: row.git_host_id,
  hostName: row.host_name,
  login: row.account_login,
  expiresAt: row.token_expires_at?.toISOString() ?? null,
  credential: row.is_grant ? ('grant' as const) : ('token' as const),
  problem: row.problem,
  createdAt: row.created_at.toISOString(),
});

const Credential = Type.String({ minLength: 4, maxLength: 1000, pattern: '^[\\x21-\\x7e]+$' });
const ofHost = (subjectId: string) => ({ organizationId: null, subjectKind: 'git_host', subjectId });

export const gitHosts = platform<Dependencies, RequestState>()
  .get(
    '/git-hosts',
    {
      ...needs('account:read'),
      tags: ['git hosts'],
      summary: 'List the Git hosts that are used with access tokens',
      response: Type.Object({ hosts: Type.Array(Host) }),
    },
    async (ctx) => {
      ctx.state.access.account('account:read');
      return { hosts: (await listHosts(ctx.env.sql)).map((row) => toHost(row, ctx.env)) };
    },
  )
  .post(
    '/git-hosts',
    {
      ...needs('operator'),
      tags: ['git hosts'],
      summary: 'Add a Git host',
      description:
        'The host must be reachable. Private addresses and http need an entry in GIT_REMOTE_PRIVATE_HOSTS. Without `url`, the public service of its kind is added.',
      body: Type.Object({ kind: Kind, name: Label, url: Type.Optional(Type.String({ maxLength: 2048 })) }),
      response: { 201: Host },
    },
    async (ctx) => {
      ctx.state.access.operator();
      const { kind, name, url = null } = ctx.body;
      const row = await createHost(ctx.env, { kind: kind as TokenHostKindName, name, url }, (tx, subjectId, called) =>
        ctx.state.audit(tx, {
          organizationId: null,
          action: 'git_host.create',
          subjectKind: 'git_host',
          subjectId,
          details: { name: called, kind },
        }),
      );
      return ctx.json(toHost(row, ctx.env), 201);
    },
  )
  .get(
    '/git-hosts/:hostId/status',
    {
      ...needs('operator'),
      tags: ['git hosts'],
      summary: 'Read the problems of a Git host: invalid tokens and pending reports',
      response: Type.Object({
        host: Host,
        accounts: Type.Integer(),
        repositories: Type.Integer(),
        waitingReports: Type.Integer(),
        problems: Type.Array(Type.String()),
      }),
    },
    async (ctx) => {
      ctx.state.access.operator();
      const row = await findHost(ctx.env.sql, ctx.params.hostId);
      const { problems, ...counts } = await hostStatus(ctx.env.sql, row.id);
      return { host: toHost(row, ctx.env), ...counts, problems: [...problems] };
    },
  )
  .put(
    '/git-hosts/:hostId/oauth',
    {
      ...needs('operator'),
      tags: ['git hosts'],
      summary: 'Set the OAuth application of a Git host, so that members connect accounts without a token',
      description:
        'The secret is stored encrypted and not shown again. `GET /git-hosts` has the redirect URL and scopes.',
      body: Type.Object({ clientId: Credential, clientSecret: Credential }),
      response: Host,
    },
    async (ctx) => {
      ctx.state.access.operator();
      const row = await findHost(ctx.env.sql, ctx.params.hostId);
      const note = (tx: Transaction, subjectId: string, name: string): Promise<void> =>
        ctx.state.audit(tx, { ...ofHost(subjectId), action: 'git_host.oauth_set', details: { name } });
      return toHost(await writeClient(ctx.env, row, ctx.body, note), ctx.env);
    },
  )
  .delete(
    '/git-hosts/:hostId/oauth',
    {
      ...needs('operator'),
      tags: ['git hosts'],
      summary: 'Remove the OAuth application of a Git host; accounts that it connected stop working',
      response: { 204: Type.Null() },
    },
    async (ctx) => {
      ctx.state.access.operator();
      const row = await findHost(ctx.env.sql, ctx.params.hostId);
      await writeClient(ctx.env, row, null, (tx, subjectId, name) =>
        ctx.state.audit(tx, { ...ofHost(subjectId), action: 'git_host.oauth_remove', details: { name } }),
      );
      return ctx.json(null, 204);
    },
  )
  .delete(
    '/git-hosts/:hostId',
    {
      ...needs('operator'),
      tags: ['git hosts'],
      summary: 'Remove a Git host with its accounts; deployments stay',
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
      ctx.state.access.operator();
      const { sql } = ctx.env;
      const row = await findHost(sql, ctx.params.hostId);
      const revoke = await revocation(ctx.env, sql`git_host.id = ${row.id}`);
      await removeHost(ctx.env, row, ctx.query.disconnect === true, (tx, subjectId, name) =>
        ctx.state.audit(tx, {
          organizationId: null,
          action: 'git_host.delete',
          subjectKind: 'git_host',
          subjectId,
          details: { name },
        }),
      );
      ctx.env.background('Revocation of grants', revoke);
      return ctx.json(null, 204);
    },
  )
  .post(
    '/git-hosts/:hostId/accounts',
    {
      ...needs('organization:write'),
      tags: ['git hosts'],
      summary: 'Connect an account on a Git host by an access token, or replace its token',
      description:
        'The token is checked at once and stored encrypted. `GET /git-hosts` says which scopes the token needs.',
      body: Type.Object({
        organizationId: Type.String(),
        token: Type.String({ minLength: 8, maxLength: 1000, pattern: '^[\\x21-\\x7e]+$' }),
      }),
      response: { 201: Account },
    },
    async (ctx) => {
      const { organizationId, token } = ctx.body;
      ctx.state.access.organization('organization:write', organizationId);
      const { sql } = ctx.env;
      const host = await findHost(sql, ctx.params.hostId);
      const note = (tx: Transaction, subjectId: string, name: string): Promise<void> =>
        ctx.state.audit(tx, {
          organizationId,
          action: 'git_account.connect',
          subjectKind: 'git_account',
          subjectId,
          details: { name },
        });
      const id = await connectAccount(ctx.env, host, { organizationId, credential: { token } }, note);
      const made = (await listAccounts(sql, organizationId)).find((row) => row.id === id)!;
      return ctx.json(toAccount(made), 201);
    },
  )
  .get(
    '/git-accounts',
    {
      ...needs('project:create'),
      tags: ['git hosts'],
      summary: 'List the accounts on Git hosts that an organization has connected',
      query: Type.Object({ organizationId: Type.String() }),
      response: Type.Object({ accounts: Type.Array(Account) }),
    },
    async (ctx) => {
      const { organizationId } = ctx.query;
      ctx.state.access.organization('project:create', organizationId);
      return { accounts: (await listAccounts(ctx.env.sql, organizationId)).map(toAccount) };
    },
  )
  .delete(
    '/git-accounts/:gitAccountId',
    {
      ...needs('organization:write'),
      tags: ['git hosts'],
      summary: 'Delete the token of an account and disconnect its repositories; deployments stay',
      description: 'If the host supports it, the grant is also revoked there.',
      query: Type.Object({ organizationId: Type.String() }),
      response: { 204: Type.Null() },
    },
    async (ctx) => {
      const { organizationId } = ctx.query;
      ctx.state.access.organization('organization:write', organizationId);
      const revoke = await removeAccount(
        ctx.env,
        { organizationId, id: ctx.params.gitAccountId },
        (tx: Transaction, subjectId: string, name: string): Promise<void> =>
          ctx.state.audit(tx, {
            organizationId,
            action: 'git_account.disconnect',
            subjectKind: 'git_account',
            subjectId,
            details: { name },
          }),
      );
      ctx.env.background('Revoking a grant', revoke);
      return ctx.json(null, 204);
    },
  )
  .post(
    '/webhooks/git-host/:hostId/:repositoryId',
    {
      // All deliveries of a host come from a few addresses, and are signed.
      ...openToAll('uncounted'),
      tags: ['git hosts'],
      summary: 'Receive a webhook of a repository on a Git host that is used with access tokens',
      description:
        'The platform creates the webhook. The delivery is stored and acknowledged, and processed afterwards.',
      response: {
        202: Type.Object({ outcome: Type.Enum(['accepted', 'ignored', 'replayed']) }),
      },
    },
    async (ctx) => {
      const { hostId, repositoryId } = ctx.params;
      const outcome = await receiveHosted(ctx.env, ctx.req, { gitHostId: hostId, repositoryId });
      return ctx.json({ outcome }, 202);
    },
  );
