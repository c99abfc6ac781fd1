// All tables of ours out of a database, in one snapshot of it, in the form of COPY: it moves between servers of
// different versions, and nobody waits for it. Called by operations/backup/; load.ts puts them back.
import type { Readable } from 'node:stream';
import { readMigrations } from './migrate.ts';
import type { Sql } from './sql.ts';

/** A table, and what of it is kept. */
export interface DumpedTable {
  /** `<schema>.<table>` */
  readonly name: string;
  readonly columns: readonly string[];
  /** Where the sequences of its columns stand. */
  readonly sequences: readonly (readonly [column: string, last: number])[];
}

/** A migration that was applied. */
export interface AppliedMigration {
  readonly name: string;
  readonly hash: string;
}

export const LEDGER = 'public.database_migration_audit';

/** The schemas that migrations make. */
export function ownSchemas(): string[] {
  return readMigrations().flatMap(({ text }) =>
    [...text.matchAll(/^CREATE SCHEMA (?:IF NOT EXISTS )?([a-z_]+)/gm)].map(([, name]) => name!),
  );
}

/**
 * Reads every table, but for those that a crash of the server empties (UNLOGGED).
 *
 * @param keep takes the rows of a table: all bytes, before it resolves.
 * @returns the migrations that the tables are of; null: the database has none of ours.
 */
export function dumpTables(
  sql: Sql,
  keep: (table: DumpedTable, rows: AsyncIterable<Uint8Array>) => Promise<void>,
): Promise<AppliedMigration[] | null> {
  return sql.begin('ISOLATION LEVEL REPEATABLE READ READ ONLY', async (snapshot) => {
    await snapshot`SET LOCAL statement_timeout = 0`;
    await snapshot`SET LOCAL idle_in_transaction_session_timeout = 0`;
    const [ledger] = await snapshot<{ there: boolean }[]>`SELECT to_regclass(${LEDGER}) IS NOT NULL AS there`;
    if (ledger?.there !== true) return null;
    const applied = await snapshot<AppliedMigration[]>`
      SELECT name, hash FROM public.database_migration_audit ORDER BY version`;
    const tables = await snapshot<{ name: string; columns: string[]; identities: string[] }[]>`
      SELECT n.nspname || '.' || c.relname AS name,
        array_agg(a.attname::text ORDER BY a.attnum) AS columns,
        coalesce(array_agg(a.attname::text) FILTER (WHERE pg_get_serial_sequence(n.nspname || '.' || c.relname, a.attname) IS NOT NULL), '{}') AS identities
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
      WHERE c.relkind = 'r' AND c.relpersistence = 'p'
        AND (n.nspname = ANY (${ownSchemas()}) OR n.nspname || '.' || c.relname = ${LEDGER})
      GROUP BY 1 ORDER BY 1`;
    for (const { name, columns, identities } of tables) {
      const sequences: [string, number][] = [];
      for (const column of identities) {
        const [found] = await snapshot<{ last: string | null }[]>`
          SELECT pg_sequence_last_value(pg_get_serial_sequence(${name}, ${column})::regclass)::text AS last`;
        if (found?.last != null) sequences.push([column, Number(found.last)]);
      }
      const rows: Readable = await snapshot.unsafe(`COPY ${name} (${columns.join(', ')}) TO STDOUT`).readable();
      await keep({ name, columns, sequences }, rows);
    }
    return [...applied].map(({ name, hash }) => ({ name, hash }));
  });
}
