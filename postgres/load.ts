// Restores tables from dump.ts into a database: the same migrations create it, then it is filled and migrated to the
// current version. The whole restore is one transaction. Called by operations/restore/.
import { pipeline } from 'node:stream/promises';
import { ownSchemas, type Dump, type AppliedMigration, type DumpedTable } from './dump.ts';
import { createLedger, findLedger, FORMER_LEDGER, LEDGER } from './ledger.ts';
import { readMigrations, type Migration } from './migrate.ts';
import type { Sql, Transaction } from './sql.ts';

/** A table to fill. */
interface LoadedTable extends DumpedTable {
  readonly rows: number;
  content(): AsyncIterable<Uint8Array>;
}

/**
 * Why this version of the platform cannot continue from these migrations; null if it can.
 *
 * @param applied migrations of the dump.
 */
export function schemaProblem(
  applied: readonly AppliedMigration[],
  known: readonly Migration[] = readMigrations(),
): string | null {
  for (const [at, { name, hash }] of applied.entries()) {
    const own = known[at];
    if (own === undefined) return `it has migration ${name}, which this version of the platform does not know`;
    if (own.name !== name || own.hash !== hash) return `its migration ${name} differs from that of this version`;
  }
  return null;
}

/** Whether a database has tables of the platform. */
export async function hasTables(sql: Sql): Promise<boolean> {
  if ((await findLedger((text) => sql.unsafe(text))) !== null) return true;
  const [found] = await sql<{ there: boolean }[]>`
    SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = ANY (${ownSchemas()})) AS there`;
  return found?.there === true;
}

/**
 * Fills a database.
 *
 * @param replaces deletes existing tables of the platform; without it they cause an error. @throws {Error} when a table
 * refuses its rows; nothing has then changed.
 */
export async function loadTables(
  sql: Sql,
  { applied, sequences }: Dump,
  tables: readonly LoadedTable[],
  replaces: boolean,
): Promise<void> {
  await sql.begin(async (transaction) => {
    await transaction`SET LOCAL statement_timeout = 0`;
    if (replaces) {
      for (const schema of ownSchemas()) await transaction.unsafe(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
      await transaction.unsafe(`DROP TABLE IF EXISTS ${LEDGER}, ${FORMER_LEDGER}`);
    }
    await transaction.unsafe(createLedger);
    for (const { text } of readMigrations().slice(0, applied.length)) {
      await transaction.unsafe(text);
      // A migration may change the search path: the next statements use qualified names.
      await transaction`SET LOCAL search_path = public`;
    }
    for (const { name, partitions = [] } of tables) await makePartitions(transaction, name, partitions);
    const names = new Set(tables.map(({ name }) => name));
    // Rows are restored unchanged: the effects of their triggers have already happened.
    for (const name of names) await transaction.unsafe(`ALTER TABLE ${name} DISABLE TRIGGER USER`);
    for (const table of await inOrder(transaction, tables)) await fill(transaction, table);
    for (const name of names) await transaction.unsafe(`ALTER TABLE ${name} ENABLE TRIGGER USER`);
    for (const [name, last] of sequences) await transaction`SELECT setval(${name}::regclass, ${last})`;
  });
}

async function makePartitions(
  transaction: Transaction,
  table: string,
  partitions: NonNullable<DumpedTable['partitions']>,
): Promise<void> {
  for (const [name, bound] of partitions) {
    const [found] = await transaction<{ there: boolean }[]>`SELECT to_regclass(${name}) IS NOT NULL AS there`;
    if (found?.there !== true) await transaction.unsafe(`CREATE TABLE ${name} PARTITION OF ${table} ${bound}`);
  }
}

async function fill(transaction: Transaction, { name, columns, rows, content }: LoadedTable): Promise<void> {
  // Rows inserted by a migration itself are in the dump.
  await transaction.unsafe(`DELETE FROM ${name}`);
  const writable = await transaction.unsafe(`COPY ${name} (${columns.join(', ')}) FROM STDIN`).writable();
  await pipeline(content, writable);
  const [found] = await transaction.unsafe<{ count: number }[]>(`SELECT count(*) AS count FROM ${name}`);
  if (found?.count !== rows) throw new Error(`${name} has ${found?.count} rows, not the ${rows} of the backup`);
}

/** Sorts each table after the tables that its rows refer to. */
async function inOrder(transaction: Transaction, tables: readonly LoadedTable[]): Promise<LoadedTable[]> {
  const references = await transaction<{ child: string; parent: string }[]>`
    SELECT DISTINCT cn.nspname || '.' || c.relname AS child, pn.nspname || '.' || p.relname AS parent
    FROM pg_constraint k
    JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace cn ON cn.oid = c.relnamespace
    JOIN pg_class p ON p.oid = k.confrelid JOIN pg_namespace pn ON pn.oid = p.relnamespace
    WHERE k.contype = 'f' AND c.oid <> p.oid`;
  const parents = new Map<string, string[]>();
  for (const { child, parent } of references) parents.set(child, [...(parents.get(child) ?? []), parent]);
  const byName = new Map(tables.map((table) => [table.name, table]));
  const ordered: LoadedTable[] = [];
  const visited = new Set<string>();
  const visit = (name: string): void => {
    if (visited.has(name)) return;
    visited.add(name);
    for (const parent of parents.get(name) ?? []) visit(parent);
    const table = byName.get(name);
    if (table !== undefined) ordered.push(table);
  };
  for (const { name } of tables) visit(name);
  return ordered;
}
