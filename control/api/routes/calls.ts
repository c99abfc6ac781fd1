// Calls between projects, from the spans of traced invocations.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { readCalls } from '../../telemetry/calls.ts';
import { readWithin, storedQuery, timeOf } from '../../telemetry/filter.ts';
import type { RequestState } from '../request/middleware.ts';
import { needs } from '../request/needs.ts';

const Counts = Type.Object({
  project: Type.String({ description: 'The other project' }),
  name: Type.String({ description: 'Binding and method, such as `AUTH.verify` or `AUTH.fetch`' }),
  calls: Type.Integer(),
  failures: Type.Integer({ description: 'Calls that the platform could not make, and responses with 5xx' }),
  msP50: Type.Number(),
  msP99: Type.Number(),
});

const { from, to } = storedQuery;

export const calls = platform<Dependencies, RequestState>().get(
  '/projects/:id/calls',
  {
    ...needs('log:read', 'project'),
    tags: ['traces'],
    summary: 'Count the traced calls to services and objects of other projects, and the calls from other projects',
    query: Type.Object({ from, to }),
    response: Type.Object({
      calls: Type.Array(Counts, { description: 'Calls from this project to other projects' }),
      callers: Type.Array(Counts, { description: 'Of other projects, to this one; empty for a token of one project' }),
    }),
  },
  async (ctx) => {
    const reached = await ctx.state.access.project('log:read', ctx.params.id);
    const { scanMs, retentionMs } = ctx.env.telemetryLimits;
    const time = timeOf(ctx.query, retentionMs);
    const withCallers = ctx.state.access.may('log:read', reached.organizationId);
    return readWithin(ctx.env.sql, scanMs, (sql) => readCalls(sql, reached, time, withCallers));
  },
);
