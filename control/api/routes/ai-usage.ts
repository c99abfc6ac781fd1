// Usage of AI calls: sums by model, project, deployment and time, and single calls.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import {
  aiUsageGroups,
  listAiCalls,
  readAiUsage,
  type AiCallRow,
  type AiUsageQuestion,
} from '../../records/ai-usage.ts';
import { readAiMonth } from '../../records/ai-budget.ts';
import type { RequestState } from '../request/middleware.ts';
import { needs } from '../request/needs.ts';
import { pageOf, pageQuery, readTimePage, toTimePage } from '../../http/page.ts';
import { nullable, Timestamp } from '../../http/schemas.ts';
import { checkTimeRange } from '../../http/time-range.ts';

const DAY_MS = 86_400_000;
const DAYS_DEFAULT = 30;
const DAYS_MAX = 400;
const tags = ['ai'];

const usageQuery = Type.Object({
  from: Type.Optional(Timestamp),
  to: Type.Optional(Timestamp),
  groupBy: Type.Optional(Type.Enum([...aiUsageGroups])),
});
const counts = {
  calls: Type.Integer(),
  failures: Type.Integer(),
  promptTokens: Type.Integer(),
  completionTokens: Type.Integer(),
  cachedTokens: Type.Integer(),
  reasoningTokens: Type.Integer(),
  // The cost in millionths of the currency, of calls whose model has a price.
  costMicros: Type.Integer(),
  // Calls to models without a price.
  unpriced: Type.Integer(),
  // Time to first byte: median and 99th percentile.
  firstByteMsP50: nullable(Type.Number()),
  firstByteMsP99: nullable(Type.Number()),
};
const Usage = Type.Object({
  from: Timestamp,
  to: Timestamp,
  totals: Type.Object(counts),
  // Groups with the most tokens come first; groups by day or hour are sorted by time. At most 1000.
  items: Type.Array(
    Type.Object({
      at: nullable(Timestamp),
      // Value of the `groupBy` column, or null.
      group: nullable(Type.String()),
      ...counts,
    }),
  ),
});

// Amounts in millionths of the currency of the prices.
const Month = Type.Object({
  from: Timestamp,
  to: Timestamp,
  spentMicros: Type.Integer(),
  forecastMicros: Type.Integer({
    description:
      'Expected cost at the end of the month, if each remaining day costs as much as the average of the last seven',
  }),
  budgetMicros: nullable(Type.Integer({ description: 'The limit on cost per month; null: none' })),
  // Calls of the month to models without a price.
  unpriced: Type.Integer(),
});

const callQuery = Type.Object({
  ...pageQuery,
  model: Type.Optional(Type.String({ maxLength: 200 })),
  run: Type.Optional(Type.String({ maxLength: 512, description: 'For agents' })),
  failed: Type.Optional(Type.Boolean({ description: 'Only failures' })),
});
const Call = Type.Object({
  id: Type.String(),
  at: Timestamp,
  kind: Type.String({ description: 'worker, agent, sandbox, dev or key' }),
  projectId: nullable(Type.String()),
  deploymentId: nullable(Type.String()),
  branch: nullable(Type.String()),
  runId: nullable(Type.String()),
  modelRequested: Type.String(),
  model: nullable(Type.String()),
  promptTokens: Type.Integer(),
  completionTokens: Type.Integer(),
  cachedTokens: Type.Integer(),
  reasoningTokens: Type.Integer(),
  isEstimated: Type.Boolean(),
  costMicros: nullable(Type.Integer()),
  status: Type.Integer(),
  isStream: Type.Boolean(),
  firstByteMs: nullable(Type.Number()),
  totalMs: Type.Number(),
});

interface UsageQuery {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly groupBy?: AiUsageQuestion['groupBy'] | undefined;
}

