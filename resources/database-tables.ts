// Routes of a database's tables: their columns, rows, single values, and the number of rows.
import type { DescribedTable } from '#core/resource-call/databases.ts';
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { branchOnly, branchQuery, reads, type ResourceState } from './access.ts';
import { ask, ofDatabase, Row, toRows } from './database-asking.ts';

/** Maximum number of tables whose rows are counted. */
const COUNTED_MAX = 50;

const Name = Type.String({ minLength: 1, maxLength: 256 });
const Table = Type.Object({
  name: Type.String(),
  type: Type.String(),
  sql: Type.String(),
  columns: Type.Array(
    Type.Object({
      name: Type.String(),
      type: Type.String(),
      notNull: Type.Boolean(),
      primaryKey: Type.Number({
        description: 'Position in the primary key, from 1; 0 if the column is not part of it',
      }),
    }),
  ),
});

export const databaseTables = platform<unknown, ResourceState>()
  .get(
    '/projects/:id/databases/:database/tables',
    {
      ...reads,
      summary: 'List the tables and views of a database with their columns and CREATE statements',
      params: ofDatabase,
      query: branchOnly,
      response: Type.Object({
        items: Type.Array(Table),
        bytes: Type.Integer({ description: 'Size of the database; 0 if unknown' }),
      }),
    },
    async (ctx) => {
      const { tables, bytes } = await ask(ctx, 'db.tables', {});
      return { items: tables.map(toTable), bytes };
    },
  )
  .get(
    '/projects/:id/databases/:database/rows',
    {
      ...reads,
      summary: 'List rows of a table; long values are truncated to {cut: bytes, t: text or b: base64}',
      params: ofDatabase,
      query: Type.Object({
        ...branchQuery,
        table: Name,
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 100 })),
        offset: Type.Optional(Type.Integer({ minimum: 0, default: 0 })),
        order: Type.Optional(Name),
        descending: Type.Optional(Type.Boolean()),
        column: Type.Optional(Name),
        search: Type.Optional(Type.String({ maxLength: 1000, description: 'Rows whose `column` contains this text' })),
      }),
      response: Type.Object({
        table: Table,
        total: Type.Number(),
        key: Type.Array(Type.String(), { description: 'Columns that identify a row; empty if there are none' }),
        keys: Type.Array(Row),
        rows: Type.Array(Row),
      }),
    },
    async (ctx) => {
      const { branch: _branch, ...args } = ctx.query;
      const { table, total, key, keys, rows } = await ask(ctx, 'db.rows', args);
      return { table: toTable(table), total, key: [...key], keys: toRows(keys), rows: toRows(rows) };
    },
  )
  .post(
    '/projects/:id/databases/:database/cell',
    {
      ...reads,
      summary: 'Read the full value of one column of a row',
      params: ofDatabase,
      query: branchOnly,
      body: Type.Object({ table: Name, column: Name, key: Type.Array(Type.Unknown(), { minItems: 1, maxItems: 100 }) }),
      response: Type.Object({ value: Type.Unknown() }),
    },
    async (ctx) => {
      return { value: (await ask(ctx, 'db.cell', ctx.body)).value };
    },
  )
  .get(
    '/projects/:id/databases/:database/insights',
    {
      ...reads,
      summary: 'Count the rows of each table, up to fifty tables',
      params: ofDatabase,
      query: branchOnly,
      response: Type.Object({
        items: Type.Array(Type.Object({ table: Type.String(), rows: Type.Number(), durationMs: Type.Number() })),
      }),
    },
    async (ctx) => {
      const { tables } = await ask(ctx, 'db.tables', {});
      const items = [];
      for (const { name } of tables.filter(({ type }) => type === 'table').slice(0, COUNTED_MAX)) {
        const startedAt = performance.now();
        const { total } = await ask(ctx, 'db.rows', { table: name, limit: 1 });
        items.push({ table: name, rows: total, durationMs: performance.now() - startedAt });
      }
      return { items };
    },
  );

const toTable = (table: DescribedTable) => ({ ...table, columns: [...table.columns] });
