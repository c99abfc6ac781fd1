// Stored log lines of a project: search, counts over time, live tail.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import {
  bucketsQuery,
  limitOf,
  positionOf,
  readWithin,
  storedPage,
  storedQuery,
  timeOf,
} from '../../telemetry/filter.ts';
import { histogramOf, readHistogram } from '../../telemetry/histogram.ts';
import { countLines, lineLevels, readLines } from '../../telemetry/lines.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import type { EventStreams } from '../events/event-stream.ts';
import { lineEvents } from '../events/line-events.ts';
import { needs } from '../request/needs.ts';
import { pageOf } from '../../http/page.ts';
import { nullable, Timestamp } from '../../http/schemas.ts';

const tags = ['logs'];

export const StoredLineSchema = Type.Object({
  id: Type.String({ description: 'Increases in the order in which lines were stored' }),
  at: Timestamp,
  level: Type.Enum([...lineLevels]),
  text: Type.String(),
  deploymentId: Type.String(),
  branch: Type.String(),
  kind: nullable(Type.String({ description: 'Null for code that runs outside invocations' })),
  route: Type.String({ description: 'Route of a request, or name of the queue, timer, schedule or workflow' }),
  invocation: nullable(Type.String()),
  traceId: nullable(Type.String()),
});

const lineQuery = {
  ...storedQuery,
  level: Type.Optional(Type.Enum([...lineLevels], { description: 'This level and higher' })),
  search: Type.Optional(Type.String({ maxLength: 200, description: 'Part of the text, case-insensitive' })),
  regex: Type.Optional(
    Type.String({ maxLength: 200, description: 'Regular expression for the text, case-insensitive, as in Postgres' }),
  ),
  invocation: Type.Optional(Type.String({ maxLength: 64 })),
};

/** @param streams open streams of this process. */
export const logs = (streams: EventStreams) =>
  platform<Dependencies, RequestState>()
    .get(
      '/projects/:id/logs',
      {
        ...needs('log:read', 'project'),
        tags,
        summary: 'Search the stored log lines of a project, newest first',
        query: Type.Object({ ...lineQuery, ...storedPage }),
        response: pageOf(StoredLineSchema),
      },
      async (ctx) => {
        const { projectId } = await ctx.state.access.project('log:read', ctx.params.id);
        const { scanMs, retentionMs } = ctx.env.telemetryLimits;
        const page = { limit: limitOf(ctx.query), after: positionOf(ctx.query.cursor) };
        const time = timeOf(ctx.query, retentionMs);
        return readWithin(ctx.env.sql, scanMs, (sql) => readLines(sql, projectId, ctx.query, time, page));
      },
    )
    .get(
      '/projects/:id/logs/histogram',
      {
        ...needs('log:read', 'project'),
        tags,
        summary: 'Count the stored log lines of a project over time; default: the last hour',
        query: Type.Object({ ...lineQuery, ...bucketsQuery }),
        response: histogramOf(
          Type.Object({
            at: Timestamp,
            debug: Type.Integer(),
            info: Type.Integer(),
            warn: Type.Integer(),
            error: Type.Integer(),
          }),
        ),
      },
      async (ctx) => {
        const { projectId } = await ctx.state.access.project('log:read', ctx.params.id);
        return readHistogram(ctx.env, projectId, ctx.query, (sql, time) => countLines(sql, projectId, ctx.query, time));
      },
    )
    .get(
      '/projects/:id/logs/stream',
      {
        ...needs('log:read', 'project'),
        tags,
        summary: 'Follow the log lines of a project as server-sent events `line`, with the line number as id',
        query: Type.Object({
          ...lineQuery,
          after: Type.Optional(
            Type.String({ pattern: '^\\d{1,15}$', description: 'Last line received; also as Last-Event-ID' }),
          ),
        }),
      },
      async (ctx) => {
        const { projectId } = await ctx.state.access.project('log:read', ctx.params.id);
        if (!(ctx.req.headers.get('accept') ?? '').includes('text/event-stream'))
          throw new ApiError('bad_request', { reason: 'header accept: must include text/event-stream' });
        const { regex } = ctx.query;
        // An invalid value must not end an open stream.
        if (regex !== undefined)
          await readWithin(ctx.env.sql, ctx.env.telemetryLimits.scanMs, (sql) => sql`SELECT '' ~* ${regex}`);
        const given = ctx.req.headers.get('last-event-id') ?? ctx.query.after ?? '';
        const after = /^\d{1,15}$/.test(given) ? Number(given) : null;
        return streams.answer(
          ctx.env,
          (gone) => lineEvents(ctx.env, projectId, ctx.query, after, gone),
          ctx.req.signal,
        );
      },
    );
