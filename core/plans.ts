// Plans and kinds of invocation. CPU budgets are in limits.ts. Pure.
import { eventKinds } from './event.ts';

/** Plans of organizations; self-hosted organizations have `free` unless the operator assigns another plan. */
export const plans = ['free', 'pro', 'enterprise'] as const;
export type Plan = (typeof plans)[number];

/** Triggers of an invocation. */
export const invocationKinds = ['http', 'object', ...eventKinds] as const;
export type InvocationKind = (typeof invocationKinds)[number];

/** Kinds with a separate CPU budget: an event of a durable object has the budget of a request. */
export const budgetKinds = ['http', ...eventKinds] as const;
export type BudgetKind = (typeof budgetKinds)[number];

/** The kind whose CPU budget a kind uses. */
export function budgetOf(kind: InvocationKind): BudgetKind {
  return kind === 'object' ? 'http' : kind;
}
