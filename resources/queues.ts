// Queues: pending messages, and dead letters with their reasons.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import {
  BindingName,
  branchOnly,
  branchQuery,
  done,
  Done,
  Limit,
  NullableNumber,
  NullableText,
  NumberCursor,
  reads,
  writes,
  type ResourceState,
} from './access.ts';

const params = Type.Object({ id: Type.String(), queue: BindingName });
const Dead = Type.Optional(Type.Boolean({ description: 'The dead letters of the queue' }));
const Count = Type.Object({ count: Type.Number() });
const Message = Type.Object({
  id: Type.String(),
  payload: Type.Unknown(),
  attempt: Type.Number(),
  timestamp: Type.Number({ description: 'Time of sending, in milliseconds since 1970' }),
  dueAt: NullableNumber,
  deadReason: NullableText,
});
const Messages = Type.Object({ items: Type.Array(Message), nextCursor: NullableText });

export const queues = platform<unknown, ResourceState>()
  .get(
    '/projects/:id/queues/:queue/stats',
    {
      ...reads,
      summary: 'Read the state of a queue',
      params,
      query: branchOnly,
      response: Type.Object({
        backlogCount: Type.Number(),
        backlogBytes: Type.Number(),
        inFlightCount: Type.Number(),
        oldestMessageTimestamp: NullableNumber,
        deadCount: Type.Number(),
      }),
    },
    async (ctx) => {
      const { id: project, queue: binding } = ctx.params;
      return ctx.state.resources.ask('queue.stats', { project, branch: ctx.query.branch, binding, args: {} });
    },
  )
  .get(
    '/projects/:id/queues/:queue/messages',
    {
      ...reads,
      summary: 'List messages in the order they were sent, or dead letters with the reason',
      params,
      query: Type.Object({ ...branchQuery, dead: Dead, cursor: NumberCursor, limit: Limit }),
      response: Messages,
    },
    async (ctx) => {
      const { id: project, queue: binding } = ctx.params;
      const { branch, cursor, dead, limit } = ctx.query;
      const args = { dead, limit, ...(cursor !== undefined && { after: Number(cursor) }) };
      const { messages, next } = await ctx.state.resources.ask('queue.list', { project, branch, binding, args });
      return { items: [...messages], nextCursor: next === null ? null : String(next) };
    },
  )
  .get(
    '/projects/:id/queues/:queue/dead',
    {
      ...reads,
      summary: 'List dead letters with the reason',
      params,
      query: Type.Object({ ...branchQuery, cursor: NumberCursor, limit: Limit }),
      response: Messages,
    },
    async (ctx) => {
      const { id: project, queue: binding } = ctx.params;
      const { branch, cursor, limit } = ctx.query;
      const args = { dead: true, limit, ...(cursor !== undefined && { after: Number(cursor) }) };
      const { messages, next } = await ctx.state.resources.ask('queue.list', { project, branch, binding, args });
      return { items: [...messages], nextCursor: next === null ? null : String(next) };
    },
  )
  .post(
    '/projects/:id/queues/:queue/messages',
    {
      ...writes,
      summary: 'Send a message',
      params,
      query: branchOnly,
      body: Type.Object({
        payload: Type.Unknown(),
        delaySeconds: Type.Optional(Type.Number({ minimum: 0 })),
        dedupeId: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
        orderingKey: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
      }),
      response: { 201: Type.Object({ messageId: Type.String() }) },
    },
    async (ctx) => {
      const { id: project, queue: binding } = ctx.params;
      const question = { project, branch: ctx.query.branch, binding, args: ctx.body };
      return ctx.json(await ctx.state.resources.ask('queue.send', question), 201);
    },
  )
  .delete(
    '/projects/:id/queues/:queue/messages/:message',
    {
      ...writes,
      summary: 'Delete a message that is not being delivered, or a dead letter',
      params: Type.Object({ id: Type.String(), queue: BindingName, message: Type.String({ maxLength: 256 }) }),
      query: Type.Object({ ...branchQuery, dead: Dead }),
      response: Done,
    },
    async (ctx) => {
      const { id: project, queue: binding, message } = ctx.params;
      const { branch, dead } = ctx.query;
      const args = { id: message, dead };
      const { removed } = await ctx.state.resources.ask('queue.remove', { project, branch, binding, args });
      if (!removed)
        throw ctx.state.resources.refuse('not_found', 'The message was deleted, or is being delivered at the moment');
      return done();
    },
  )
  .post(
    '/projects/:id/queues/:queue/redrive',
    {
      ...writes,
      summary: 'Return all dead letters, or one, to their queue',
      params,
      query: Type.Object({ ...branchQuery, message: Type.Optional(Type.String({ maxLength: 256 })) }),
      response: Count,
    },
    async (ctx) => {
      const { id: project, queue: binding } = ctx.params;
      const { branch, message } = ctx.query;
      return ctx.state.resources.ask('queue.redrive', { project, branch, binding, args: { id: message } });
    },
  )
  .post(
    '/projects/:id/queues/:queue/purge',
    {
      ...writes,
      summary: 'Delete all messages that are not being delivered, or all dead letters',
      params,
      query: Type.Object({ ...branchQuery, dead: Dead }),
      response: Count,
    },
    async (ctx) => {
      const { id: project, queue: binding } = ctx.params;
      const { branch, dead } = ctx.query;
      return ctx.state.resources.ask('queue.purge', { project, branch, binding, args: { dead } });
    },
  );
