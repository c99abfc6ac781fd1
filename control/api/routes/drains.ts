// Log drains of a project: target, state, test delivery. Headers and keys are stored encrypted and never shown again.
import Type, { type Static } from '#core/typebox/typebox.mjs';
import { invocationKinds } from '#core/plans.ts';
import { platform } from '#packages/worker/index.ts';
import { openDrain, type DrainRow } from '../../drains/deliver.ts';
import { sendLines } from '../../drains/send.ts';
import {
  checkTarget,
  hostOf,
  partTarget,
  ShownTargetSchema,
  TargetSchema,
  type GivenTarget,
} from '../../drains/target.ts';
import { ApiError } from '../../http/errors.ts';
import { Id, Label, nullable, Timestamp } from '../../http/schemas.ts';
import { viewOf } from '../../http/view.ts';
import { drainKind, sealSecret } from '../../outbound/subscription.ts';
import { AllowPrivate } from '../../outbound/target-url.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { newId } from '../../records/ids.ts';
import { lastSeq, lineLevels } from '../../telemetry/lines.ts';
import type { RequestState } from '../request/middleware.ts';
import { needs } from '../request/needs.ts';
import { changeOwned, createOwned, deleteOwned, entryOf, listOwned } from './owned-rows.ts';

const tags = ['drains'];
const path = '/projects/:id/drains';
const needed = needs('drain:write', 'project');

