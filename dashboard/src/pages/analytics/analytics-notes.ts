// Notes about data that analytics do not have, shown where it is missing. Pure.
import type { Counts } from '../../queries/analytics-counts.ts';

/** The response of the API. */
interface Answer {
  readonly from: string;
  readonly stepMs: number;
  readonly routes: readonly (Pick<Counts, 'firstByteMs'> & { readonly route: string })[];
}

/** How long usage is stored by minute (control/records/analytics.ts). */
const MINUTES_KEPT_MS = 2 * 86_400_000;

/** Sentences about data that is missing in a response of the API. */
export function notesOf({ from, stepMs, routes }: Answer, now: number): string[] {
  const isOld = Date.parse(from) < now - MINUTES_KEPT_MS && stepMs >= 3_600_000;
  const has = (route: string): boolean => routes.some((one) => one.route === route);
  return [
    ...(isOld ? ['Usage older than two days is stored by hour, so shorter intervals are not available.'] : []),
    ...(has('(files)') ? ['Static files are counted as (files), without latency.'] : []),
    ...(has('*') ? ['A deployment has up to 50 routes. Requests to other routes are counted as *.'] : []),
    ...(routes.some(({ firstByteMs }) => firstByteMs !== null)
      ? ['All requests are counted. Quantiles of latency are at most 6.25 % off.']
      : []),
  ];
}
