// Plain Git remotes: their deploy keys, how often they are polled, and the webhook that triggers a poll.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { openCredentials } from '#git/clone-source.ts';
import { hostKeyFingerprints } from '#git/deploy-key.ts';
import type { Sql } from '#postgres/sql.ts';
import { hashOf } from '../../access/secrets.ts';
import { makeDeployKey } from '../../git-host/deploy-keys.ts';
import { pollSeconds } from '../../git-host/remote-polls.ts';
import { askForRefresh } from '../../git-host/remote-refresh.ts';
import { ApiError } from '../../http/errors.ts';
import { nullable, Timestamp } from '../../http/schemas.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { countAttempt } from '../../sign-in/attempts.ts';
import type { RequestState } from '../request/middleware.ts';
import { needs, openToAll } from '../request/needs.ts';

export const PollSeconds = nullable(
  Type.Integer({
    minimum: pollSeconds.least,
    maximum: pollSeconds.most,
    description: `Seconds between two look-ups of the branches, ${pollSeconds.usual} by default; null: only on a POST to the webhook URL`,
  }),
);

const Remote = Type.Object({
  url: Type.String(),
  /** Public key of the generated deploy key, or null. */
  publicKey: nullable(Type.String()),
  /** Fingerprints of the host's keys, which must not change. */
  hostKeys: Type.Array(Type.String()),
  pollSeconds: nullable(Type.Integer()),
  polledAt: nullable(Timestamp),
  nextPollAt: nullable(Timestamp),
  /** Why the last attempt to read the remote failed, or null. */
  problem: nullable(Type.String()),
});

interface RemoteRow {
  readonly id: string;
  readonly organization_id: string;
  readonly url: string;
  readonly credentials: Uint8Array | null;
  readonly poll_seconds: number | null;
  readonly poll_due_at: Date | null;
  readonly checked_at: Date | null;
  readonly check_problem: string | null;
}

/** @throws {ApiError} `not_found` */
async function remoteRow(sql: Sql, id: string): Promise<RemoteRow> {
  const [row] = await sql<RemoteRow[]>`SELECT * FROM control.repository WHERE id = ${id} AND source = 'remote'`;
  if (row === undefined) throw new ApiError('not_found');
  return row;
}

function toRemote({ keys }: Dependencies, row: RemoteRow) {
  const { publicKey = null, knownHosts = '' } = openCredentials(keys, row.id, row.credentials);
  return {
    url: row.url,
    publicKey,
    hostKeys: hostKeyFingerprints(knownHosts),
    pollSeconds: row.poll_seconds,
    polledAt: row.checked_at?.toISOString() ?? null,
    nextPollAt: row.poll_seconds === null ? null : (row.poll_due_at?.toISOString() ?? null),
    problem: row.check_problem,
  };
}

export const remotes = platform<Dependencies, RequestState>()
  .post(
    '/repositories/deploy-key',
    {
      ...needs('project:create'),
      tags: ['repositories'],
      summary: 'Generate a deploy key for a plain remote by ssh',
      description:
        'Add the public half on the host with read access, then connect the remote with `deployKey`, within a day.',
      body: Type.Object({ organizationId: Type.String() }),
      response: {
        201: Type.Object({ deployKey: Type.String(), publicKey: Type.String(), expiresAt: Timestamp }),
      },
    },
    async (ctx) => {
      const { organizationId } = ctx.body;
      const { accountId } = ctx.state.access.organization('project:create', organizationId);
      await countAttempt(ctx.env.sql, 'deploy-key', accountId);
      const { id, publicKey, expiresAt } = await ctx.env.sql.begin(async (tx) => {
        const made = await makeDeployKey({ ...ctx.env, sql: tx }, organizationId);
        await ctx.state.audit(tx, {
          organizationId,
          action: 'repository.deploy_key_create',
          subjectKind: 'organization',
          subjectId: organizationId,
          details: { publicKey: made.publicKey },
        });
        return made;
      });
      return ctx.json({ deployKey: id, publicKey, expiresAt: expiresAt.toISOString() }, 201);
    },
  )
  .get(
    '/repositories/:id/remote',
    {
      ...needs('project:read'),
      tags: ['repositories'],
      summary: 'Read the keys, the polling state and the last error of a plain remote',
      response: Remote,
    },
    async (ctx) => {
      const { sql } = ctx.env;
      ctx.state.access.account('project:read');
      const row = await remoteRow(sql, ctx.params.id);
      ctx.state.access.organization('project:read', row.organization_id);
      return toRemote(ctx.env, row);
    },
  )
  .patch(
    '/repositories/:id/remote',
    {
      ...needs('project:write'),
      tags: ['repositories'],
      summary: 'Change the polling interval of a plain remote',
      body: Type.Object({ pollSeconds: PollSeconds }),
      response: Remote,
    },
    async (ctx) => {
      const { sql } = ctx.env;
      const { id } = ctx.params;
      ctx.state.access.account('project:write');
      const { organization_id: organizationId } = await remoteRow(sql, id);
      ctx.state.access.organization('project:write', organizationId);
      const { pollSeconds: seconds } = ctx.body;
      await sql.begin(async (tx) => {
        await tx`
          UPDATE control.repository
             SET poll_seconds = ${seconds}, poll_due_at = now() + make_interval(secs => ${seconds}), poll_failures = 0
           WHERE id = ${id}`;
        await ctx.state.audit(tx, {
          organizationId,
          action: 'repository.update',
          subjectKind: 'repository',
          subjectId: id,
          details: { pollSeconds: seconds },
        });
      });
      return toRemote(ctx.env, await remoteRow(sql, id));
    },
  )
  .post(
    '/webhooks/remote/:token',
    {
      ...openToAll(),
      tags: ['repositories'],
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
