// Counts of stored lines or invocations over time: their schema and their reading. Called by the API's routes.
import Type, { type TSchema } from '#core/typebox/typebox.mjs';
import type { Sql } from '#postgres/sql.ts';
import { Timestamp } from '../http/schemas.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { bucketsOf, readWithin, type Span } from './filter.ts';
import { readDropped } from './lines.ts';

const HOUR_MS = 3_600_000;

/** The response: equal intervals of a time range, without the empty ones. */
export function histogramOf<Item extends TSchema>(item: Item) {
  return Type.Object({
    from: Timestamp,
    to: Timestamp,
    bucketMs: Type.Integer(),
    items: Type.Array(item),
    // Dropped because the project exceeded its limit, in the hours that the range covers.
    dropped: Type.Object({ lines: Type.Integer(), invocations: Type.Integer(), spans: Type.Integer() }),
  });
}

/** Counts over the requested time range; by default, the last hour. */
export function readHistogram<Item>(
  { sql: connection, telemetryLimits }: Pick<Dependencies, 'sql' | 'telemetryLimits'>,
  projectId: string,
  asked: Parameters<typeof bucketsOf>[0],
  count: (sql: Sql, time: Span & { readonly bucketMs: number }) => Promise<Item[]>,
) {
  const time = bucketsOf(asked, HOUR_MS);
  return readWithin(connection, telemetryLimits.scanMs, async (sql) => ({
    from: time.from.toISOString(),
    to: time.to.toISOString(),
    bucketMs: time.bucketMs,
    items: await count(sql, time),
    dropped: await readDropped(sql, projectId, time),
  }));
}
