// Usage of the engines' deployments, summed by hour until the control plane has fetched it (`POST /_platform/usage`).
// A batch is repeated until the next request acknowledges it, so that a crash of the client neither loses usage nor
// counts it twice. The data is lost with the supervisor.
import { randomBytes } from 'node:crypto';
import { addCounts, mergeCostliest, type UsageBatch, type UsageRow } from '#core/usage-row.ts';

/** Limit for rows; beyond it, routes are merged as `*`. */
const ROWS_MAX = 50_000;
/** Rows per batch. */
const BATCH_MAX = 10_000;
const HOUR_MS = 3_600_000;

type HourRow = UsageBatch['rows'][number];

/** Sums and hands over usage. */
export class UsageLedger {
  #rows = new Map<string, HourRow>();
  #given: UsageBatch | null = null;
  #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Adds rows of an engine. */
  add(rows: readonly UsageRow[]): void {
    const hour = new Date(Math.floor(this.#now() / HOUR_MS) * HOUR_MS).toISOString();
    for (const row of rows) this.#add(hour, row);
  }

  #add(hour: string, row: UsageRow): void {
    const key = `${hour} ${row.project} ${row.deployment} ${row.kind} ${row.route}`;
    const before = this.#rows.get(key);
    if (before === undefined && this.#rows.size >= ROWS_MAX && row.route !== '*' && row.kind === 'http')
      return this.#add(hour, { ...row, route: '*' });
    this.#rows.set(key, {
      ...row,
      hour,
      invocations: row.invocations + (before?.invocations ?? 0),
      failures: row.failures + (before?.failures ?? 0),
      cpuMs: row.cpuMs + (before?.cpuMs ?? 0),
      hostCpuMs: row.hostCpuMs + (before?.hostCpuMs ?? 0),
      cpuMsMax: Math.max(row.cpuMsMax, before?.cpuMsMax ?? 0),
      cpuCounts: addCounts(row.cpuCounts, before?.cpuCounts ?? []),
      costliest: mergeCostliest(row.costliest, before?.costliest ?? []),
    });
  }

  /** @param acknowledged id of the batch that was stored; anything else returns the last one again. */
  take(acknowledged: unknown): UsageBatch {
    if (this.#given !== null && this.#given.id !== acknowledged) return this.#given;
    this.#given = null;
    if (this.#rows.size === 0) return { id: null, rows: [] };
    const rows: HourRow[] = [];
    for (const [key, row] of this.#rows) {
      if (rows.length >= BATCH_MAX) break;
      rows.push(row);
      this.#rows.delete(key);
    }
    return (this.#given = { id: randomBytes(12).toString('hex'), rows });
  }
}