const Drain = Type.Object({
  id: Id,
  name: Type.String(),
  target: ShownTargetSchema,
  level: Type.Enum([...lineLevels]),
  // Null means all lines, including those outside of invocations.
  kinds: nullable(Type.Array(Type.Enum([...invocationKinds]))),
  branch: nullable(Type.String()),
  allowPrivate: Type.Boolean(),
  // `paused`: the platform stopped after failing for too long; `enabled: true` resumes where it stopped.
  state: Type.Enum(['on', 'retrying', 'paused', 'off']),
  // Error of the last attempt, if it failed.
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
  level: Type.Optional(Type.Enum([...lineLevels], { description: 'This level and higher; default: debug' })),
  kinds: Type.Optional(
    nullable(
      Type.Array(Type.Enum([...invocationKinds]), {
        minItems: 1,
        maxItems: invocationKinds.length,
        description:
          'Kinds of invocations whose lines are sent; null (default): all lines, including those outside of invocations',
      }),
    ),
  ),
  branch: Type.Optional(nullable(Type.String({ minLength: 1, maxLength: 255, description: 'Null: all' }))),
};

interface Row extends DrainRow {
  readonly enabled: boolean;
  readonly failures: number;
  readonly next_at: Date;
  readonly paused_at: Date | null;
}

const stateOf = ({ enabled, paused_at: pausedAt, failures }: Row): Static<typeof Drain>['state'] =>
  !enabled ? 'off' : pausedAt !== null ? 'paused' : failures > 0 ? 'retrying' : 'on';

const toDrain = viewOf(Drain, {
  level: ({ level }: Row) => lineLevels[level],
  allowPrivate: (row: Row) => row.is_private,
  state: stateOf,
  nextAttemptAt: (row: Row) => (stateOf(row) === 'retrying' ? row.next_at : null),
});

/** The stored form of a target. @throws {ApiError} `bad_request` for a target that is not allowed. */
function keepTarget({ keys }: Dependencies, id: string, target: GivenTarget, isPrivate: boolean) {
  checkTarget(target, isPrivate);
  const { shown, secret } = partTarget(target);
  return { kind: shown.kind, target: shown, secret: sealSecret(keys, drainKind, id, JSON.stringify(secret)) };
}

export const drains = platform<Dependencies, RequestState>()
  .get(
    path,
    { ...needed, tags, summary: 'List the log drains of a project', response: Type.Array(Drain) },
    async (ctx) => {
      const owner = await ctx.state.access.project('drain:write', ctx.params.id);
      return (await listOwned<Row>(ctx.env.sql, drainKind, owner)).map(toDrain);
    },
  )
  .post(
    path,
    {
      ...needs('drain:write', 'project', ['operator']),
      tags,
      summary: 'Create a log drain: lines from now on are sent to its target',
      body: Type.Object(
        { ...settings, target: TargetSchema, allowPrivate: AllowPrivate },
        { additionalProperties: false },
      ),
      response: { 201: Drain },
    },
    async (ctx) => {
      const owner = await ctx.state.access.project('drain:write', ctx.params.id);
      const { name, target, level = 'debug', kinds = null, branch = null, allowPrivate = false } = ctx.body;
      if (allowPrivate) ctx.state.access.operator();
      const { sql } = ctx.env;
      const id = newId('drain');
      const kept = keepTarget(ctx.env, id, target, allowPrivate);
      const filter = { level: lineLevels.indexOf(level), kinds, branch, cursor: await lastSeq(sql) };
      const row = await createOwned<Row>(ctx, drainKind, owner, {
        id,
        columns: { name, ...kept, target: sql.json(kept.target), is_private: allowPrivate, ...filter },
        details: { name, kind: kept.kind, host: hostOf(target) },
      });
      return ctx.json(toDrain(row), 201);
    },
  )
  .patch(
    `${path}/:drainId`,
    {
      ...needs('drain:write', 'project', ['operator']),
      tags,
      summary: 'Change a log drain, or switch it on or off; `enabled: true` also resumes a paused drain',
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
      const owner = await ctx.state.access.project('drain:write', ctx.params.id);
      const { drainId } = ctx.params;
      const { name, target, level, kinds, branch, enabled } = ctx.body;
      const row = await changeOwned<Row>(ctx, drainKind, owner, drainId, async (tx, before) => {
        // Only operators may use private addresses.
        if (target !== undefined && before.is_private) ctx.state.access.operator();
        const kept = target === undefined ? null : keepTarget(ctx.env, drainId, target, before.is_private);
        const isRestarted = enabled === true || kept !== null;
        await tx`SELECT pg_notify('control_telemetry', ${owner.projectId})`;
        return {
          columns: {
            name,
            kinds,
            branch,
            enabled,
            level: level === undefined ? undefined : lineLevels.indexOf(level),
            ...(kept !== null && { ...kept, target: tx.json(kept.target) }),
            ...(isRestarted && { paused_at: null, failures: 0, error: null, next_at: tx`now()` }),
            // The result of a running delivery is discarded, so its lines may be sent again.
            lease: null,
            lease_until: null,
          },
          details: {
            enabled: enabled ?? before.enabled,
            ...(target !== undefined && { host: hostOf(target) }),
          },
        };
      });
      return toDrain(row);
    },
  )
  .delete(
    `${path}/:drainId`,
    { ...needed, tags, summary: 'Delete a log drain', response: { 204: null } },
    async (ctx) => {
      const owner = await ctx.state.access.project('drain:write', ctx.params.id);
      await deleteOwned(ctx, drainKind, owner, ctx.params.drainId);
      return ctx.json(null, 204);
    },
  )
  .post(
    `${path}/:drainId/test`,
    {
      ...needed,
      tags,
      summary: 'Send a sample line to the target of a log drain, and return the result',
      response: Type.Object({
        ok: Type.Boolean(),
        // Null: no response.
        status: nullable(Type.Integer()),
        error: nullable(Type.String()),
      }),
    },
    async (ctx) => {
      const owner = await ctx.state.access.project('drain:write', ctx.params.id);
      const { drainId } = ctx.params;
      const { sql } = ctx.env;
      const [row] = await sql<Row[]>`
        SELECT drain.*, project.name AS project_name FROM control.log_drain AS drain
        JOIN control.project ON project.id = project_id WHERE drain.id = ${drainId} AND project_id = ${owner.projectId}`;
      if (row === undefined) throw new ApiError('not_found');
      const { status, error } = await sendLines(openDrain(ctx.env, row), [testLine()]);
      await ctx.state.audit(sql, entryOf(drainKind, owner, drainId, 'test', { status, error }));
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
