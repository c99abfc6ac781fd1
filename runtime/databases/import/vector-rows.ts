// Fills a `vec0` table of an import through sqlite-vec, row by row, from the tables in which a file keeps its chunks.
// The chunks themselves are never copied into a database, because sqlite-vec trusts its own chunks. Called by
// virtual-tables.ts.
import { SqlRefusal, type StoredValue } from '#core/database-request.ts';
import type { Connection } from '../sqlite/connection.ts';
import type { VectorTable } from '../sqlite/vector-tables.ts';

/** Suffixes of the tables that make up a `vec0` table, after its name and `_`. */
const PART = /^(?:info|chunks|rowids|auxiliary|(?:vector_chunks|metadatachunks|metadatatext)\d\d)$/;

/** The part of a `vec0` table that has this name, such as `chunks`; null means that another table. */
export function partOf(vectorTable: string, table: string): string | null {
  const [beginning, part] = [table.slice(0, vectorTable.length + 1), table.slice(vectorTable.length + 1).toLowerCase()];
  return beginning.toLowerCase() === `${vectorTable}_`.toLowerCase() && PART.test(part) ? part : null;
}

/** Rows of one chunk. */
const ROWS_MAX = 4096;
/** Bytes of a text that are stored in the chunk itself. */
const SHORT_TEXT_BYTES = 12;
/** How a chunk stores each type of metadata. */
const bitsOf: Readonly<Record<string, number>> = { boolean: 1, bool: 1, integer: 64, int: 64, float: 64, double: 64 };
const TEXT_BITS = 128;

/** Position of a column's values in a chunk. */
interface Column {
  readonly source: string;
  readonly field: string;
  readonly bits: number;
  /** The value of the row at an index of the chunk. */
  read(bytes: Uint8Array, at: number, rowid: bigint): StoredValue;
}

/**
 * Inserts the rows of a table.
 *
 * @param sourceOf the quoted name of the table with a part of the file's `vec0` table; null if the file has none.
 * @param step wraps the work on one chunk.
 * @throws {SqlRefusal} for chunks that sqlite-vec would not have written.
 */
export function insertVectors(
  connection: Connection,
  table: VectorTable,
  sourceOf: (part: string) => string | null,
  step: (run: () => void) => void,
): void {
  const source = (part: string): string => {
    const found = sourceOf(part);
    if (found === null) throw damaged(table, `there is no ${table.name}_${part}`);
    return found;
  };
  const columns = [...vectorColumns(table, source), ...metadataColumns(connection, table, source)];
  const insert = connection.compile({ sql: insertSql(table, source), parameters: columns.length + 2, line: 1 });
  const next = `SELECT chunk_id, rowids, validity FROM ${source('chunks')} WHERE chunk_id > ? ORDER BY chunk_id LIMIT 1`;
  for (let chunk: unknown = -1; chunk !== null;)
    step(() => {
      const [found] = connection.ownLarge(next, chunk as number);
      chunk = found?.[0] ?? null;
      if (found === undefined) return;
      const [, rowids, validity] = found;
      if (!(rowids instanceof Uint8Array) || rowids.length % 8 !== 0 || rowids.length > 8 * ROWS_MAX)
        throw damaged(table, `chunk ${String(chunk)}`);
      const rows = rowids.length / 8;
      if (!(validity instanceof Uint8Array) || validity.length * 8 < rows)
        throw damaged(table, `chunk ${String(chunk)}`);
      const blobs = columns.map((column) => {
        const [row] = connection.ownLarge(
          `SELECT ${column.field} FROM ${column.source} WHERE rowid = ?`,
          chunk as number,
        );
        const bytes = row?.[0];
        if (!(bytes instanceof Uint8Array) || bytes.length * 8 < rows * column.bits)
          throw damaged(table, `chunk ${String(chunk)} of ${column.source}`);
        return bytes;
      });
      const ids = viewOf(rowids);
      for (let at = 0; at < rows; at++) {
        if (!bitAt(validity, at)) continue;
        const rowid = ids.getBigInt64(8 * at, true);
        const values = columns.map((column, index) => column.read(blobs[index]!, at, rowid));
        connection.change(insert, [...values, chunk as number, rowid]);
      }
    });
}

/** The SQL copies keys, partitions and stored columns with their types, and binds the other values. */
function insertSql(
  { name, key, vectors, partitions, metadata, auxiliary }: VectorTable,
  source: (part: string) => string,
) {
  const names = [key?.name ?? 'rowid', ...partitions, ...vectors, ...metadata, ...auxiliary].map((column) =>
    quoted(typeof column === 'string' ? column : column.name),
  );
  const wrapped = { float: 'vec_f32(?)', int8: 'vec_int8(?)', bit: 'vec_bit(?)' } as const;
  const values = [
    key !== null && key.type === 'text' ? 'r.id' : 'r.rowid',
    ...partitions.map((_, index) => `c.partition${two(index)}`),
    ...vectors.map(({ type }) => wrapped[type]),
    ...metadata.map(() => '?'),
    ...auxiliary.map((_, index) => `a.value${two(index)}`),
  ];
  const stored = auxiliary.length === 0 ? '' : `LEFT JOIN ${source('auxiliary')} AS a ON a.rowid = r.rowid`;
  return `INSERT INTO main.${quoted(name)} (${names.join(', ')}) SELECT ${values.join(', ')}
    FROM ${source('rowids')} AS r JOIN ${source('chunks')} AS c ON c.chunk_id = ? ${stored} WHERE r.rowid = ?`;
}

function vectorColumns({ vectors }: VectorTable, source: (part: string) => string): Column[] {
  return vectors.map(({ bytes: size }, index) => ({
    source: source(`vector_chunks${two(index)}`),
    field: 'vectors',
    bits: 8 * size,
    read: (bytes, at) => bytes.subarray(at * size, (at + 1) * size),
  }));
}

function metadataColumns(connection: Connection, table: VectorTable, source: (part: string) => string): Column[] {
  return table.metadata.map(({ type }, index) => {
    const place = { source: source(`metadatachunks${two(index)}`), field: 'data', bits: bitsOf[type] ?? TEXT_BITS };
    if (place.bits === 1) return { ...place, read: (bytes, at) => (bitAt(bytes, at) ? 1n : 0n) };
    if (type.startsWith('int')) return { ...place, read: (bytes, at) => viewOf(bytes).getBigInt64(8 * at, true) };
    if (place.bits === 64) return { ...place, read: (bytes, at) => viewOf(bytes).getFloat64(8 * at, true) };
    const long = `SELECT data FROM ${source(`metadatatext${two(index)}`)} WHERE rowid = ?`;
    return {
      ...place,
      read: (bytes, at, rowid) => {
        const length = viewOf(bytes).getInt32(16 * at, true);
        if (length >= 0 && length <= SHORT_TEXT_BYTES)
          return Buffer.from(bytes.subarray(16 * at + 4, 16 * at + 4 + length)).toString('utf8');
        const text = connection.own(long, rowid)[0]?.[0];
        if (typeof text !== 'string') throw damaged(table, `a text of row ${rowid}`);
        return text;
      },
    };
  });
}

function damaged(table: VectorTable, what: string): SqlRefusal {
  return new SqlRefusal('SQLITE_CORRUPT', `the vectors of ${table.name} are damaged: ${what}`);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

function bitAt(bytes: Uint8Array, at: number): boolean {
  return ((bytes[at >> 3]! >> (at & 7)) & 1) === 1;
}

function two(index: number): string {
  return String(index).padStart(2, '0');
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
