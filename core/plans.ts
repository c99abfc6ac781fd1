// Plans and kinds of invocation. Their CPU budgets stand in limits.ts. Pure.
import { eventKinds } from './event.ts';

/** What an organization pays for; self-hosted organizations are `free` unless assigned another. */
export const plans = ['free', 'pro', 'enterprise'] as const;
export type Plan = (typeof plans)[number];

/** What started an invocation. Each kind has its own CPU budget. */
export const invocationKinds = ['http', ...eventKinds] as const;
export type InvocationKind = (typeof invocationKinds)[number];
