// Dumps all tables of the platform from a database, in one snapshot, in COPY format. This works between servers of
// different versions, and blocks no writers. Called by operations/backup/; load.ts restores the tables.
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { findLedger } from './ledger.ts';
import { readMigrations } from './migrate.ts';
import type { Sql } from './sql.ts';

/** A table, and its dumped parts. */
export interface DumpedTable {
  /** `<schema>.<table>` */
  readonly name: string;
  readonly columns: readonly string[];
  /** The names and bounds of the partitions of a partitioned table, in the server's syntax. */
  readonly partitions?: readonly (readonly [name: string, bound: string])[];
}

/** Current value of a sequence. */
type SequenceValue = readonly [name: string, last: number];

/** An applied migration. */
export interface AppliedMigration {
  readonly name: string;
  readonly hash: string;
}

/** The schemas created by migrations. */
export function ownSchemas(): string[] {
  return readMigrations().flatMap(({ text }) =>
    [...text.matchAll(/^CREATE SCHEMA (?:IF NOT EXISTS )?([a-z_]+)/gm)].map(([, name]) => name!),
  );
}

/** One snapshot. */
export interface Dump {
  /** Migrations applied to the tables. */
  readonly applied: readonly AppliedMigration[];
  readonly sequences: readonly SequenceValue[];
}

/**
 * Reads every table, except those that a server crash empties (UNLOGGED). Each table is read in a separate transaction
 * over one shared snapshot, so that changes to a table wait only while that table is read.
 *
 * @param sql a pool of two connections.
 * @param keep receives the rows of a table: all bytes, before it resolves.
 * @returns null if the database has no tables of the platform.
 */
export function dumpTables(
  sql: Sql,
  keep: (table: DumpedTable, rows: AsyncIterable<Uint8Array>) => Promise<void>,
): Promise<Dump | null> {
  return sql.begin('ISOLATION LEVEL REPEATABLE READ READ ONLY', async (snapshot) => {
    await snapshot`SET LOCAL statement_timeout = 0`;
    await snapshot`SET LOCAL idle_in_transaction_session_timeout = 0`;
    const ledger = await findLedger((text) => snapshot.unsafe(text));
    if (ledger === null) return null;
    const schemas = ownSchemas();
    const [exported] = await snapshot<{ id: string }[]>`SELECT pg_export_snapshot() AS id`;
    const applied = await snapshot.unsafe<AppliedMigration[]>(`SELECT name, hash FROM ${ledger} ORDER BY version`);
    const tables = await snapshot<{ oid: number; name: string; columns: string[]; isParted: boolean }[]>`
      SELECT c.oid::int8 AS oid, n.nspname || '.' || c.relname AS name, c.relkind = 'p' AS "isParted",
        array_agg(a.attname::text ORDER BY a.attnum) AS columns
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
      WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p' AND NOT c.relispartition
        AND (n.nspname = ANY (${schemas}) OR n.nspname || '.' || c.relname = ${ledger})
      GROUP BY 1, 2, 3 ORDER BY 2`;
    for (const { oid, name, columns, isParted } of tables) {
      const partitions = await snapshot<{ name: string; bound: string }[]>`
        SELECT n.nspname || '.' || c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS bound
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE ${isParted} AND i.inhparent = ${oid} ORDER BY 1`;
      const list = columns.join(', ');
      // Servers before 18 cannot copy a partitioned table directly.
      const source = isParted ? `(SELECT ${list} FROM ${name})` : `${name} (${list})`;
      const bounds = partitions.map((one) => [one.name, one.bound] as const);
      await sql.begin('ISOLATION LEVEL REPEATABLE READ READ ONLY', async (reading) => {
        await reading.unsafe(`SET TRANSACTION SNAPSHOT '${exported!.id}'`);
        await reading`SET LOCAL statement_timeout = 0`;
        const rows: Readable = await reading.unsafe(`COPY ${source} TO STDOUT`).readable();
        try {
          await keep(
            { name, columns, ...(isParted && { partitions: bounds }) },
            rows.iterator({ destroyOnReturn: false }),
          );
        } finally {
          // No other query may run before the last row has arrived.
          await finished(rows.resume()).catch(() => {});
          // The client stops reading from the server while the stream is full, until the stream requests more. The
          // stream may be full with its last row and request no more, so that the end of the transaction is never read.
          rows._read(0);
        }
      });
    }
    const sequences = await snapshot<{ name: string; last: number }[]>`
      SELECT schemaname || '.' || sequencename AS name, last_value AS last FROM pg_sequences
      WHERE schemaname = ANY (${schemas}) AND last_value IS NOT NULL ORDER BY 1`;
    return {
      applied: [...applied].map(({ name, hash }) => ({ name, hash })),
      sequences: sequences.map(({ name, last }) => [name, last] as const),
    };
  });
}
