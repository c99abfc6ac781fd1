// Runs one compiled statement: binds its values, reads its rows within the limit of a result, and writes them as JSON.
// Called by connection.ts.
import { fromWire, SqlRefusal, toWire, type StoredValue } from '#core/database-request.ts';
import type { Prepared } from './compiler.ts';
import type { OwnStatements } from './own-statements.ts';

/** Result of one statement, without the parts of `meta` that the file adds. */
export interface StatementRun {
  /** `"c":[...],"r":[...]` */
  readonly json: string;
  readonly rowsRead: number;
  readonly changes: number;
  readonly lastRowId: number | bigint;
  readonly changed: boolean;
}

/** Runs a statement; a read-only statement ends after `rowsMax` rows. @param bytesMax limit of its result. */
export function execute(
  own: OwnStatements,
  prepared: Prepared,
  values: readonly StoredValue[],
  rowsMax: number,
  bytesMax: number,
): StatementRun {
  if (prepared.columnCount > 0) {
    if (!prepared.exact) {
      try {
        return rowsOf(own, prepared, values, rowsMax, bytesMax);
      } catch (error) {
        if ((error as { code?: unknown }).code !== 'ERR_OUT_OF_RANGE') throw error;
        // An integer is beyond 2^53, so the rows are read again exactly, also in later runs.
        prepared.exact = true;
        prepared.statement.setReadBigInts(true);
      }
    }
    return rowsOf(own, prepared, values, prepared.writes ? Infinity : rowsMax, bytesMax);
  }
  if (!prepared.writes) {
    prepared.statement.run(...values);
    return { json: '"c":[],"r":[]', rowsRead: 0, changes: 0, lastRowId: 0, changed: false };
  }
  const before = totalChanges(own);
  const { changes, lastInsertRowid } = prepared.statement.run(...values);
  // After a change of the schema, SQLite still has the change count of the previous statement.
  const changed = totalChanges(own) !== before;
  return {
    json: '"c":[],"r":[]',
    rowsRead: 0,
    changes: changed ? Number(changes) : 0,
    lastRowId: lastInsertRowid,
    changed: changed || prepared.schema,
  };
}

/**
 * The values that a request binds. @throws {SqlRefusal} if their number differs from that of the statement's
 * parameters.
 */
export function valuesOf(prepared: Prepared, wireValues: unknown): StoredValue[] {
  if (!Array.isArray(wireValues)) throw new SqlRefusal('SQLITE_MISUSE', 'the values of a statement must be a list');
  if (wireValues.length !== prepared.parameters) {
    const given = `the statement has ${prepared.parameters}, ${wireValues.length} given`;
    throw new SqlRefusal('SQLITE_ERROR', `Wrong number of parameter bindings for SQL query: ${given}`);
  }
  const values: StoredValue[] = [];
  for (const value of wireValues)
    values.push(typeof value === 'string' || typeof value === 'number' ? value : fromWire(value));
  return values;
}

function rowsOf(
  own: OwnStatements,
  prepared: Prepared,
  values: readonly StoredValue[],
  rowsMax: number,
  bytesMax: number,
): StatementRun {
  const { statement, writes } = prepared;
  let { columnCount } = prepared;
  const before = writes ? totalChanges(own) : 0;
  const rows: unknown[][] = [];
  let bytes = 0;
  for (const found of ended(statement.iterate(...values))) {
    const row = found as unknown as unknown[];
    if (row.length !== columnCount) columnCount = describe(prepared);
    for (let index = 0; index < columnCount; index++) {
      const value = row[index];
      if (typeof value === 'string') bytes += value.length;
      else if (typeof value === 'number') {
        if (!Number.isFinite(value) || Object.is(value, -0)) row[index] = toWire(value);
      } else if (value !== null) {
        if (typeof value === 'object') bytes += (value as Uint8Array).length;
        row[index] = toWire(value as StoredValue);
      }
    }
    bytes += 8 * columnCount;
    if (bytes > bytesMax) throw new SqlRefusal('SQLITE_TOOBIG', `the result exceeds DB_MAX_RESULT_BYTES (${bytesMax})`);
    rows.push(row);
    if (rows.length >= rowsMax) break;
  }
  const changed = writes && totalChanges(own) !== before;
  const [changes, lastRowId] = changed ? (own.run('SELECT changes(), last_insert_rowid()')[0] as number[]) : [0, 0];
  return {
    json: `"c":${prepared.columns},"r":${JSON.stringify(rows)}`,
    rowsRead: rows.length,
    changes: changes as number,
    lastRowId: lastRowId as number,
    changed: changed || prepared.schema,
  };
}

function totalChanges(own: OwnStatements): unknown {
  return own.run('SELECT total_changes()')[0]?.[0];
}

/**
 * Iterates the rows of a statement and always finalizes it: a statement that fails halfway because of a lock would stay
 * open and prevent commits on its connection.
 */
function* ended<Row>(rows: Iterator<Row>): Generator<Row> {
  try {
    for (let next = rows.next(); next.done !== true; next = rows.next()) yield next.value;
  } finally {
    rows.return?.();
  }
}

/** Reads the columns again, because another process changed the schema. */
function describe(prepared: Prepared): number {
  const columns = prepared.statement.columns().map((column) => column.name);
  prepared.columns = JSON.stringify(columns);
  prepared.columnCount = columns.length;
  return columns.length;
}
