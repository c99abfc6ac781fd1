// Queues of a project: how they stand, their dead letters, and sending those again.
import Type from 'typebox';
import { platform } from '#packages/worker/index.ts';
import type { Parts } from '../../parts.ts';
import type { RequestState } from '../app.ts';
import { needs } from '../needs.ts';
import { BindingName, branchQuery, callResource } from '../resource-calls.ts';

const params = Type.Object({ id: Type.String(), queue: BindingName });
const NullableNumber = Type.Union([Type.Number(), Type.Null()]);

export const queues = platform<Parts, RequestState>()
  .get(
    '/projects/:id/queues/:queue/stats',
    {
      ...needs('data:read', 'project'),
      summary: 'How a queue stands',
      params,
      query: Type.Object(branchQuery),
      response: Type.Object({
        backlogCount: Type.Number(),
        backlogBytes: Type.Number(),
        inFlightCount: Type.Number(),
        oldestMessageTimestamp: NullableNumber,
        deadCount: Type.Number(),
      }),
    },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('data:read', ctx.params.id);
      const question = { projectId, branch: ctx.query.branch, binding: ctx.params.queue, args: {} };
      return callResource(ctx.env, 'queue.stats', question);
    },
  )
  .get(
    '/projects/:id/queues/:queue/dead',
    {
      ...needs('data:read', 'project'),
      summary: 'List dead letters, and why they are',
      params,
      query: Type.Object({
        ...branchQuery,
        cursor: Type.Optional(Type.String({ maxLength: 20, pattern: '^\\d+$' })),
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
      }),
      response: Type.Object({
        items: Type.Array(
          Type.Object({
            id: Type.String(),
            payload: Type.Unknown(),
            attempt: Type.Number(),
            timestamp: Type.Number(),
            deadReason: Type.Union([Type.String(), Type.Null()]),
          }),
        ),
        nextCursor: Type.Union([Type.String(), Type.Null()]),
      }),
    },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('data:read', ctx.params.id);
      const { branch, cursor, limit = 50 } = ctx.query;
      const args = { limit, ...(cursor !== undefined && { after: Number(cursor) }) };
      const question = { projectId, branch, binding: ctx.params.queue, args };
      const { messages, next } = await callResource(ctx.env, 'queue.dead', question);
      return { items: [...messages], nextCursor: next === null ? null : String(next) };
    },
  )
  .post(
    '/projects/:id/queues/:queue/redrive',
    {
      ...needs('data:write', 'project'),
      summary: 'Send all dead letters to their queue again',
      params,
      query: Type.Object(branchQuery),
      response: Type.Object({ count: Type.Number() }),
    },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('data:write', ctx.params.id);
      const question = { projectId, branch: ctx.query.branch, binding: ctx.params.queue, args: {} };
      return callResource(ctx.env, 'queue.redrive', question);
    },
  );
