// Imports a SQLite file table by table: only this process reads its pages, and they never become pages of a served
// database. Called by importer.ts.
import { ownTablePrefix, SqlRefusal } from '#core/database-request.ts';
import type { Connection } from '../sqlite/connection.ts';
import { isCorruption, toRefusal } from '../sqlite/sqlite-errors.ts';
import { LEDGER, type ImportTransaction } from './import-transaction.ts';
import { quoted, wordsOf } from './statement-words.ts';

const HEADER = 'SQLite format 3\0';
/** Rows per statement. */
const ROWS_A_STEP = 5000;
const STATISTICS = 'sqlite_stat1';
/** Limit for migrations of one database. */
const LEDGER_ROWS_MAX = 10_000;

/** Whether a file with this beginning is a database. */
export function isSqliteFile(beginning: Uint8Array): boolean {
  return Buffer.from(beginning.subarray(0, HEADER.length)).toString('latin1') === HEADER;
}

/** Call this before the transaction begins. @throws {SqlRefusal} if the file cannot be read. */
export function attach(connection: Connection, file: string): void {
  // `immutable`: no other process writes to the file, and no file is created next to it.
  const address = `file:${file.split('/').map(encodeURIComponent).join('/')}?mode=ro&immutable=1`;
  try {
    connection.own('ATTACH ? AS imported', address);
    connection.own('SELECT count(*) FROM imported.sqlite_schema');
  } catch (error) {
    throw explained(error);
  }
}

/** SQLite's message about the uploaded file. */
export function explained(error: unknown): SqlRefusal {
  if (isCorruption(error)) return new SqlRefusal('SQLITE_CORRUPT', `the file is damaged: ${(error as Error).message}`);
  const refusal = toRefusal(error);
  if (!/same text encoding/.test(refusal.message)) return refusal;
  return new SqlRefusal(refusal.code, 'the text of the file is UTF-16: import the output of `sqlite3 <file> .dump`');
}

/** A table of the file. */
interface FileTable {
  readonly name: string;
  readonly columns: readonly string[];
  /** Name of the table's row id column, or null. */
  readonly rowid: string | null;
  /** A column is an alias of the row id. */
  readonly isKeyed: boolean;
  readonly first: bigint;
  readonly last: bigint;
}

/**
 * Imports the attached file, in steps between which this process may report its progress.
 *
 * @param progress receives the approximate amount done and the total.
 * @throws {SqlRefusal}
 */
export async function takeFile(
  connection: Connection,
  transaction: ImportTransaction,
  progress: (done: number, total: number) => Promise<void>,
): Promise<void> {
  const { virtualTables } = transaction;
  const entries = connection.own(
    `SELECT type, name, sql FROM imported.sqlite_schema
     WHERE sql IS NOT NULL AND (name NOT LIKE 'sqlite@_%' ESCAPE '@' OR name = 'sqlite_stat1') ORDER BY rowid`,
  ) as [type: string, name: string, sql: string][];
  const isOwn = (name: string): boolean => name.toLowerCase().startsWith(ownTablePrefix);
  const all = entries.filter(([type]) => type === 'table');
  const virtual = all.filter(([, , sql]) => wordsOf(sql).verb === 'CREATE VIRTUAL TABLE');
  // Virtual tables come first, because they create shadow tables.
  for (const [, name, sql] of virtual) virtualTables.make({ sql, parameters: 0, line: 1 }, name);
  const plain = all.filter((entry) => !virtual.includes(entry)).map(([, name, sql]) => ({ name, sql }));
  const tables = plain.filter(
    ({ name }) => !isOwn(name) && name !== STATISTICS && !virtualTables.hold(name, `imported.${quoted(name)}`),
  );
  for (const { name, sql } of tables) if (virtualTables.ownerOf(name) === undefined) transaction.run(sql, [], false);
  const described = tables.map(({ name }) => tableOf(connection, name));
  const total = described.reduce((sum, table) => sum + weightOf(table, table.last), 0);
  let before = 0;
  for (const table of described) {
    await takeRows(transaction, table, (last) => progress(before + weightOf(table, last), total));
    before += weightOf(table, table.last);
  }
  for (const { name } of plain) if (isOwn(name)) takeOwn(connection, transaction, name);
  takeCounters(connection);
  for (const [type, name, sql] of entries) {
    if (type === 'table' || isOwn(name) || isOwn(wordsOf(sql).on)) continue;
    transaction.run(sql);
    await progress(total, total);
  }
  if (plain.some(({ name }) => name === STATISTICS)) {
    transaction.run('ANALYZE sqlite_schema', [], false);
    connection.own(`INSERT INTO main.${STATISTICS} SELECT tbl, idx, stat FROM imported.${STATISTICS}`);
  }
  for (const setting of ['user_version', 'application_id'])
    connection.ownScript(`PRAGMA main.${setting}=${Number(connection.own(`PRAGMA imported.${setting}`)[0]?.[0])}`);
}

