// Plans and kinds of invocation. Their CPU budgets are in limits.ts. Pure.
import { eventKinds } from './event.ts';

/** Plans of organizations; self-hosted organizations are `free` unless assigned another. */
export const plans = ['free', 'pro', 'enterprise'] as const;
export type Plan = (typeof plans)[number];

/** Triggers of an invocation. Each kind has its own CPU budget. */
export const invocationKinds = ['http', ...eventKinds] as const;
export type InvocationKind = (typeof invocationKinds)[number];
