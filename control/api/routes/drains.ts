// Log drains of a project: target, state, test delivery. Headers and keys are stored sealed and never shown again.
import Type, { type Static } from '#core/typebox/typebox.mjs';
import { seal } from '#core/encryption.ts';
import { invocationKinds } from '#core/plans.ts';
import { platform } from '#packages/worker/index.ts';
import { openDrain, type DrainRow } from '../../drains/deliver.ts';
import { sendLines } from '../../drains/send.ts';
import {
  drainContext,
  partTarget,
  ShownTargetSchema,
  targetProblem,
  TargetSchema,
  type GivenTarget,
} from '../../drains/target.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { newId } from '../../records/ids.ts';
import { lastSeq, lineLevels } from '../../telemetry/lines.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { needs } from '../request/needs.ts';
import { Id, Label, nullable, Timestamp } from '../../http/schemas.ts';

const tags = ['drains'];
const path = '/projects/:id/drains';
const needed = needs('drain:write', 'project');

const Drain = Type.Object({
  id: Id,
  name: Type.String(),
  target: ShownTargetSchema,
  level: Type.Enum([...lineLevels]),
  // Null: all lines, including those outside of invocations.
  kinds: nullable(Type.Array(Type.Enum([...invocationKinds]))),
  branch: nullable(Type.String()),
  allowPrivate: Type.Boolean(),
  // `paused`: the platform stopped after failing for too long; `enabled: true` resumes where it stopped.
  state: Type.Enum(['on', 'retrying', 'paused', 'off']),
  // Of the last attempt, if it failed.
  error: nullable(Type.String()),
  failures: Type.Integer(),
  failedAt: nullable(Timestamp),
  nextAttemptAt: nullable(Timestamp),
  deliveredAt: nullable(Timestamp),
  deliveredLines: Type.Integer(),
  deliveredBytes: Type.Integer(),
  createdAt: Timestamp,
});

const settings = {
  name: Label,
  level: Type.Optional(Type.Enum([...lineLevels], { description: 'And those above it; debug by default' })),
  kinds: Type.Optional(
    nullable(
      Type.Array(Type.Enum([...invocationKinds]), {
        minItems: 1,
        maxItems: invocationKinds.length,
        description: 'Kinds of invocations whose lines are sent; null, the default: all, and those of none',
      }),
    ),
  ),
  branch: Type.Optional(nullable(Type.String({ minLength: 1, maxLength: 255, description: 'Null: all' }))),
};

interface Row extends DrainRow {
  readonly name: string;
  readonly enabled: boolean;
  readonly failures: number;
  readonly error: string | null;
  readonly failed_at: Date | null;
  readonly next_at: Date;
  readonly paused_at: Date | null;
  readonly delivered_at: Date | null;
  readonly delivered_lines: number;
  readonly delivered_bytes: number;
  readonly created_at: Date;
}

const stateOf = ({ enabled, paused_at: pausedAt, failures }: Row): 'on' | 'retrying' | 'paused' | 'off' =>
  !enabled ? 'off' : pausedAt !== null ? 'paused' : failures > 0 ? 'retrying' : 'on';

const toDrain = (row: Row): Static<typeof Drain> => ({
  id: row.id,
  name: row.name,
  target: row.target,
  level: lineLevels[row.level]!,
  kinds: row.kinds as Static<typeof Drain>['kinds'],
  branch: row.branch,
  allowPrivate: row.is_private,
  state: stateOf(row),
  error: row.error,
  failures: row.failures,
  failedAt: row.failed_at?.toISOString() ?? null,
  nextAttemptAt: stateOf(row) === 'retrying' ? row.next_at.toISOString() : null,
  deliveredAt: row.delivered_at?.toISOString() ?? null,
  deliveredLines: row.delivered_lines,
  deliveredBytes: row.delivered_bytes,
  createdAt: row.created_at.toISOString(),
});

