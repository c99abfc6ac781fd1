// The time range of a query: `from` and `to`.
import { ApiError } from './errors.ts';

const DAY_MS = 86_400_000;

/** @throws {ApiError} if the range is negative, or longer than `daysMax`. */
export function checkTimeRange(from: Date, to: Date, daysMax = Infinity): void {
  const ms = to.getTime() - from.getTime();
  if (!(ms >= 0)) throw new ApiError('bad_request', { reason: 'query.from: must not be after query.to' });
  if (ms > daysMax * DAY_MS)
    throw new ApiError('bad_request', { reason: `query.from: must be at most ${daysMax} days before query.to` });
}