function tableOf(connection: Connection, name: string): FileTable {
  const info = connection.own(`SELECT name, type, pk, hidden FROM pragma_table_xinfo(?, 'imported')`, name) as [
    name: string,
    type: string,
    pk: number,
    hidden: number,
  ][];
  // Generated columns are not copied, but computed again.
  const columns = info.filter(([, , , hidden]) => hidden === 0).map(([column]) => column);
  const hasRows = connection.own(`PRAGMA main.table_list(${quoted(name)})`)[0]?.[4] === 0;
  const taken = new Set(info.map(([column]) => column.toLowerCase()));
  const rowid = hasRows ? (['rowid', '_rowid_', 'oid'].find((word) => !taken.has(word)) ?? null) : null;
  const key = info.filter(([, , pk]) => pk > 0);
  const isKeyed =
    key.length === 1 &&
    key[0]?.[1].toUpperCase() === 'INTEGER' &&
    connection.own(`SELECT 1 FROM pragma_index_list(?, 'imported') WHERE origin = 'pk'`, name).length === 0;
  const [ends] =
    rowid === null
      ? []
      : connection.own(`SELECT CAST(min(${rowid}) AS TEXT), CAST(max(${rowid}) AS TEXT) FROM imported.${quoted(name)}`);
  const [first, last] = (ends ?? [null, null]) as (string | null)[];
  return { name, columns, rowid, isKeyed, first: BigInt(first ?? 0), last: BigInt(last ?? -1) };
}

/** Approximate share of a table's rows up to a row. */
function weightOf({ rowid, first }: FileTable, last: bigint): number {
  return rowid === null ? 1 : Number(last - first + 1n);
}

async function takeRows(
  transaction: ImportTransaction,
  { name, columns, rowid, isKeyed, first, last }: FileTable,
  progress: (last: bigint) => Promise<void>,
): Promise<void> {
  const names = columns.map(quoted).join(', ');
  const from = `FROM imported.${quoted(name)}`;
  if (rowid === null) {
    transaction.fill(name, `INSERT INTO main.${quoted(name)} (${names}) SELECT ${names} ${from}`, []);
    await progress(0n);
    return;
  }
  // Row ids are kept: full-text indexes and `ORDER BY rowid` depend on them.
  const given = isKeyed ? names : `${rowid}${columns.length === 0 ? '' : `, ${names}`}`;
  const insert = `INSERT INTO main.${quoted(name)} (${given}) SELECT ${given} ${from} WHERE ${rowid} BETWEEN ? AND ?`;
  for (let at = first; at <= last;) {
    const end = transaction.lastOf(
      `SELECT CAST(max(n) AS TEXT) FROM (SELECT ${rowid} AS n ${from} WHERE ${rowid} >= ? ORDER BY ${rowid} LIMIT ${ROWS_A_STEP})`,
      at,
    );
    if (end === null) return;
    transaction.fill(name, insert, [at, end]);
    await progress(end);
    at = end + 1n;
  }
}

/** Applied migrations are imported; messages are not, because they belong to queues of another platform. */
function takeOwn(connection: Connection, transaction: ImportTransaction, name: string): void {
  const found = `imported.${quoted(name)}`;
  if (name.toLowerCase() === LEDGER)
    for (const row of connection.own(`SELECT filename, executed_at, sha256 FROM ${found} LIMIT ${LEDGER_ROWS_MAX}`))
      transaction.knowMigration(row);
  else if (connection.own(`SELECT 1 FROM ${found} LIMIT 1`).length > 0) transaction.leave(name);
}

/** For AUTOINCREMENT: continues with the file's next number. */
function takeCounters(connection: Connection): void {
  const isThere = (schema: string): boolean =>
    connection.own(`SELECT 1 FROM ${schema}.sqlite_schema WHERE name = 'sqlite_sequence'`).length > 0;
  if (!isThere('main') || !isThere('imported')) return;
  connection.own(`UPDATE main.sqlite_sequence SET seq = i.seq FROM imported.sqlite_sequence i
    WHERE i.name = main.sqlite_sequence.name`);
  connection.own(`INSERT INTO main.sqlite_sequence (name, seq) SELECT name, seq FROM imported.sqlite_sequence
    WHERE name NOT IN (SELECT name FROM main.sqlite_sequence)
      AND name IN (SELECT name FROM main.sqlite_schema WHERE type = 'table')`);
}
