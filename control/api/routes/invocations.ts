// Stored invocations of a project: search, counts over time, and single invocations with their lines.
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
import { countInvocations, findInvocation, invocationOrders, readInvocations } from '../../telemetry/invocations.ts';
import { histogramOf, readHistogram } from '../../telemetry/histogram.ts';
import { readLinesAfter } from '../../telemetry/lines.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { needs } from '../request/needs.ts';
import { pageOf } from '../../http/page.ts';
import { nullable, Timestamp } from '../../http/schemas.ts';
import { StoredLineSchema } from './logs.ts';

const LINES_MAX = 1000;
const tags = ['invocations'];

const fields = {
  id: Type.String({ description: 'The `x-request-id` of the response' }),
  at: Timestamp,
  kind: Type.String(),
  method: Type.String({ description: 'Only for requests; otherwise empty' }),
  path: Type.String({ description: 'Without the query' }),
  route: Type.String(),
  status: Type.Integer({ description: '0: no request' }),
  outcome: Type.String({ description: 'Outcome: `ok`, or an error code of the platform' }),
  isFailure: Type.Boolean({ description: 'Whether the outcome is not `ok`, or the status is 5xx' }),
  error: Type.String(),
  cpuMs: Type.Number(),
  wallMs: Type.Number(),
  firstByteMs: nullable(Type.Number({ description: 'Time to first byte; null: no response' })),
  deploymentId: Type.String(),
  branch: Type.String(),
  traceId: nullable(Type.String()),
};
const Invocation = Type.Object(fields);
const Request = Type.Object({
  query: Type.String({ description: 'Without `?`; values that may be secret are `***`' }),
  headers: Type.Array(
    Type.Object({
      name: Type.String(),
      value: nullable(Type.String({ description: 'Null if the value is not stored' })),
    }),
    { description: 'A fixed list of headers, without secrets' },
  ),
  client: nullable(Type.String({ description: 'Address of the client, as the worker sees it' })),
  requestBytes: nullable(Type.Integer({ description: 'Length of the body; null: unknown' })),
  responseBytes: nullable(Type.Integer({ description: 'Length of the body; null: a WebSocket' })),
});

const invocationQuery = {
  ...storedQuery,
  method: Type.Optional(Type.String({ maxLength: 32 })),
  path: Type.Optional(
    Type.String({ maxLength: 1024, description: 'A `*` at the end matches every path with this prefix' }),
  ),
  status: Type.Optional(
    Type.String({ pattern: '^(\\d{1,3}|[1-5]xx)$', description: 'Status such as `404`, or a class such as `5xx`' }),
  ),
  outcome: Type.Optional(
    Type.String({ maxLength: 64, description: '`failed` (including 5xx), `ok` (all others), or an error code' }),
  ),
};

export const invocations = platform<Dependencies, RequestState>()
  .get(
    '/projects/:id/invocations',
    {
      ...needs('log:read', 'project'),
      tags,
      summary: 'Search the stored invocations of a project, newest first',
      query: Type.Object({
        ...invocationQuery,
        ...storedPage,
        order: Type.Optional(
          Type.Enum([...invocationOrders], {
            description: 'With the order `cpu` or `wall`, there is only one page, with the largest values first',
          }),
        ),
      }),
      response: pageOf(Invocation),
    },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('log:read', ctx.params.id);
      const { scanMs, retentionMs } = ctx.env.telemetryLimits;
      const { order = 'time', cursor } = ctx.query;
      if (order !== 'time' && cursor !== undefined)
        throw new ApiError('bad_request', { reason: 'query.cursor: requires query.order=time' });
      const page = { limit: limitOf(ctx.query), after: positionOf(cursor), order };
      const time = timeOf(ctx.query, retentionMs);
      return readWithin(ctx.env.sql, scanMs, (sql) => readInvocations(sql, projectId, ctx.query, time, page));
    },
  )
  .get(
    '/projects/:id/invocations/histogram',
    {
      ...needs('log:read', 'project'),
      tags,
      summary: 'Count the stored invocations of a project over time; default: the last hour',
      query: Type.Object({ ...invocationQuery, ...bucketsQuery }),
      response: histogramOf(
        Type.Object({
          at: Timestamp,
          ok: Type.Integer(),
          failed: Type.Integer(),
          cpuMs: Type.Number(),
          wallMsP50: Type.Number(),
          wallMsP99: Type.Number(),
        }),
      ),
    },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('log:read', ctx.params.id);
      return readHistogram(ctx.env, projectId, ctx.query, (sql, time) =>
        countInvocations(sql, projectId, ctx.query, time),
      );
    },
  )
  .get(
    '/projects/:id/invocations/:invocationId',
    {
      ...needs('log:read', 'project'),
      tags,
      summary: 'Read one invocation, with its request and its first 1000 lines',
      response: Type.Object({
        ...fields,
        // Null for events, and for invocations that were stored before this field existed.
        request: nullable(Request),
        lines: Type.Array(StoredLineSchema),
      }),
    },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('log:read', ctx.params.id);
      const { invocationId } = ctx.params;
      return readWithin(ctx.env.sql, ctx.env.telemetryLimits.scanMs, async (sql) => {
        const found = await findInvocation(sql, projectId, invocationId);
        if (found === null) throw new ApiError('not_found');
        return { ...found, lines: await readLinesAfter(sql, projectId, { invocation: invocationId }, 0, LINES_MAX) };
      });
    },
  );
