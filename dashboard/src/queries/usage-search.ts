// Time ranges and kinds of usage, as filters offer them.

/** Time ranges. */
export const ranges = {
  day: ['24 hours', 24, 'hour'],
  week: ['7 days', 24 * 7, 'hour'],
  month: ['30 days', 24 * 30, 'day'],
} as const;
export type Range = keyof typeof ranges;

/** As `invocationKinds` of core/plans.ts. */
export const kinds = ['http', 'object', 'queue', 'timer', 'cron', 'workflow'] as const;
export type Kind = (typeof kinds)[number];
