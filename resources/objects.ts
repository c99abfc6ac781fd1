// Durable objects of a project: lists the objects of a class, shows their stored data, runs SQL on it, and deletes
// them.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import {
  BindingName,
  branchQuery,
  done,
  Done,
  NullableNumber,
  NullableText,
  reads,
  writes,
  type ResourceState,
} from './access.ts';

const params = Type.Object({ id: Type.String(), binding: BindingName });
const page = {
  cursor: Type.Optional(Type.String({ maxLength: 4000 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
};
const one = {
  ...branchQuery,
  object: Type.String({ minLength: 1, maxLength: 1024, description: 'Id or name of the object' }),
};
const oneObject = Type.Object(one);
const DurableObject = Type.Object({
  id: Type.String(),
  name: NullableText,
  bytes: Type.Integer({ description: 'Size of the database of the object' }),
  activeAt: Type.Number({
    description: 'Milliseconds since 1970: the last event if the object is in memory, else the last write',
  }),
  alarm: NullableNumber,
  isLive: Type.Boolean({ description: 'Whether an instance is in memory' }),
  sockets: Type.Integer({ description: 'Open WebSockets' }),
});
const Statement = Type.Object({ sql: Type.String({ minLength: 1, maxLength: 100_000 }) });
const Rows = Type.Object({
  columns: Type.Array(Type.String()),
  rows: Type.Array(Type.Array(Type.Unknown())),
  truncated: Type.Boolean(),
  rowsWritten: Type.Integer(),
});

export const objects = platform<unknown, ResourceState>()
  .get(
    '/projects/:id/objects/:binding',
    {
      ...reads,
      summary: 'List the durable objects of a class, by id; a page may have fewer than `limit`',
      params,
      query: Type.Object({ ...branchQuery, ...page }),
      response: Type.Object({ class: Type.String(), items: Type.Array(DurableObject), nextCursor: NullableText }),
    },
    async (ctx) => {
      const { id: project, binding } = ctx.params;
      const { branch, ...args } = ctx.query;
      const found = await ctx.state.resources.ask('object.list', { project, branch, binding, args });
      return { class: found.class, items: [...found.objects], nextCursor: found.cursor };
    },
  )
  .get(
    '/projects/:id/objects/:binding/entry',
    { ...reads, summary: 'Show a durable object', params, query: oneObject, response: DurableObject },
    async (ctx) => {
      const { id: project, binding } = ctx.params;
      const { branch, object } = ctx.query;
      const { resources } = ctx.state;
      const found = await resources.ask('object.get', { project, branch, binding, args: { object } });
      if (found.object === null) throw resources.refuse('not_found', 'No such object');
      return found.object;
    },
  )
  .delete(
    '/projects/:id/objects/:binding/entry',
    {
      ...writes,
      summary: 'Delete the stored data and the alarm of a durable object, and end its instance',
      params,
      query: oneObject,
      response: Done,
    },
    async (ctx) => {
      const { id: project, binding } = ctx.params;
      const { branch, object } = ctx.query;
      const { resources } = ctx.state;
      const { removed } = await resources.ask('object.delete', { project, branch, binding, args: { object } });
      if (!removed) throw resources.refuse('not_found', 'No such object');
      return done();
    },
  )
  .get(
    '/projects/:id/objects/:binding/entry/values',
    {
      ...reads,
      summary: 'List the keys and values of a durable object, by prefix; long values are truncated',
      params,
      query: Type.Object({ ...one, prefix: Type.Optional(Type.String({ maxLength: 1024 })), ...page }),
      response: Type.Object({
        items: Type.Array(
          Type.Object({
            key: Type.String({ description: 'Its first 2,000 bytes' }),
            isKeyCut: Type.Boolean(),
            size: Type.Integer({ description: 'Characters of the stored value' }),
            value: Type.String({ description: 'JSON' }),
            isCut: Type.Boolean(),
          }),
        ),
        nextCursor: NullableText,
      }),
    },
    async (ctx) => {
      const { id: project, binding } = ctx.params;
      const { branch, ...args } = ctx.query;
      const { values, cursor } = await ctx.state.resources.ask('object.values', { project, branch, binding, args });
      return { items: [...values], nextCursor: cursor };
    },
  )
  .post(
    '/projects/:id/objects/:binding/entry/query',
    {
      ...reads,
      summary: 'Run SQL that only reads on the database of a durable object',
      params,
      query: oneObject,
      body: Statement,
      response: Rows,
    },
    async (ctx) => {
      const { id: project, binding } = ctx.params;
      const { branch, object } = ctx.query;
      const args = { object, sql: ctx.body.sql };
      return rowsOf(await ctx.state.resources.ask('object.query', { project, branch, binding, args }));
    },
  )
  .post(
    '/projects/:id/objects/:binding/entry/sql',
    {
      ...writes,
      summary: 'Run SQL on the database of a durable object; it may write',
      params,
      query: oneObject,
      body: Statement,
      response: Rows,
    },
    async (ctx) => {
      const { id: project, binding } = ctx.params;
      const { branch, object } = ctx.query;
      const args = { object, sql: ctx.body.sql };
      return rowsOf(await ctx.state.resources.ask('object.sql', { project, branch, binding, args }));
    },
  )
  .post(
    '/projects/:id/objects/:binding/entry/reset',
    {
      ...writes,
      summary: 'End the instance of a durable object; `reset` is false if it was not in memory',
      params,
      query: oneObject,
      response: Type.Object({ reset: Type.Boolean() }),
    },
    async (ctx) => {
      const { id: project, binding } = ctx.params;
      const { branch, object } = ctx.query;
      const { removed } = await ctx.state.resources.ask('object.reset', { project, branch, binding, args: { object } });
      return { reset: removed };
    },
  );

function rowsOf({
  columns,
  rows,
  ...rest
}: {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
  readonly truncated: boolean;
  readonly rowsWritten: number;
}) {
  return { columns: [...columns], rows: rows.map((row) => [...row]), ...rest };
}
