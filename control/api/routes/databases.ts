// Databases of a project: tables, statements, migrations, a copy of all of it. Statements may write: they need the
// permission to.
import { createReadStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import Type from 'typebox';
import { platform } from '#packages/worker/index.ts';
import type { Parts } from '../../parts.ts';
import type { RequestState } from '../app.ts';
import { needs } from '../needs.ts';
import { BindingName, branchQuery, callResource } from '../resource-calls.ts';

const SQL_CHARS_MAX = 4_000_000;
const BODY_BYTES_MAX = 20_000_000;
const SCRIPT_MS_MAX = 120_000;
/** Tables whose rows are counted. */
const COUNTED_MAX = 50;

const params = Type.Object({ id: Type.String(), database: BindingName });
const query = Type.Object(branchQuery);
const Table = Type.Object({ name: Type.String(), type: Type.String(), sql: Type.String() });
const Rows = Type.Object({
  columns: Type.Array(Type.String()),
  rows: Type.Array(Type.Array(Type.Unknown())),
  truncated: Type.Boolean(),
  meta: Type.Object({
    durationMs: Type.Number(),
    rowsRead: Type.Number(),
    rowsWritten: Type.Number(),
    changes: Type.Number(),
  }),
});

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

export const databases = platform<Parts, RequestState>()
  .get(
    '/projects/:id/resources',
    {
      ...needs('data:read', 'project'),
      summary: 'What the bindings of a deployment are: databases, state, files, queues',
      query,
      response: Type.Object({
        items: Type.Array(Type.Object({ kind: Type.String(), binding: Type.String(), resource: Type.String() })),
      }),
    },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('data:read', ctx.params.id);
      const { branch } = ctx.query;
      const { resources } = await callResource(ctx.env, 'resources.list', { projectId, branch, args: {} });
      return { items: [...resources] };
    },
  )
  .get(
    '/projects/:id/databases/:database/tables',
    {
      ...needs('data:read', 'project'),
      summary: 'List the tables and views of a database, with the statements that made them',
      params,
      query,
      response: Type.Object({ items: Type.Array(Table) }),
    },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('data:read', ctx.params.id);
      const question = { projectId, branch: ctx.query.branch, binding: ctx.params.database, args: {} };
      const { tables } = await callResource(ctx.env, 'db.tables', question);
      return { items: [...tables] };
    },
  )
  .get(
    '/projects/:id/databases/:database/insights',
    {
      ...needs('data:read', 'project'),
      summary: 'Count the rows of each table, up to fifty tables',
      params,
      query,
      response: Type.Object({
        items: Type.Array(Type.Object({ table: Type.String(), rows: Type.Number(), durationMs: Type.Number() })),
      }),
    },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('data:read', ctx.params.id);
      const question = { projectId, branch: ctx.query.branch, binding: ctx.params.database };
      const { tables } = await callResource(ctx.env, 'db.tables', { ...question, args: {} });
      const items = [];
      for (const { name } of tables.filter(({ type }) => type === 'table').slice(0, COUNTED_MAX)) {
        const sql = `SELECT count(*) FROM ${quoted(name)}`;
        const { rows, meta } = await callResource(ctx.env, 'db.query', { ...question, args: { sql } });
        items.push({ table: name, rows: Number(rows[0]?.[0] ?? 0), durationMs: meta.durationMs });
      }
      return { items };
    },
  )
  .post(
    '/projects/:id/databases/:database/query',
    {
      ...needs('data:write', 'project'),
      summary: 'Run one statement; it may write',
      params,
      query,
      body: Type.Object({
        sql: Type.String({ minLength: 1, maxLength: SQL_CHARS_MAX }),
        params: Type.Optional(Type.Array(Type.Unknown(), { maxItems: 1000 })),
      }),
      bodyLimit: BODY_BYTES_MAX,
      response: Rows,
    },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('data:write', ctx.params.id);
      const question = { projectId, branch: ctx.query.branch, binding: ctx.params.database, args: ctx.body };
      const { columns, rows, truncated, meta } = await callResource(ctx.env, 'db.query', question);
      return { columns: [...columns], rows: rows.map((row) => [...row]), truncated, meta };
    },
  )
  .post(
    '/projects/:id/databases/:database/script',
    {
      ...needs('data:write', 'project'),
      summary: 'Run any number of statements in one transaction',
      params,
      query,
      body: Type.Object({ sql: Type.String({ minLength: 1, maxLength: SQL_CHARS_MAX }) }),
      bodyLimit: BODY_BYTES_MAX,
      response: Type.Object({ count: Type.Number(), durationMs: Type.Number() }),
    },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('data:write', ctx.params.id);
      const question = { projectId, branch: ctx.query.branch, binding: ctx.params.database, args: ctx.body };
      return callResource(ctx.env, 'db.script', { ...question, waitMs: SCRIPT_MS_MAX });
    },
  )
  .get(
    '/projects/:id/databases/:database/migrations',
    {
      ...needs('data:read', 'project'),
      summary: 'Which migrations were applied, and which are pending',
      params,
      query,
      response: Type.Object({ applied: Type.Array(Type.String()), pending: Type.Array(Type.String()) }),
    },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('data:read', ctx.params.id);
      const question = { projectId, branch: ctx.query.branch, binding: ctx.params.database, args: {} };
      const { applied, pending } = await callResource(ctx.env, 'db.migrations', question);
      return { applied: [...applied], pending: [...pending] };
    },
  )
  .post(
    '/projects/:id/databases/:database/migrate',
    {
      ...needs('data:write', 'project'),
      summary: 'Apply pending migrations',
      params,
      query,
      response: Type.Object({ applied: Type.Array(Type.String()) }),
    },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('data:write', ctx.params.id);
      const question = { projectId, branch: ctx.query.branch, binding: ctx.params.database, args: {} };
      const { applied } = await callResource(ctx.env, 'db.migrate', { ...question, waitMs: SCRIPT_MS_MAX });
      return { applied: [...applied] };
    },
  )
  .get(
    '/projects/:id/databases/:database/export',
    {
      ...needs('data:read', 'project'),
      summary: 'A consistent copy of the database, as a SQLite file',
      params,
      query,
    },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('data:read', ctx.params.id);
      const folder = path.join(ctx.env.folder, 'exports');
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const file = path.join(folder, `${randomUUID()}.sqlite`);
      const question = { projectId, branch: ctx.query.branch, binding: ctx.params.database, args: { file } };
      const { bytes } = await callResource(ctx.env, 'db.copy', { ...question, waitMs: SCRIPT_MS_MAX });
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
  );
