// Stored traces of a project: traces that began on the platform, and single traces with their spans and lines.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { limitOf, positionOf, readWithin, storedPage, storedQuery, timeOf } from '../../telemetry/filter.ts';
import { readLinesAfter } from '../../telemetry/lines.ts';
import { readTrace, readTraces, spanKindNames, SPANS_SHOWN_MAX } from '../../telemetry/traces.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { needs } from '../request/needs.ts';
import { pageOf } from '../../http/page.ts';
import { nullable, Timestamp } from '../../http/schemas.ts';
import { StoredLineSchema } from './logs.ts';

const LINES_MAX = 1000;
const tags = ['traces'];

const TraceSummary = Type.Object({
  traceId: Type.String(),
  at: Timestamp,
  name: Type.String({ description: 'Name of the first span, such as `GET /api/users/*`' }),
  ms: Type.Number({ description: 'Start of the first span' }),
  status: Type.Integer({ description: '0 for events other than requests' }),
  error: nullable(Type.String()),
  deploymentId: Type.String(),
  branch: Type.String(),
  invocation: Type.String(),
  spans: Type.Integer(),
  failures: Type.Integer({ description: 'Failed spans' }),
});

const Trace = Type.Object({
  traceId: Type.String(),
  at: Timestamp,
  ms: Type.Number({ description: 'From the start of the first span to the end of the last' }),
  spans: Type.Array(
    Type.Object({
      spanId: Type.String(),
      parentId: nullable(
        Type.String({ description: 'The parent can be a span of another system, which is not stored here' }),
      ),
      name: Type.String(),
      kind: Type.Enum([...spanKindNames]),
      at: Timestamp,
      startMs: Type.Number({ description: 'Since the start of the trace' }),
      ms: Type.Number(),
      error: nullable(Type.String()),
      deploymentId: Type.String(),
      branch: Type.String(),
      invocation: Type.String(),
      attributes: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()])),
      links: Type.Array(Type.String({ description: 'Traces that led to this one, as `traceparent`' })),
    }),
  ),
  lines: Type.Array(StoredLineSchema),
});

const { from, to, deploymentId, branch, route } = storedQuery;

export const traces = platform<Dependencies, RequestState>()
  .get(
    '/projects/:id/traces',
    {
      ...needs('log:read', 'project'),
      tags,
      summary: 'List the stored traces of a project that started on the platform, newest first',
      query: Type.Object({
        from,
        to,
        deploymentId,
        branch,
        route,
        status: Type.Optional(
          Type.String({
            pattern: '^[1-5](xx|[0-9]{2})$',
            description: 'Status of the response: `404`, or a class: `5xx`',
          }),
        ),
        search: Type.Optional(Type.String({ maxLength: 200, description: 'Part of the name, case-insensitive' })),
        failed: Type.Optional(Type.Boolean({ description: 'Only traces whose first span failed' })),
        msMin: Type.Optional(Type.Number({ minimum: 0, description: 'Minimum duration in milliseconds' })),
        ...storedPage,
      }),
      response: pageOf(TraceSummary),
    },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('log:read', ctx.params.id);
      const { scanMs, retentionMs } = ctx.env.telemetryLimits;
      const page = { limit: limitOf(ctx.query), after: positionOf(ctx.query.cursor) };
      const time = timeOf(ctx.query, retentionMs);
      return readWithin(ctx.env.sql, scanMs, (sql) => readTraces(sql, projectId, ctx.query, time, page));
    },
  )
  .get(
    '/projects/:id/traces/:traceId',
    {
      ...needs('log:read', 'project'),
      tags,
      summary: `Read one trace: its first ${SPANS_SHOWN_MAX} spans and ${LINES_MAX} lines`,
      response: Trace,
    },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('log:read', ctx.params.id);
      const { traceId } = ctx.params;
      return readWithin(ctx.env.sql, ctx.env.telemetryLimits.scanMs, async (sql) => {
        const found = await readTrace(sql, projectId, traceId);
        if (found === null) throw new ApiError('not_found');
        return { ...found, lines: await readLinesAfter(sql, projectId, { traceId }, 0, LINES_MAX) };
      });
    },
  );
