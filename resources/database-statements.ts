// Routes that run SQL on a database, explain it, and list slow statements. Statements may write, so they require the
// write permission.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { branchOnly, reads, writes, type ResourceState } from './access.ts';
import { ask, ofDatabase, Row, toRows, WHOLE_MS_MAX } from './database-asking.ts';

const SQL_CHARS_MAX = 4_000_000;
const BODY_BYTES_MAX = 20_000_000;

const Rows = Type.Object({
  columns: Type.Array(Type.String()),
  rows: Type.Array(Row),
  truncated: Type.Boolean(),
  meta: Type.Object({
    durationMs: Type.Number(),
    rowsRead: Type.Number(),
    rowsWritten: Type.Number(),
    changes: Type.Number(),
  }),
});
const Statement = Type.Object({
  sql: Type.String({ minLength: 1, maxLength: SQL_CHARS_MAX }),
  params: Type.Optional(Type.Array(Type.Unknown(), { maxItems: 1000 })),
});

export const databaseStatements = platform<unknown, ResourceState>()
  .get(
    '/projects/:id/databases/:database/slow',
    {
      ...reads,
      summary: 'List slow statements since the database was opened, largest total time first',
      params: ofDatabase,
      query: branchOnly,
      response: Type.Object({
        items: Type.Array(
          Type.Object({
            sql: Type.String(),
            count: Type.Number(),
            msTotal: Type.Number(),
            msMax: Type.Number(),
            rowsRead: Type.Number(),
            lastAt: Type.Number({ description: 'Milliseconds since 1970' }),
          }),
        ),
      }),
    },
    async (ctx) => {
      return { items: [...(await ask(ctx, 'db.slow', {})).statements] };
    },
  )
  .post(
    '/projects/:id/databases/:database/query',
    {
      ...writes,
      summary: 'Run one statement; it may write',
      params: ofDatabase,
      query: branchOnly,
      body: Statement,
      bodyLimit: BODY_BYTES_MAX,
      response: Rows,
    },
    async (ctx) => {
      const { columns, rows, truncated, meta } = await ask(ctx, 'db.query', ctx.body);
      return { columns: [...columns], rows: toRows(rows), truncated, meta };
    },
  )
  .post(
    '/projects/:id/databases/:database/explain',
    {
      ...reads,
      summary: 'Explain a statement without running it',
      params: ofDatabase,
      query: branchOnly,
      body: Statement,
      bodyLimit: BODY_BYTES_MAX,
      response: Type.Object({
        plan: Type.Array(Type.Object({ id: Type.Number(), parent: Type.Number(), detail: Type.String() })),
      }),
    },
    async (ctx) => {
      return { plan: [...(await ask(ctx, 'db.explain', ctx.body)).plan] };
    },
  )
  .post(
    '/projects/:id/databases/:database/script',
    {
      ...writes,
      summary: 'Run any number of statements in one transaction',
      params: ofDatabase,
      query: branchOnly,
      body: Type.Object({ sql: Type.String({ minLength: 1, maxLength: SQL_CHARS_MAX }) }),
      bodyLimit: BODY_BYTES_MAX,
      response: Type.Object({ count: Type.Number(), durationMs: Type.Number() }),
    },
    async (ctx) => ask(ctx, 'db.script', ctx.body, WHOLE_MS_MAX),
  );