/** @throws {ApiError} if the range is negative or too long. */
function toQuestion({ from: fromText, to: toText, groupBy = 'model' }: UsageQuery) {
  const to = toText === undefined ? new Date() : new Date(toText);
  const from = fromText === undefined ? new Date(to.getTime() - DAYS_DEFAULT * DAY_MS) : new Date(fromText);
  checkTimeRange(from, to, DAYS_MAX);
  return { from, to, groupBy };
}

const toCall = (row: AiCallRow) => ({
  id: row.id,
  at: row.at.toISOString(),
  kind: row.kind,
  projectId: row.project_id,
  deploymentId: row.deployment_id,
  branch: row.branch,
  runId: row.run_id,
  modelRequested: row.model_requested,
  model: row.model,
  promptTokens: row.prompt_tokens,
  completionTokens: row.completion_tokens,
  cachedTokens: row.cached_tokens,
  reasoningTokens: row.reasoning_tokens,
  isEstimated: row.is_estimated,
  costMicros: row.cost_micros,
  status: row.status,
  isStream: row.is_stream,
  firstByteMs: row.first_byte_ms,
  totalMs: row.total_ms,
});

async function callsOf(
  { sql }: Dependencies,
  of: { readonly organizationId: string; readonly projectId: string | null },
  query: {
    readonly model?: string;
    readonly run?: string;
    readonly failed?: boolean;
    readonly limit?: number;
    readonly cursor?: string;
  },
) {
  const page = readTimePage(query);
  const { model = null, run = null, failed = false } = query;
  const rows = await listAiCalls(sql, { ...of, model, run, isFailed: failed }, page);
  return toTimePage(rows, page, toCall);
}

export const aiUsage = platform<Dependencies, RequestState>()
  .get(
    '/orgs/:id/ai/usage',
    {
      ...needs('usage:read', 'organization'),
      tags,
      summary: 'Read tokens and cost of the AI calls of an organization',
      query: usageQuery,
      response: Usage,
    },
    (ctx) => readAiUsage(ctx.env.sql, { ...toQuestion(ctx.query), organizationId: ctx.params.id, projectId: null }),
  )
  .get(
    '/orgs/:id/ai/month',
    {
      ...needs('usage:read', 'organization'),
      tags,
      summary: 'Read the AI costs of an organization this month, with a forecast and the budget',
      response: Month,
    },
    (ctx) => readAiMonth(ctx.env.sql, { organizationId: ctx.params.id, projectId: null }),
  )
  .get(
    '/orgs/:id/ai/calls',
    {
      ...needs('usage:read', 'organization'),
      tags,
      summary: 'List the AI calls of an organization, latest first',
      query: callQuery,
      response: pageOf(Call),
    },
    (ctx) => callsOf(ctx.env, { organizationId: ctx.params.id, projectId: null }, ctx.query),
  )
  .get(
    '/projects/:id/ai/usage',
    {
      ...needs('usage:read', 'project'),
      tags,
      summary: 'Read tokens and cost of the AI calls of a project',
      query: usageQuery,
      response: Usage,
    },
    async (ctx) => {
      const { organizationId, projectId } = await ctx.state.access.project('usage:read', ctx.params.id);
      return readAiUsage(ctx.env.sql, { ...toQuestion(ctx.query), organizationId, projectId });
    },
  )
  .get(
    '/projects/:id/ai/month',
    {
      ...needs('usage:read', 'project'),
      tags,
      summary: 'Read the AI costs of a project this month, with a forecast and the budget',
      response: Month,
    },
    async (ctx) => readAiMonth(ctx.env.sql, await ctx.state.access.project('usage:read', ctx.params.id)),
  )
  .get(
    '/projects/:id/ai/calls',
    {
      ...needs('usage:read', 'project'),
      tags,
      summary: 'List the AI calls of a project, latest first',
      query: callQuery,
      response: pageOf(Call),
    },
    async (ctx) => {
      const { organizationId, projectId } = await ctx.state.access.project('usage:read', ctx.params.id);
      return callsOf(ctx.env, { organizationId, projectId }, ctx.query);
    },
  );
