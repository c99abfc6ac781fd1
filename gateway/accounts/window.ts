// The minute, day or month (UTC) that contains a point in time. Pure.
import type { Limit } from './accounts.ts';

const MS = { minute: 60_000, day: 86_400_000 } as const;

export function windowOf(per: Limit['per'], at: number): { readonly startsAt: number; readonly endsAt: number } {
  if (per === 'month') {
    const day = new Date(at);
    const [year, month] = [day.getUTCFullYear(), day.getUTCMonth()];
    return { startsAt: Date.UTC(year, month), endsAt: Date.UTC(year, month + 1) };
  }
  const startsAt = Math.floor(at / MS[per]) * MS[per];
  return { startsAt, endsAt: startsAt + MS[per] };
}
