// Deployments: list, read, cancel, rebuild; and build logs, as pages or as a stream.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { createDeployment } from '../../releases/create-deployment.ts';
import { redeploy } from '../../releases/redeploy.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import {
  cancelDeployment,
  deploymentStates,
  hasEnded,
  listDeployments,
  readDeployment,
  readLog,
  readState,
  toDeployment,
  toLine,
} from '../../records/deployments.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { buildLogEvents } from '../events/build-log-events.ts';
import type { EventStreams } from '../events/event-stream.ts';
import { needs } from '../request/needs.ts';
import { pageOf, pageQuery, readTimePage, toTimePage } from '../../http/page.ts';
import { Id, nullable, ReleaseSettingsSchema, Timestamp } from '../../http/schemas.ts';
import { guardedStates } from '../../records/guarded-releases.ts';

const Status = Type.Enum([...deploymentStates]);
const Target = Type.Enum(['production', 'preview']);
const Text = nullable(Type.String());
// Metrics of one deployment.
const Seen = nullable(
  Type.Object({
    requests: Type.Integer(),
    // Requests that were answered with a 5xx status.
    failures: Type.Integer(),
    p99Ms: nullable(Type.Number()),
    cpuMs: nullable(Type.Number()),
  }),
);
const GuardedReleaseSchema = Type.Object({
  state: Type.Enum([...guardedStates]),
  // The deployment that is production now.
  previousDeploymentId: Id,
  // Current share of the visitors.
  percent: Type.Integer(),
  settings: ReleaseSettingsSchema,
  // Steps that have begun; the last step is the current one.
  steps: Type.Array(
    Type.Object({
      percent: Type.Integer(),
      startedAt: Timestamp,
      endedAt: nullable(Timestamp),
      now: Seen,
      before: Seen,
      verdict: Text,
    }),
  ),
  // Why it ended.
  reason: Text,
  startedAt: Timestamp,
  endedAt: nullable(Timestamp),
});
export const DeploymentSchema = Type.Object({
  id: Id,
  projectId: Id,
  organizationId: Id,
  status: Status,
  // Why the deployment ended or waits, as a code: `superseded`, `build_failed`, `migration_failed`, ...
  reason: Text,
  errorMessage: Text,
  target: Target,
  branch: Type.String(),
  commitSha: Text,
  commitMessage: Text,
  author: Text,
  pullRequest: nullable(Type.Integer()),
  isFork: Type.Boolean(),
  // Whether the deployment is production.
  isLive: Type.Boolean(),
  // The newest guarded release of the deployment, or null.
  guardedRelease: nullable(GuardedReleaseSchema),
  source: Type.String(),
  createdBy: Text,
  kind: Text,
  // The deployment's own URL; null until it is reachable.
  url: Text,
  aliasUrls: Type.Array(Type.String()),
  buildDurationMs: nullable(Type.Integer()),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  readyAt: nullable(Timestamp),
});
const Line = Type.Object({
  seq: Type.Integer(),
  at: Timestamp,
  step: Type.String(),
  level: Type.String(),
  text: Type.String(),
});
const listQuery = {
  ...pageQuery,
  branch: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
  status: Type.Optional(Status),
  target: Type.Optional(Target),
};
const LINES_MAX = 1000;
const tags = ['deployments'];

