// Sums usage rows in memory. Pure.
import type { UsageGroup, UsageQuestion, UsageRow, UsageSum, UsageSums } from '../contract/contract.ts';

const NOTHING: UsageSum = {
  calls: 0,
  failedCalls: 0,
  promptTokens: 0,
  completionTokens: 0,
  cachedTokens: 0,
  reasoningTokens: 0,
  costMicros: 0,
  unpricedCalls: 0,
};

const keyOf: Readonly<Record<UsageGroup, (row: UsageRow) => string | null>> = {
  model: ({ model }) => model,
  deployment: ({ caller }) => caller.deploymentId,
  day: ({ at }) => new Date(at).toISOString().slice(0, 10),
};

export function sumOf(rows: readonly UsageRow[], question: UsageQuestion): UsageSums {
  const { organizationId, projectId, deploymentId, from, to, by, groupsMax } = question;
  const groups = new Map<string | null, UsageSum>();
  let total = NOTHING;
  for (const row of rows) {
    const { caller, at } = row;
    if (caller.organizationId !== organizationId || at < from || at >= to) continue;
    if (projectId !== null && caller.projectId !== projectId) continue;
    if (deploymentId !== null && caller.deploymentId !== deploymentId) continue;
    const key = keyOf[by](row);
    groups.set(key, add(groups.get(key) ?? NOTHING, row));
    total = add(total, row);
  }
  const tokensOf = ({ promptTokens, completionTokens }: UsageSum): number => promptTokens + completionTokens;
  const all = [...groups].map(([key, sum]) => ({ key, ...sum }));
  const byKey = (one: { key: string | null }, other: { key: string | null }): number =>
    (one.key ?? '') < (other.key ?? '') ? -1 : 1;
  all.sort((one, other) => (by === 'day' ? 0 : tokensOf(other) - tokensOf(one)) || byKey(one, other));
  return { total, groups: all.slice(0, groupsMax), hasMore: all.length > groupsMax };
}

function add(sum: UsageSum, row: UsageRow): UsageSum {
  return {
    calls: sum.calls + 1,
    failedCalls: sum.failedCalls + (row.status >= 400 ? 1 : 0),
    promptTokens: sum.promptTokens + row.promptTokens,
    completionTokens: sum.completionTokens + row.completionTokens,
    cachedTokens: sum.cachedTokens + row.cachedTokens,
    reasoningTokens: sum.reasoningTokens + row.reasoningTokens,
    costMicros: sum.costMicros + (row.costMicros ?? 0),
    unpricedCalls: sum.unpricedCalls + (row.costMicros === null ? 1 : 0),
  };
}
