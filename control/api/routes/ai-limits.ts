// Limits of the AI gateway that organizations set for themselves, their projects and their keys.
import Type from '#core/typebox/typebox.mjs';
import type { SetLimit } from '#gateway/accounts/accounts.ts';
import { ApiError } from '../../http/errors.ts';

/** Numbers up to these maxima are exact in JSON and in Postgres, also a cost in millionths. */
const [MOST_MAX, COST_MAX] = [1_000_000_000_000, 100_000_000];

export const LimitSchema = Type.Object(
  {
    of: Type.Enum(['requests', 'tokens', 'cost']),
    per: Type.Enum(['minute', 'day', 'month'], { description: 'In UTC; of cost: day or month' }),
    most: Type.Number({
      minimum: 0,
      maximum: MOST_MAX,
      description: 'A whole number; of cost: an amount in the currency of the prices, such as 12.5',
    }),
  },
  { additionalProperties: false },
);
export const LimitsSchema = Type.Array(LimitSchema, {
  maxItems: 8,
  description: 'In addition to the limits of the plan',
});

/** @throws {ApiError} for duplicate and impossible limits. */
export function checkLimits(limits: readonly SetLimit[]): void {
  const seen = new Set<string>();
  for (const limit of limits) {
    const { of, per } = limit;
    const one = `${of} per ${per}`;
    const problem = seen.has(one) ? `${one} is given twice` : problemOf(limit);
    if (problem !== null) throw new ApiError('bad_request', { reason: `body.limits: ${problem}` });
    seen.add(one);
  }
}

function problemOf({ of, per, most }: SetLimit): string | null {
  if (of !== 'cost') return Number.isInteger(most) ? null : `${of} per ${per} must be a whole number`;
  if (per === 'minute') return 'cost must be per day or per month';
  return most <= COST_MAX ? null : `cost must be at most ${COST_MAX}`;
}

/**
 * Limits as text, for the audit log.
 * @example limitTexts([{ of: 'tokens', per: 'day', most: 1000 }]) // ['1000 tokens per day']
 */
export const limitTexts = (limits: readonly SetLimit[]): string[] =>
  limits.map(({ of, per, most }) => `${most} ${of} per ${per}`);