export function deployments(streams: EventStreams) {
  return platform<Dependencies, RequestState>()
    .get(
      '/deployments',
      {
        ...needs('deployment:read'),
        tags,
        summary: 'List deployments of one project, or of all visible projects, newest first',
        query: Type.Object({ ...listQuery, projectId: Type.Optional(Id) }),
        response: pageOf(DeploymentSchema),
      },
      async (ctx) => {
        const { access } = ctx.state;
        const actor = access.account('deployment:read');
        const projectId = ctx.query.projectId ?? actor.token?.projectId ?? null;
        const organizationIds = Object.keys(actor.memberships).filter((id) =>
          access.may('deployment:read', id, projectId),
        );
        if (projectId !== null) await access.project('deployment:read', projectId);
        else access.everybody();
        const page = readTimePage(ctx.query);
        const rows = await listDeployments(ctx.env.sql, {
          projectId,
          organizationIds: projectId === null ? organizationIds : null,
          branch: ctx.query.branch ?? null,
          status: ctx.query.status ?? null,
          target: ctx.query.target ?? null,
          page,
        });
        return toTimePage(rows, page, (row) => toDeployment(ctx.env.addresses, row));
      },
    )
    .get(
      '/deployments/by-org/:orgId',
      {
        ...needs('deployment:read', 'organization'),
        tags,
        summary: 'List the deployments of an organization, newest first',
        query: Type.Object(listQuery),
        response: pageOf(DeploymentSchema),
      },
      async (ctx) => {
        const page = readTimePage(ctx.query);
        const rows = await listDeployments(ctx.env.sql, {
          projectId: null,
          organizationIds: [ctx.params.orgId],
          branch: ctx.query.branch ?? null,
          status: ctx.query.status ?? null,
          target: ctx.query.target ?? null,
          page,
        });
        return toTimePage(rows, page, (row) => toDeployment(ctx.env.addresses, row));
      },
    )
    .get(
      '/deployments/:id',
      { ...needs('deployment:read', 'deployment'), tags, summary: 'Read a deployment', response: DeploymentSchema },
      async (ctx) => toDeployment(ctx.env.addresses, await readDeployment(ctx.env.sql, ctx.params.id)),
    )
    .post(
      '/deployments/:id/cancel',
      {
        ...needs('deployment:create', 'deployment'),
        tags,
        summary: 'Cancel a deployment that has not finished',
        response: { 202: DeploymentSchema },
      },
      async (ctx) => {
        const { id } = ctx.params;
        const { organizationId, projectId } = await ctx.state.access.deployment('deployment:create', id);
        const row = await ctx.env.sql.begin(async (tx) => {
          if (!(await cancelDeployment(tx, id)))
            throw new ApiError('conflict', { reason: 'The deployment has already finished' });
          await ctx.state.audit(tx, {
            organizationId,
            projectId,
            action: 'deployment.cancel',
            subjectKind: 'deployment',
            subjectId: id,
          });
          return readDeployment(tx, id);
        });
        return ctx.json(toDeployment(ctx.env.addresses, row), 202);
      },
    )
    .post(
      '/deployments/:id/retry',
      {
        ...needs('deployment:create', 'deployment'),
        tags,
        summary: 'Build the same commit again, with clearCache without any cache; uploads are released again',
        query: Type.Object({
          clearCache: Type.Optional(
            Type.Boolean({
              description: 'Deletes the build cache and the build sandbox of the branch first',
            }),
          ),
        }),
        response: { 202: Type.Object({ newDeploymentId: Id, message: Type.String() }) },
      },
      async (ctx) => {
        const { actor } = await ctx.state.access.deployment('deployment:create', ctx.params.id);
        const before = await readDeployment(ctx.env.sql, ctx.params.id);
        if (!hasEnded(before.status))
          throw new ApiError('conflict', { reason: 'The deployment has not finished: cancel it first, or wait' });
        // Builds of forks need an explicit approval (git-host/approval.ts).
        if (before.is_fork)
          throw new ApiError('unprocessable', { reason: 'The deployment is from a fork: approve it, or push again' });
        const { clearCache = false } = ctx.query;
        if (before.source === 'upload' && clearCache)
          throw new ApiError('unprocessable', {
            reason: 'The deployment was uploaded, so it has no build cache to clear',
          });
        if (before.source === 'upload') {
          const id = await redeploy(ctx.env, before.id, actor.accountId, ctx.state.audit);
          return ctx.json({ newDeploymentId: id, message: `${id} releases what was uploaded for ${before.id}` }, 202);
        }
        const made = await createDeployment(ctx.env, {
          projectId: before.project_id,
          branch: before.branch,
          commit: before.commit_sha,
          ...(before.commit_message !== null && { message: before.commit_message }),
          ...(before.author !== null && { author: before.author }),
          pullRequest: before.pull_request,
          source: 'redeploy',
          createdBy: actor.accountId,
          audit: ctx.state.audit,
          ...(clearCache && { input: { clearCache } }),
        });
        if (clearCache && !made.isNew)
          throw new ApiError('conflict', { reason: `${made.id} is already building the same commit: cancel it first` });
        const message = made.isNew
          ? `${made.id} builds the commit of ${before.id} again`
          : `${made.id} is already building the same commit`;
        return ctx.json({ newDeploymentId: made.id, message }, 202);
      },
    )
    .get(
      '/deployments/:id/logs',
      {
        ...needs('log:read', 'deployment'),
        tags,
        summary: 'Read the build log, or follow it as server-sent events (`follow=true`, or Accept: text/event-stream)',
        description:
          'A JSON response has the lines after the line number `after`. A stream has the events `line` (the id is the line number), `status` and `end`.',
        query: Type.Object({
          after: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
          limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LINES_MAX, default: LINES_MAX })),
          follow: Type.Optional(Type.Boolean()),
        }),
        response: Type.Object({
          items: Type.Array(Line),
          // Pass this number as `after` in the next request.
          nextAfter: Type.Integer(),
          status: Status,
          reason: Text,
          // No further lines will follow.
          hasEnded: Type.Boolean(),
        }),
      },
      async (ctx) => {
        const { sql } = ctx.env;
        const { id } = ctx.params;
        const { limit = LINES_MAX } = ctx.query;
        const isStream = ctx.query.follow ?? /\btext\/event-stream\b/.test(ctx.req.headers.get('accept') ?? '');
        const last = Number(/^\d{1,15}$/.exec(ctx.req.headers.get('last-event-id') ?? '')?.[0] ?? 0);
        const after = ctx.query.after ?? last;
        if (isStream) return streams.answer(ctx.env, (gone) => buildLogEvents(ctx.env, id, after, gone), ctx.signal);
        // Read the state first: all lines are written before the final state.
        const state = (await readState(sql, id))!;
        const rows = await readLog(sql, id, after, limit);
        return {
          items: rows.map(toLine),
          nextAfter: rows.at(-1)?.seq ?? after,
          ...state,
          hasEnded: hasEnded(state.status) && rows.length < limit,
        };
      },
    );
}
