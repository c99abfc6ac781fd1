// What the workers of a project wrote, and what of them failed: the lines that engines keep.
import Type from 'typebox';
import { platform } from '#packages/worker/index.ts';
import type { Parts } from '../../parts.ts';
import type { RequestState } from '../app.ts';
import { ApiError } from '../errors.ts';
import { needs } from '../needs.ts';

const LINES_MAX = 1000;
const levels = ['debug', 'info', 'warn', 'error'] as const;

const Line = Type.Object({
  time: Type.Number({ description: 'Milliseconds since 1970' }),
  level: Type.Enum([...levels]),
  deployment: Type.String(),
  invocation: Type.Union([Type.String(), Type.Null()]),
  text: Type.String(),
});

interface Kept {
  readonly lines: readonly {
    readonly time: number;
    readonly level: (typeof levels)[number];
    readonly deployment: string;
    readonly invocation: string | null;
    readonly text: string;
  }[];
  readonly next: string;
}

export const runtimeLogs = platform<Parts, RequestState>().get(
  '/projects/:id/live-logs',
  {
    ...needs('log:read', 'project'),
    summary: 'What the workers wrote, the newest lines that are kept',
    query: Type.Object({
      after: Type.Optional(Type.String({ maxLength: 4000, description: '`next` of the answer before' })),
      deploymentId: Type.Optional(Type.String({ maxLength: 64 })),
      branch: Type.Optional(Type.String({ maxLength: 255 })),
      level: Type.Optional(Type.Enum([...levels], { description: 'And those above it' })),
      traceId: Type.Optional(Type.String({ maxLength: 64, description: 'Of one invocation' })),
      limit: Type.Optional(Type.Integer({ minimum: 0, maximum: LINES_MAX, default: 100 })),
    }),
    response: Type.Object({ lines: Type.Array(Line), next: Type.String() }),
  },
  async (ctx) => {
    const { projectId } = await ctx.state.access.project('log:read', ctx.params.id);
    const { after = '', deploymentId, branch, level = 'debug', traceId, limit = 100 } = ctx.query;
    const { sql, privatePort } = ctx.env;
    const [project] = await sql<{ name: string }[]>`SELECT name FROM control.project WHERE id = ${projectId}`;
    const ofBranch =
      branch === undefined
        ? null
        : new Set(
            (
              await sql<{ id: string }[]>`
                SELECT id FROM control.deployment WHERE project_id = ${projectId} AND branch = ${branch}`
            ).map(({ id }) => id),
          );
    const asked = new URLSearchParams({ project: project!.name, after });
    const { status, body } = await privatePort.ask<Kept & { error?: string }>(`/_platform/logs?${asked}`).catch(() => {
      throw new ApiError('unavailable', { reason: 'The engines do not answer: try again' });
    });
    if (status !== 200)
      throw new ApiError(status < 500 ? 'bad_request' : 'unavailable', { reason: body.error ?? `status ${status}` });
    const lines = body.lines.filter(
      (line) =>
        (deploymentId === undefined || line.deployment === deploymentId) &&
        (ofBranch === null || ofBranch.has(line.deployment)) &&
        (traceId === undefined || line.invocation === traceId) &&
        levels.indexOf(line.level) >= levels.indexOf(level),
    );
    return { lines: limit === 0 ? [] : lines.slice(-limit), next: body.next };
  },
);
