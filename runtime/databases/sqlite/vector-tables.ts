// Parses the CREATE statement of a `vec0` table, and adds checks that sqlite-vec lacks: refusal of numbers that are not
// finite, and errors that explain the fix. Called by compiler.ts, connection.ts and the importer. Runs no SQL.
import { SqlRefusal, type StoredValue } from '#core/database-request.ts';

/** A column with vectors. */
interface VectorColumn {
  readonly name: string;
  readonly type: 'float' | 'int8' | 'bit';
  /** Bytes of one vector. */
  readonly bytes: number;
}

/** A column without vectors; types in lower case. */
interface PlainColumn {
  readonly name: string;
  readonly type: string;
}

/** A `vec0` table. Each list has the order of the statement. */
export interface VectorTable {
  readonly name: string;
  /** Column of the table's primary key; null means only `rowid`. */
  readonly key: PlainColumn | null;
  readonly vectors: readonly VectorColumn[];
  readonly partitions: readonly PlainColumn[];
  readonly metadata: readonly PlainColumn[];
  readonly auxiliary: readonly PlainColumn[];
}

/** Lists virtual tables: their names and statements. */
export const virtualTablesSql =
  "SELECT name, sql FROM main.sqlite_schema WHERE type = 'table' AND rootpage = 0 AND sql LIKE '%vec0%'";

/** Tables of a `vec0` table with its vectors, which SQLite does not recognize as such. */
const VECTORS_NAME = /_vector_chunks\d\d$/i;
/** Such a name in the text of a statement. */
const VECTORS_TEXT = /_vector_chunks\d\d/i;

/** Whether a table of this name holds the vectors of a `vec0` table. */
export function isOfVectors(name: string): boolean {
  return VECTORS_NAME.test(name);
}

/** Whether the text of a statement contains such a name. */
export function namesVectors(sql: string): boolean {
  return VECTORS_TEXT.test(sql);
}

const USING = /\bUSING\s+["'`[]?vec0["'`\]]?\s*\(([\s\S]*)\)[\s;]*$/i;
const VECTOR = /^(\w+)\s+(float|f32|int8|i8|bit)\s*\[\s*(\d+)\s*\]/i;
const types: Readonly<Record<string, [type: VectorColumn['type'], bits: number]>> = {
  float: ['float', 32],
  f32: ['float', 32],
  int8: ['int8', 8],
  i8: ['int8', 8],
  bit: ['bit', 1],
};

/** Parses the statement that created a table; null if it is another virtual table. */
function vectorTableOf(name: string, sql: string): VectorTable | null {
  const inside = USING.exec(sql)?.[1];
  if (inside === undefined) return null;
  let key: PlainColumn | null = null;
  const vectors: VectorColumn[] = [];
  const partitions: PlainColumn[] = [];
  const metadata: PlainColumn[] = [];
  const auxiliary: PlainColumn[] = [];
  for (const argument of inside.split(',')) {
    const text = argument.trim();
    const [, column, written, dimensions] = VECTOR.exec(text) ?? [];
    if (column !== undefined) {
      const [type, bits] = types[written!.toLowerCase()]!;
      vectors.push({ name: column, type, bytes: Math.ceil((Number(dimensions) * bits) / 8) });
      continue;
    }
    const [, plus, plain, kind, rest] = /^(\+?)\s*(\w+)\s+(\w+)(.*)$/s.exec(text) ?? [];
    // A setting, such as `chunk_size=256`.
    if (plain === undefined) continue;
    const found = { name: plain, type: kind!.toLowerCase() };
    if (plus === '+') auxiliary.push(found);
    else if (/^\s+primary\s+key/i.test(rest!)) key = found;
    else if (/^\s+partition\s+key/i.test(rest!)) partitions.push(found);
    else metadata.push(found);
  }
  return { name, key, vectors, partitions, metadata, auxiliary };
}

/** The tables of rows of {@link virtualTablesSql}, by their names in lower case. */
export function vectorTablesIn(rows: readonly (readonly unknown[])[]): ReadonlyMap<string, VectorTable> {
  const tables = rows.flatMap(([name, sql]) => vectorTableOf(String(name), String(sql)) ?? []);
  return new Map(tables.map((table) => [table.name.toLowerCase(), table]));
}

/** Matches a vector as text, up to the first number that is not finite. */
const NOT_FINITE_TEXT = /^\s*\[[\s\d.,eE+-]*(?:nan|inf)/i;

/**
 * Checks values that are bound to a statement of `vec0` tables. sqlite-vec would store such a vector, and no search
 * would find it.
 *
 * @throws {SqlRefusal} for a vector with NaN or an infinite number.
 */
export function checkVectors(tables: readonly VectorTable[], values: readonly StoredValue[]): void {
  for (const [index, value] of values.entries()) {
    const refuse = (place: string): never => {
      throw new SqlRefusal('SQLITE_MISMATCH', `value ${index + 1}: a vector has only finite numbers${place}`);
    };
    if (typeof value === 'string') {
      if (NOT_FINITE_TEXT.test(value)) refuse('');
    } else if (value instanceof Uint8Array && tables.some((table) => isFloats(table, value.length))) {
      const numbers = new DataView(value.buffer, value.byteOffset, value.length);
      for (let at = 0; at < value.length; at += 4)
        if (!Number.isFinite(numbers.getFloat32(at, true))) refuse(`, and number ${at / 4 + 1} is none`);
    }
  }
}

/** Whether a blob of this length can only be a vector of floats. */
function isFloats({ vectors, auxiliary }: VectorTable, bytes: number): boolean {
  const alike = vectors.filter((column) => column.bytes === bytes);
  return alike.some(({ type }) => type === 'float') && alike.every(({ type }) => type === 'float')
    ? auxiliary.every(({ type }) => type !== 'blob')
    : false;
}

/** Advice for errors of sqlite-vec, by the first words of the error. */
const advice: readonly (readonly [error: RegExp, advice: string])[] = [
  [/^(?:Only integers are allow|Expected integer for INTEGER .* received FLOAT)/, 'bind a bigint, such as BigInt(id)'],
  [/^Expected 0 or 1 for BOOLEAN/, 'bind 1n or 0n'],
  [/^Expected float for FLOAT .* received INTEGER/, 'bind a number, not a bigint'],
  [/^UNIQUE constraint failed/, '`vec0` cannot replace a row: delete the row before, in the same batch'],
];

/** Adds advice to an error of a statement that uses `vec0` tables. */
export function explainVectors(message: string, chunkBytesMax: number): string {
  if (/^string or blob too big|Could not insert a new vector chunk/.test(message))
    return `${message}: chunk_size vectors have at most ${chunkBytesMax} bytes, and the database and its disk need room for them`;
  const found = advice.find(([error]) => error.test(message));
  return found === undefined ? message : `${message}: ${found[1]}`;
}

/** Adds advice to SQLite's error about a module or function that this machine does not have. */
export function explainMissing(message: string): string {
  return /no such (?:module: vec0|function: vec_|table-valued function: vec_each)/i.test(message)
    ? `${message}: sqlite-vec is not installed here, or has no build for ${process.platform} ${process.arch}`
    : message;
}