/** The stored form of a target. @throws {ApiError} `bad_request` for an invalid target. */
function keepTarget({ keys }: Dependencies, id: string, target: GivenTarget, isPrivate: boolean) {
  const problem = targetProblem(target, isPrivate);
  if (problem !== null) throw new ApiError('bad_request', { reason: problem });
  const { shown, secret } = partTarget(target);
  return { shown, sealed: seal(keys, JSON.stringify(secret), drainContext(id)) };
}

const hostOf = (target: GivenTarget): string => new URL(target.kind === 's3' ? target.endpoint : target.url).host;

export const drains = platform<Dependencies, RequestState>()
  .get(
    path,
    { ...needed, tags, summary: 'List the log drains of a project', response: Type.Array(Drain) },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('drain:write', ctx.params.id);
      const rows = await ctx.env.sql<Row[]>`
      SELECT * FROM control.log_drain WHERE project_id = ${projectId} ORDER BY created_at, id`;
      return rows.map(toDrain);
    },
  )
  .post(
    path,
    {
      ...needs('drain:write', 'project', ['operator']),
      tags,
      summary: 'Make a log drain: lines from now on are sent to its target',
      body: Type.Object(
        {
          ...settings,
          target: TargetSchema,
          allowPrivate: Type.Optional(
            Type.Boolean({ description: 'May lead to http and private addresses; only operators may' }),
          ),
        },
        { additionalProperties: false },
      ),
      response: { 201: Drain },
    },
    async (ctx) => {
      const { projectId, organizationId } = await ctx.state.access.project('drain:write', ctx.params.id);
      const { name, target, level = 'debug', kinds = null, branch = null, allowPrivate = false } = ctx.body;
      if (allowPrivate) ctx.state.access.operator();
      const { sql, limits } = ctx.env;
      const id = newId('drain');
      const { shown, sealed } = keepTarget(ctx.env, id, target, allowPrivate);
      const row = await sql.begin(async (tx) => {
        await tx`SELECT 1 FROM control.project WHERE id = ${projectId} FOR UPDATE`;
        const [count] = await tx<{ count: number }[]>`
          SELECT count(*)::int AS count FROM control.log_drain WHERE project_id = ${projectId}`;
        const allowed = limits.drainsMax;
        if (count!.count >= allowed) throw new ApiError('limit_reached', { what: 'Log drains', allowed });
        const [made] = await tx<Row[]>`
          INSERT INTO control.log_drain (id, project_id, name, kind, target, secret, is_private, level, kinds, branch, cursor)
          VALUES (${id}, ${projectId}, ${name}, ${shown.kind}, ${tx.json(shown)}, ${sealed}, ${allowPrivate},
            ${lineLevels.indexOf(level)}, ${kinds}, ${branch}, ${await lastSeq(sql)})
          RETURNING *`;
        const details = { name, kind: shown.kind, host: hostOf(target) };
        await ctx.state.audit(tx, { ...subject(organizationId, projectId, id, 'drain.create'), details });
        return made!;
      });
      return ctx.json(toDrain(row), 201);
    },
  )
  .patch(
    `${path}/:drainId`,
    {
      ...needs('drain:write', 'project', ['operator']),
      tags,
      summary: 'Change a log drain, switch it on or off; `enabled: true` also starts one again that was paused',
      description: 'Only operators can change the target of a drain with `allowPrivate`.',
      body: Type.Object(
        {
          ...settings,
          name: Type.Optional(settings.name),
          target: Type.Optional(TargetSchema),
          enabled: Type.Optional(Type.Boolean()),
        },
        { additionalProperties: false, minProperties: 1 },
      ),
      response: Drain,
    },
    async (ctx) => {
      const { projectId, organizationId } = await ctx.state.access.project('drain:write', ctx.params.id);
      const { drainId } = ctx.params;
      const { name, target, level, kinds, branch, enabled } = ctx.body;
      const row = await ctx.env.sql.begin(async (tx) => {
        const [before] = await tx<Row[]>`
          SELECT * FROM control.log_drain WHERE id = ${drainId} AND project_id = ${projectId} FOR UPDATE`;
        if (before === undefined) throw new ApiError('not_found');
        // Only an operator may use a private address.
        if (target !== undefined && before.is_private) ctx.state.access.operator();
        const kept = target === undefined ? null : keepTarget(ctx.env, drainId, target, before.is_private);
        // The result of a running delivery is discarded, so its lines may be sent again.
        const [after] = await tx<Row[]>`
          UPDATE control.log_drain SET name = ${name ?? before.name}, enabled = ${enabled ?? before.enabled},
            kind = ${(kept?.shown ?? before.target).kind}, target = ${tx.json(kept?.shown ?? before.target)},
            secret = ${kept?.sealed ?? before.secret}, branch = ${branch === undefined ? before.branch : branch},
            kinds = ${kinds === undefined ? (before.kinds as string[] | null) : kinds},
            level = ${level === undefined ? before.level : lineLevels.indexOf(level)},
            lease = NULL, lease_until = NULL,
            ${enabled === true || kept !== null ? tx`paused_at = NULL, failures = 0, error = NULL, next_at = now()` : tx`failures = failures`}
          WHERE id = ${drainId} RETURNING *`;
        await tx`SELECT pg_notify('control_telemetry', ${projectId})`;
        const details = { enabled: after!.enabled, ...(target !== undefined && { host: hostOf(target) }) };
        await ctx.state.audit(tx, { ...subject(organizationId, projectId, drainId, 'drain.update'), details });
        return after!;
      });
      return toDrain(row);
    },
  )
  .delete(
    `${path}/:drainId`,
    { ...needed, tags, summary: 'Delete a log drain', response: { 204: null } },
    async (ctx) => {
      const { projectId, organizationId } = await ctx.state.access.project('drain:write', ctx.params.id);
      const { drainId } = ctx.params;
      await ctx.env.sql.begin(async (tx) => {
        const { count } = await tx`
          DELETE FROM control.log_drain WHERE id = ${drainId} AND project_id = ${projectId}`;
        if (count === 0) throw new ApiError('not_found');
        await ctx.state.audit(tx, subject(organizationId, projectId, drainId, 'drain.delete'));
      });
      return ctx.json(null, 204);
    },
  )
  .post(
    `${path}/:drainId/test`,
    {
      ...needed,
      tags,
      summary: 'Send one made-up line to the target of a log drain, and say what came of it',
      response: Type.Object({
        ok: Type.Boolean(),
        // Null: no response.
        status: nullable(Type.Integer()),
        error: nullable(Type.String()),
      }),
    },
    async (ctx) => {
      const { projectId, organizationId } = await ctx.state.access.project('drain:write', ctx.params.id);
      const { drainId } = ctx.params;
      const { sql } = ctx.env;
      const [row] = await sql<Row[]>`
        SELECT drain.*, project.name AS project_name FROM control.log_drain AS drain
        JOIN control.project ON project.id = project_id WHERE drain.id = ${drainId} AND project_id = ${projectId}`;
      if (row === undefined) throw new ApiError('not_found');
      const { status, error } = await sendLines(openDrain(ctx.env, row), [testLine()]);
      await ctx.state.audit(sql, {
        ...subject(organizationId, projectId, drainId, 'drain.test'),
        details: { status, error },
      });
      return { ok: error === null, status, error };
    },
  );

/** A made-up line for test deliveries. */
function testLine() {
  return {
    id: '0',
    at: new Date().toISOString(),
    level: 'info' as const,
    text: 'A test of this log drain',
    deploymentId: '',
    branch: '',
    kind: null,
    route: '',
    invocation: null,
    traceId: null,
  };
}

function subject(organizationId: string, projectId: string, subjectId: string, action: string) {
  return { organizationId, projectId, action, subjectKind: 'drain', subjectId } as const;
}
