// The OTLP collector of a project, which receives its spans in addition to the operator's. Header values are sealed
// and never shown.
import Type from '#core/typebox/typebox.mjs';
import { seal } from '#core/encryption.ts';
import { platform } from '#packages/worker/index.ts';
import { urlProblem } from '#core/way-out/post.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { headersContext } from '../../telemetry/project-collectors.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { needs } from '../request/needs.ts';
import { nullable, Timestamp } from '../../http/schemas.ts';

const path = '/projects/:id/collector';
const tags = ['traces'];
const HEADERS_MAX = 20;
const HEADER_CHARS_MAX = 4096;
/** Headers that the exporter sets itself. */
const OWN_HEADERS = new Set(['content-type', 'content-length', 'host', 'connection', 'transfer-encoding']);

const Collector = Type.Object({
  url: Type.String(),
  headers: Type.Array(Type.String({ description: 'Names; values are not told' })),
  allowPrivate: Type.Boolean(),
  createdAt: Timestamp,
  sent: Type.Integer({ description: 'Spans, since it was set' }),
  dropped: Type.Integer({ description: 'Spans that it did not take in time' }),
  sentAt: nullable(Timestamp),
  error: nullable(Type.String({ description: 'Why spans were dropped last' })),
  errorAt: nullable(Timestamp),
});

interface Row {
  readonly url: string;
  readonly header_names: string[];
  readonly is_private: boolean;
  readonly created_at: Date;
  readonly sent: number;
  readonly dropped: number;
  readonly sent_at: Date | null;
  readonly error: string | null;
  readonly error_at: Date | null;
}

const toCollector = (row: Row) => ({
  url: row.url,
  headers: row.header_names,
  allowPrivate: row.is_private,
  createdAt: row.created_at.toISOString(),
  sent: row.sent,
  dropped: row.dropped,
  sentAt: row.sent_at?.toISOString() ?? null,
  error: row.error,
  errorAt: row.error_at?.toISOString() ?? null,
});

export const collector = platform<Dependencies, RequestState>()
  .get(
    path,
    {
      ...needs('log:read', 'project'),
      tags,
      summary: 'Read where the spans of a project go, and what became of them',
      response: Type.Object({ collector: nullable(Collector) }),
    },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('log:read', ctx.params.id);
      const [row] = await ctx.env.sql<Row[]>`SELECT * FROM control.collector WHERE project_id = ${projectId}`;
      return { collector: row === undefined ? null : toCollector(row) };
    },
  )
  .put(
    path,
    {
      ...needs('webhook:write', 'project', ['operator']),
      tags,
      summary: 'Send the spans of a project to a collector by OTLP (JSON over HTTP)',
      description: 'Replaces what was set before, with its headers: their values are not told.',
      body: Type.Object(
        {
          url: Type.String({ maxLength: 2048, description: 'Whole, such as `https://otel.example.com/v1/traces`' }),
          headers: Type.Optional(
            Type.Record(Type.String(), Type.String({ maxLength: HEADER_CHARS_MAX }), {
              description: 'Such as `authorization`; they are kept sealed',
            }),
          ),
          allowPrivate: Type.Optional(
            Type.Boolean({ description: 'May lead to http and private addresses; only operators may' }),
          ),
        },
        { additionalProperties: false },
      ),
      response: Collector,
    },
    async (ctx) => {
      const { projectId, organizationId } = await ctx.state.access.project('webhook:write', ctx.params.id);
      const { url, headers: given = {}, allowPrivate = false } = ctx.body;
      if (allowPrivate) ctx.state.access.operator();
      const problem = urlProblem(url, allowPrivate);
      if (problem !== null) throw new ApiError('bad_request', { reason: `body.url: ${problem}` });
      const headers = checkedHeaders(given);
      const { sql, keys } = ctx.env;
      const sealed = seal(keys, JSON.stringify(headers), headersContext(projectId));
      return sql.begin(async (tx) => {
        const names = Object.keys(headers);
        const [row] = await tx<Row[]>`
          INSERT INTO control.collector (project_id, url, headers, header_names, is_private)
          VALUES (${projectId}, ${url}, ${sealed}, ${names}, ${allowPrivate})
          ON CONFLICT (project_id) DO UPDATE SET url = excluded.url, headers = excluded.headers,
            header_names = excluded.header_names, is_private = excluded.is_private, created_at = clock_timestamp(),
            sent = 0, dropped = 0, sent_at = NULL, error = NULL, error_at = NULL
          RETURNING *`;
        await tx`SELECT pg_notify('control_collector', ${projectId})`;
        const details = { host: new URL(url).host, headers: names };
        await ctx.state.audit(tx, { ...subject(organizationId, projectId, 'collector.set'), details });
        return toCollector(row!);
      });
    },
  )
  .delete(
    path,
    {
      ...needs('webhook:write', 'project'),
      tags,
      summary: 'Send the spans of a project nowhere',
      response: { 204: null },
    },
    async (ctx) => {
      const { projectId, organizationId } = await ctx.state.access.project('webhook:write', ctx.params.id);
      await ctx.env.sql.begin(async (tx) => {
        const { count } = await tx`DELETE FROM control.collector WHERE project_id = ${projectId}`;
        if (count === 0) throw new ApiError('not_found');
        await tx`SELECT pg_notify('control_collector', ${projectId})`;
        await ctx.state.audit(tx, subject(organizationId, projectId, 'collector.delete'));
      });
      return ctx.json(null, 204);
    },
  );

const subject = (organizationId: string, projectId: string, action: string) => ({
  organizationId,
  projectId,
  action,
  subjectKind: 'collector',
  subjectId: projectId,
});

/** Headers by lower-case name. @throws {ApiError} naming the header, never its value. */
function checkedHeaders(given: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(given).map(([name, value]) => [name.toLowerCase(), value] as const);
  const refuse = (what: string): never => {
    throw new ApiError('bad_request', { reason: `body.headers: ${what}` });
  };
  if (entries.length > HEADERS_MAX) refuse(`has more than ${HEADERS_MAX}`);
  for (const [name, value] of entries) {
    if (!/^[!#$%&'*+\-.^_`|~0-9a-z]{1,100}$/.test(name)) refuse(`"${name.slice(0, 100)}" is no name of a header`);
    if (OWN_HEADERS.has(name)) refuse(`${name} is set by the platform`);
    if (!/^[\x20-\x7e]*$/.test(value)) refuse(`the value of ${name} must be printable ASCII`);
  }
  return Object.fromEntries(entries);
}
