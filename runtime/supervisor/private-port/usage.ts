// Usage of the engines' deployments, summed by minute until the control plane has fetched it (`POST /_platform/usage`).
// A batch is repeated until the next request acknowledges it, so that a crash of the client neither loses usage nor
// counts it twice. The data is lost with the supervisor.
import { randomBytes } from 'node:crypto';
import { mergeUsage, type TimedUsageRow, type UsageBatch, type UsageRow } from '#core/usage-row.ts';

/**
 * Limit for rows; beyond this limit, routes are merged as `*`. From half of this number on, rows are summed by hour.
 */
const ROWS_MAX = 50_000;
/** Rows per batch. */
const BATCH_MAX = 10_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** Sums and hands over usage. */
export class UsageLedger {
  #rows = new Map<string, TimedUsageRow>();
  #given: UsageBatch | null = null;
  #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Adds rows of an engine. */
  add(rows: readonly UsageRow[]): void {
    const now = this.#now();
    const hour = startOf(now, HOUR_MS);
    for (const row of rows) this.#add(row, hour, this.#rows.size < ROWS_MAX / 2 ? startOf(now, MINUTE_MS) : null);
  }

  #add(row: UsageRow, hour: string, minute: string | null): void {
    const key = `${minute ?? `hour ${hour}`} ${row.project} ${row.deployment} ${row.kind} ${row.route}`;
    const before = this.#rows.get(key);
    if (before === undefined && this.#rows.size >= ROWS_MAX && row.route !== '*' && row.kind === 'http')
      return this.#add({ ...row, route: '*' }, hour, minute);
    this.#rows.set(key, before === undefined ? { ...row, hour, minute } : mergeUsage(before, row));
  }

  /** @param acknowledged the id of the batch that was stored; any other id returns the last batch again. */
  take(acknowledged: unknown): UsageBatch {
    if (this.#given !== null && this.#given.id !== acknowledged) return this.#given;
    this.#given = null;
    if (this.#rows.size === 0) return { id: null, rows: [] };
    const rows: TimedUsageRow[] = [];
    for (const [key, row] of this.#rows) {
      if (rows.length >= BATCH_MAX) break;
      rows.push(row);
      this.#rows.delete(key);
    }
    return (this.#given = { id: randomBytes(12).toString('hex'), rows });
  }
}

function startOf(now: number, ms: number): string {
  return new Date(Math.floor(now / ms) * ms).toISOString();
}
