// Daily partitions of stored lines, invocations and spans: creates the partitions for the days around today, and drops
// expired partitions. Called by store.ts and sweep.ts.
import type { Sql } from '#postgres/sql.ts';

const DAY_MS = 86_400_000;
/** Tables with partitions. */
export const telemetryTables = ['log_line', 'invocation', 'span'] as const;
type TelemetryTable = (typeof telemetryTables)[number];

/** An arbitrary number, used by no other lock. */
const LOCK_KEY = 7_528_341_017;

/** Creates the partitions from the day before to the day after a time, if they do not exist. */
export async function makePartitions(sql: Sql, now: number): Promise<void> {
  const today = Math.floor(now / DAY_MS);
  await sql.begin(async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(${LOCK_KEY})`;
    for (const table of telemetryTables) {
      for (const day of [today - 1, today, today + 1]) {
        const [from, to] = [new Date(day * DAY_MS).toISOString(), new Date((day + 1) * DAY_MS).toISOString()];
        await tx.unsafe(
          `CREATE TABLE IF NOT EXISTS control.${nameOf(table, day)} PARTITION OF control.${table}
           FOR VALUES FROM ('${from}') TO ('${to}')`,
        );
      }
    }
  });
}

/** Drops partitions whose day ended before a time. @returns their names. */
export async function dropPartitions(sql: Sql, before: number): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    SELECT child.relname AS name FROM pg_inherits
    JOIN pg_class child ON child.oid = inhrelid JOIN pg_class parent ON parent.oid = inhparent
    JOIN pg_namespace ON pg_namespace.oid = parent.relnamespace
    WHERE nspname = 'control' AND parent.relname = ANY(${[...telemetryTables]})`;
  const old = rows
    .map(({ name }) => name)
    .filter((name) => {
      const [, date] = /_(\d{8})$/.exec(name) ?? [];
      return date !== undefined && dayEnd(date) <= before;
    });
  for (const name of old) await sql.unsafe(`DROP TABLE IF EXISTS control.${name}`);
  return old;
}

function nameOf(table: TelemetryTable, day: number): string {
  return `${table}_${new Date(day * DAY_MS).toISOString().slice(0, 10).replaceAll('-', '')}`;
}

function dayEnd(date: string): number {
  return Date.parse(`${date.slice(0, 4)}-${date.slice(4, 6)}-${date.slice(6)}T00:00:00Z`) + DAY_MS;
}
