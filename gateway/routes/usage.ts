// GET /usage: usage of the caller's deployment, or of everything within the scope of an organization's key.
import { usageGroups, type UsageSum } from '../contract/contract.ts';
import { GatewayError } from '../contract/errors.ts';
import { wrong } from '../contract/request-body.ts';
import type { Call } from './call.ts';

const DAY_MS = 86_400_000;
const DAYS_DEFAULT = 30;
const DAYS_MAX = 366;
const GROUPS_MAX = 1000;
const TIME = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

/** @param asking organizations with a query in progress, because each can run one at a time. @throws {GatewayError} */
export async function usageOf({ request, caller, deps }: Call, asking: Set<string>): Promise<Response> {
  const { searchParams } = new URL(request.url);
  const to = timeOf(searchParams, 'to') ?? deps.now() + 1;
  const from = timeOf(searchParams, 'from') ?? to - DAYS_DEFAULT * DAY_MS;
  if (!(from < to && to - from <= DAYS_MAX * DAY_MS)) throw wrong('from', `before "to", by at most ${DAYS_MAX} days`);
  const asked = searchParams.get('group_by') ?? 'day';
  const by = usageGroups.find((one) => one === asked);
  if (by === undefined) throw wrong('group_by', `one of ${usageGroups.join(', ')}`);
  const { organizationId, projectId, deploymentId } = caller;
  // The query reads many rows of the database that model calls also need.
  if (asking.has(organizationId))
    throw new GatewayError('rate_limit_exceeded', 'The organization is already reading its usage: try again', {
      retryAfterMs: 1000,
    });
  asking.add(organizationId);
  try {
    const question = { organizationId, projectId, deploymentId, from, to, by, groupsMax: GROUPS_MAX };
    const { total, groups, hasMore } = await deps.usage.sum(question);
    return Response.json({
      object: 'usage',
      from: new Date(from).toISOString(),
      to: new Date(to).toISOString(),
      group_by: by,
      total: put(total),
      data: groups.map(({ key, ...sum }) => ({ [by]: key, ...put(sum) })),
      has_more: hasMore,
    });
  } finally {
    asking.delete(organizationId);
  }
}

/** ms since 1970; null if not set. */
function timeOf(parameters: URLSearchParams, name: string): number | null {
  const text = parameters.get(name);
  if (text === null) return null;
  const at = TIME.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) throw wrong(name, 'a day such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z');
  return at;
}

const put = (sum: UsageSum) => ({
  calls: sum.calls,
  failed_calls: sum.failedCalls,
  prompt_tokens: sum.promptTokens,
  completion_tokens: sum.completionTokens,
  total_tokens: sum.promptTokens + sum.completionTokens,
  cached_tokens: sum.cachedTokens,
  reasoning_tokens: sum.reasoningTokens,
  cost_micros: sum.costMicros,
  unpriced_calls: sum.unpricedCalls,
});
