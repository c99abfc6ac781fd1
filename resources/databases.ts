// Databases of a project: tables and rows, statements, slow statements, migrations, snapshots. Statements may write, so
// they require the write permission.
import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { parseMoment } from '#core/moment.ts';
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { BindingName, branchQuery, done, Done, reads, writes, type ResourceState } from './access.ts';

const SQL_CHARS_MAX = 4_000_000;
const BODY_BYTES_MAX = 20_000_000;
const SCRIPT_MS_MAX = 120_000;
/** Maximum number of tables whose rows are counted. */
const COUNTED_MAX = 50;

const params = Type.Object({ id: Type.String(), database: BindingName });
const query = Type.Object(branchQuery);
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
      primaryKey: Type.Number({ description: 'Position in the primary key, from 1; 0: not part of it' }),
    }),
  ),
});
const Row = Type.Array(Type.Unknown());
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
const Copy = Type.Object({
  name: Type.String(),
  bytes: Type.Number(),
  madeAt: Type.Number({ description: 'Milliseconds since 1970' }),
});
const copyParams = Type.Object({ id: Type.String(), database: BindingName, copy: Type.String({ maxLength: 64 }) });

const copied = <T>(list: readonly T[]): T[] => [...list];

export const databases = platform<unknown, ResourceState>()
  .get(
    '/projects/:id/databases/:database/tables',
    {
      ...reads,
      summary: 'List the tables and views of a database with their columns and CREATE statements',
      params,
      query,
      response: Type.Object({
        items: Type.Array(Table),
        bytes: Type.Integer({ description: 'Size of the database; 0: not known' }),
      }),
    },
    async (ctx) => {
      const { id: project, database: binding } = ctx.params;
      const question = { project, branch: ctx.query.branch, binding, args: {} };
      const { tables, bytes } = await ctx.state.resources.ask('db.tables', question);
      return { items: tables.map((table) => ({ ...table, columns: copied(table.columns) })), bytes };
    },
  )
  .get(
    '/projects/:id/databases/:database/rows',
    {
      ...reads,
      summary: 'List rows of a table; long values are cut: {cut: bytes, t: text or b: base64}',
      params,
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
      const { id: project, database: binding } = ctx.params;
      const { branch, ...args } = ctx.query;
      const found = await ctx.state.resources.ask('db.rows', { project, branch, binding, args });
      return {
        table: { ...found.table, columns: copied(found.table.columns) },
        total: found.total,
        key: copied(found.key),
        keys: found.keys.map(copied),
        rows: found.rows.map(copied),
      };
    },
  )
  .post(
    '/projects/:id/databases/:database/cell',
    {
      ...reads,
      summary: 'Read one full value of a row',
      params,
      query,
      body: Type.Object({ table: Name, column: Name, key: Type.Array(Type.Unknown(), { minItems: 1, maxItems: 100 }) }),
      response: Type.Object({ value: Type.Unknown() }),
    },
    async (ctx) => {
      const { id: project, database: binding } = ctx.params;
      const question = { project, branch: ctx.query.branch, binding, args: ctx.body };
      return { value: (await ctx.state.resources.ask('db.cell', question)).value };
    },
  )
  .get(
    '/projects/:id/databases/:database/insights',
    {
      ...reads,
      summary: 'Count the rows of each table, up to fifty tables',
      params,
      query,
      response: Type.Object({
        items: Type.Array(Type.Object({ table: Type.String(), rows: Type.Number(), durationMs: Type.Number() })),
      }),
    },
    async (ctx) => {
      const { id: project, database: binding } = ctx.params;
      const question = { project, branch: ctx.query.branch, binding };
      const { resources } = ctx.state;
      const { tables } = await resources.ask('db.tables', { ...question, args: {} });
      const items = [];
      for (const { name } of tables.filter(({ type }) => type === 'table').slice(0, COUNTED_MAX)) {
        const startedAt = performance.now();
        const { total } = await resources.ask('db.rows', { ...question, args: { table: name, limit: 1 } });
        items.push({ table: name, rows: total, durationMs: performance.now() - startedAt });
      }
      return { items };
    },
  )
  .get(
    '/projects/:id/databases/:database/slow',
    {
      ...reads,
      summary: 'List slow statements since the database was opened, largest total time first',
      params,
      query,
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
      const { id: project, database: binding } = ctx.params;
      const question = { project, branch: ctx.query.branch, binding, args: {} };
      return { items: copied((await ctx.state.resources.ask('db.slow', question)).statements) };
    },
  )
  .post(
    '/projects/:id/databases/:database/query',
    {
      ...writes,
      summary: 'Run one statement; it may write',
      params,
      query,
      body: Statement,
      bodyLimit: BODY_BYTES_MAX,
      response: Rows,
    },
    async (ctx) => {
      const { id: project, database: binding } = ctx.params;
      const question = { project, branch: ctx.query.branch, binding, args: ctx.body };
      const { columns, rows, truncated, meta } = await ctx.state.resources.ask('db.query', question);
      return { columns: copied(columns), rows: rows.map(copied), truncated, meta };
    },
  )
  .post(
    '/projects/:id/databases/:database/explain',
    {
      ...reads,
      summary: 'Explain a statement without running it',
      params,
      query,
      body: Statement,
      bodyLimit: BODY_BYTES_MAX,
      response: Type.Object({
        plan: Type.Array(Type.Object({ id: Type.Number(), parent: Type.Number(), detail: Type.String() })),
      }),
    },
    async (ctx) => {
      const { id: project, database: binding } = ctx.params;
      const question = { project, branch: ctx.query.branch, binding, args: ctx.body };
      return { plan: copied((await ctx.state.resources.ask('db.explain', question)).plan) };
    },
  )
  .post(
    '/projects/:id/databases/:database/script',
    {
      ...writes,
      summary: 'Run any number of statements in one transaction',
      params,
      query,
      body: Type.Object({ sql: Type.String({ minLength: 1, maxLength: SQL_CHARS_MAX }) }),
      bodyLimit: BODY_BYTES_MAX,
      response: Type.Object({ count: Type.Number(), durationMs: Type.Number() }),
    },
    async (ctx) => {
      const { id: project, database: binding } = ctx.params;
      const question = { project, branch: ctx.query.branch, binding, args: ctx.body, waitMs: SCRIPT_MS_MAX };
      return ctx.state.resources.ask('db.script', question);
    },
  )
  .get(
    '/projects/:id/databases/:database/migrations',
    {
      ...reads,
      summary: 'Which migrations were applied, and which are pending',
      params,
      query,
      response: Type.Object({ applied: Type.Array(Type.String()), pending: Type.Array(Type.String()) }),
    },
    async (ctx) => {
      const { id: project, database: binding } = ctx.params;
      const question = { project, branch: ctx.query.branch, binding, args: {} };
      const { applied, pending } = await ctx.state.resources.ask('db.migrations', question);
      return { applied: copied(applied), pending: copied(pending) };
    },
  )
  .post(
    '/projects/:id/databases/:database/migrate',
    {
      ...writes,
      summary: 'Apply pending migrations',
      params,
      query,
      response: Type.Object({ applied: Type.Array(Type.String()) }),
    },
    async (ctx) => {
      const { id: project, database: binding } = ctx.params;
      const question = { project, branch: ctx.query.branch, binding, args: {}, waitMs: SCRIPT_MS_MAX };
      return { applied: copied((await ctx.state.resources.ask('db.migrate', question)).applied) };
    },
  )
  .get(
    '/projects/:id/databases/:database/export',
    { ...reads, summary: 'Download a consistent copy of the database, as a SQLite file', params, query },
    async (ctx) => {
      const { id: project, database: binding } = ctx.params;
      const { resources } = ctx.state;
      const file = path.join(resources.transit, `${randomUUID()}.sqlite`);
      const question = { project, branch: ctx.query.branch, binding, args: { file }, waitMs: SCRIPT_MS_MAX };
      const { bytes } = await resources.ask('db.copy', question);
      const content = createReadStream(file);
      content.once('close', () => void rm(file, { force: true }));
      return new Response(Readable.toWeb(content) as ReadableStream, {
        headers: {
          'content-type': 'application/vnd.sqlite3',
          'content-length': String(bytes),
          'content-disposition': 'attachment; filename="database.sqlite"',
        },
      });
    },
  )
  .get(
    '/projects/:id/databases/:database/copies',
    {
      ...reads,
      summary: 'List the copies of the production database, newest first, and its size',
      params,
      query,
      response: Type.Object({
        items: Type.Array(Copy),
        bytes: Type.Number({ description: 'Size of the database itself' }),
        copiesMax: Type.Number({
          description: 'Maximum number of copies (DB_SNAPSHOTS_MAX); a new copy replaces the oldest',
        }),
      }),
    },
    async (ctx) => {
      const { id: project, database: binding } = ctx.params;
      const question = { project, branch: ctx.query.branch, binding, args: {} };
      const { copies, bytes, copiesMax } = await ctx.state.resources.ask('db.copies', question);
      return { items: copied(copies), bytes, copiesMax };
    },
  )
  .post(
    '/projects/:id/databases/:database/copies',
    {
      ...writes,
      summary: 'Create a copy of the production database',
      params,
      query,
      response: { 201: Type.Object({ copy: Copy, dropped: Type.Array(Type.String()) }) },
    },
    async (ctx) => {
      const { id: project, database: binding } = ctx.params;
      const question = { project, branch: ctx.query.branch, binding, args: {}, waitMs: SCRIPT_MS_MAX };
      const { copy, dropped } = await ctx.state.resources.ask('db.make-copy', question);
      return ctx.json({ copy, dropped: copied(dropped) }, 201);
    },
  )
  .post(
    '/projects/:id/databases/:database/copies/:copy/restore',
    {
      ...writes,
      summary: 'Restore the database from a copy; the current data becomes a copy',
      params: copyParams,
      query,
      response: Type.Object({ before: Type.String({ description: 'Copy of the data that was replaced' }) }),
    },
    async (ctx) => {
      const { id: project, database: binding, copy: name } = ctx.params;
      const question = { project, branch: ctx.query.branch, binding, args: { name }, waitMs: SCRIPT_MS_MAX };
      return ctx.state.resources.ask('db.restore', question);
    },
  )
  .get(
    '/projects/:id/databases/:database/moments',
    {
      ...reads,
      summary: 'Which moments of the production database can be restored',
      params,
      query,
      response: Type.Object({
        oldest: Type.Union([Type.String({ description: 'RFC 3339' }), Type.Null()]),
        newest: Type.Union([Type.String({ description: 'Time of the newest change' }), Type.Null()]),
        reason: Type.Union([Type.String({ description: 'Reason if there are none' }), Type.Null()]),
      }),
    },
    async (ctx) => {
      const { id: project, database: binding } = ctx.params;
      const question = { project, branch: ctx.query.branch, binding, args: {} };
      const { range, reason } = await ctx.state.resources.ask('db.moments', question);
      if (range === null) return { oldest: null, newest: null, reason: reason ?? 'the database has no replica yet' };
      return {
        oldest: new Date(range.oldest).toISOString(),
        newest: new Date(range.newest).toISOString(),
        reason: null,
      };
    },
  )
  .post(
    '/projects/:id/databases/:database/restore',
    {
      ...writes,
      summary: 'Restore a moment of the production database into a copy, or in place',
      params,
      query,
      body: Type.Object({
        at: Type.String({ maxLength: 40, description: 'RFC 3339, such as 2026-11-28T12:00:00Z' }),
        inPlace: Type.Optional(
          Type.Boolean({ description: 'Also replaces the database; the current data becomes a copy', default: false }),
        ),
      }),
      response: {
        201: Type.Object({
          copy: Copy,
          changedAt: Type.String({ description: 'Time of the latest change in it, RFC 3339' }),
          before: Type.Union([Type.String({ description: 'Copy of the data that was replaced' }), Type.Null()]),
        }),
      },
    },
    async (ctx) => {
      const { id: project, database: binding } = ctx.params;
      const at = parseMoment(ctx.body.at);
      const { resources } = ctx.state;
      if (at === null)
        throw resources.refuse(
          'bad_request',
          `at must be a time such as 2026-11-28T12:00:00Z, but is "${ctx.body.at}"`,
        );
      const args = { at, inPlace: ctx.body.inPlace };
      const question = { project, branch: ctx.query.branch, binding, args, waitMs: SCRIPT_MS_MAX };
      const { copy, changedAt, before } = await resources.ask('db.restore-at', question);
      return ctx.json({ copy, changedAt: new Date(changedAt).toISOString(), before }, 201);
    },
  )
  .delete(
    '/projects/:id/databases/:database/copies/:copy',
    { ...writes, summary: 'Delete a copy', params: copyParams, query, response: Done },
    async (ctx) => {
      const { id: project, database: binding, copy: name } = ctx.params;
      await ctx.state.resources.ask('db.drop-copy', { project, branch: ctx.query.branch, binding, args: { name } });
      return done();
    },
  );
