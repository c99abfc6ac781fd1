// Plans and kinds of invocation, and the CPU budget of each pair (docs/limits.md). Pure: the environment comes in as an
// argument.

/** What an organization pays for; self-hosted organizations are `free` unless assigned another. */
export const plans = ['free', 'pro', 'enterprise'] as const;
export type Plan = (typeof plans)[number];

/** What started an invocation. Each kind has its own CPU budget. */
export const invocationKinds = ['http', 'queue', 'timer', 'cron', 'workflow'] as const;
export type InvocationKind = (typeof invocationKinds)[number];

/** CPU milliseconds an invocation may use, by kind and plan; 0 means no limit. */
export type CpuLimits = Readonly<Record<InvocationKind, Readonly<Record<Plan, number>>>>;

export const defaultCpuLimits: CpuLimits = {
  http: { free: 1000, pro: 5000, enterprise: 30_000 },
  queue: { free: 5000, pro: 30_000, enterprise: 60_000 },
  timer: { free: 5000, pro: 30_000, enterprise: 60_000 },
  cron: { free: 10_000, pro: 60_000, enterprise: 120_000 },
  workflow: { free: 15_000, pro: 120_000, enterprise: 300_000 },
};

/** `WORKER_CPU_LIMIT_MS_<PLAN>` for HTTP, `WORKER_CPU_LIMIT_MS_<KIND>_<PLAN>` for the others (docs/limits.md). */
export function cpuLimitVariable(kind: InvocationKind, plan: Plan): string {
  const infix = kind === 'http' ? '' : `${kind.toUpperCase()}_`;
  return `WORKER_CPU_LIMIT_MS_${infix}${plan.toUpperCase()}`;
}
