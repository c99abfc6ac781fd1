// Limits of the AI gateway that organizations set for themselves, their projects and their keys.
import Type from '#core/typebox/typebox.mjs';
import type { SetLimit } from '#gateway/accounts/accounts.ts';
import { ApiError } from '../../http/errors.ts';

/** Exact in both JSON and Postgres. */
const MOST_MAX = 1_000_000_000_000;

export const LimitSchema = Type.Object(
  {
    of: Type.Enum(['requests', 'tokens']),
    per: Type.Enum(['minute', 'day', 'month'], { description: 'In UTC' }),
    most: Type.Integer({ minimum: 0, maximum: MOST_MAX }),
  },
  { additionalProperties: false },
);
export const LimitsSchema = Type.Array(LimitSchema, {
  maxItems: 6,
  description: 'In addition to the limits of the plan',
});

/** @throws {ApiError} for duplicate limits. */
export function checkLimits(limits: readonly SetLimit[]): void {
  const seen = new Set<string>();
  for (const { of, per } of limits) {
    const one = `${of} per ${per}`;
    if (seen.has(one)) throw new ApiError('bad_request', { reason: `body.limits: ${one} is given twice` });
    seen.add(one);
  }
}

/**
 * Limits as text, for the audit log.
 * @example limitTexts([{ of: 'tokens', per: 'day', most: 1000 }]) // ['1000 tokens per day']
 */
export const limitTexts = (limits: readonly SetLimit[]): string[] =>
  limits.map(({ of, per, most }) => `${most} ${of} per ${per}`);
