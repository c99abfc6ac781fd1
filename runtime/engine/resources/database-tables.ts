// Operations on the tables of a database: their columns, pages of rows, single values.
import { PlatformError } from '#core/errors.ts';
import { OWN_STATEMENT, type DescribedTable, type TableColumn } from '#core/resource-call/databases.ts';
import { invalid, toName, toWhole } from '../bindings/arguments.ts';
import { query, ROWS_MAX, toText } from './database-scope.ts';
import type { OperationsOf, RequestScope } from './request-scope.ts';

const TABLES_MAX = 1000;
/** Maximum size of a value in a page of rows. */
const CELL_CHARS_MAX = 1000;
/** Selects all tables and views, except those in which the module `vec0` stores its vectors. */
const TABLES = `SELECT name, type, sql FROM sqlite_master AS s WHERE type IN ('table', 'view')
  AND name NOT LIKE 'sqlite@_%' ESCAPE '@' AND name NOT LIKE 'platform@_internal@_%' ESCAPE '@'
  AND NOT EXISTS (SELECT 1 FROM sqlite_master AS v WHERE v.sql LIKE '%USING vec0(%'
    AND substr(s.name, 1, length(v.name) + 1) = v.name || '_' AND (
      substr(s.name, length(v.name) + 2) IN ('info', 'chunks', 'rowids', 'auxiliary')
      OR substr(s.name, length(v.name) + 2) GLOB 'vector_chunks[0-9][0-9]'
      OR substr(s.name, length(v.name) + 2) GLOB 'metadata[ct]*[0-9][0-9]'))`;

export const tableOperations = {
  async 'db.tables'(scope) {
    return tables(scope);
  },
  async 'db.rows'(scope) {
    const { args } = scope;
    const table = await tableOf(scope);
    const limit = toWhole(args['limit'], 'limit', { least: 1, most: ROWS_MAX, otherwise: 100 });
    const offset = toWhole(args['offset'], 'offset', { least: 0, most: Number.MAX_SAFE_INTEGER, otherwise: 0 });
    const names = table.columns.map(({ name }) => name);
    const key = keyOf(table);
    const order = args['order'] == null ? null : columnOf(table, args['order']);
    const search = args['search'] == null || args['search'] === '' ? null : toText(args['search'], 'search');
    const where =
      search === null
        ? ''
        : ` WHERE instr(lower(CAST(${quoted(columnOf(table, args['column']))} AS TEXT)), lower(?1)) > 0`;
    const given = search === null ? [] : [search];
    const from = ` FROM ${quoted(table.name)}${where}`;
    const ordered = order === null ? '' : ` ORDER BY ${quoted(order)}${args['descending'] === true ? ' DESC' : ''}`;
    const counted = await query(scope, `${OWN_STATEMENT}SELECT count(*)${from}`, given);
    const selected = [
      ...key.map(quoted),
      ...names.map((name) => shortened(quoted(name))),
      ...names.map((name) => lengthOf(quoted(name))),
    ];
    const { r } = await query(
      scope,
      `${OWN_STATEMENT}SELECT ${selected.join(', ')}${from}${ordered} LIMIT ${limit} OFFSET ${offset}`,
      given,
    );
    const width = names.length;
    return {
      table,
      total: Number(counted.r[0]?.[0] ?? 0),
      key,
      keys: r.map((row) => row.slice(0, key.length)),
      rows: r.map((row) =>
        row.slice(key.length, key.length + width).map((value, at) => {
          const bytes = row[key.length + width + at];
          return typeof bytes !== 'number'
            ? value
            : { cut: bytes, ...(typeof value === 'string' ? { t: value } : (value as object)) };
        }),
      ),
    };
  },
  async 'db.cell'(scope) {
    const table = await tableOf(scope);
    const column = columnOf(table, scope.args['column']);
    const names = keyOf(table);
    const { key } = scope.args;
    if (!Array.isArray(key) || key.length === 0 || key.length !== names.length)
      throw invalid(`key must be the ${names.length} values of ${names.join(', ') || 'a key, which the table lacks'}`);
    const where = names.map((name, at) => `${quoted(name)} IS ?${at + 1}`).join(' AND ');
    const { r } = await query(
      scope,
      `${OWN_STATEMENT}SELECT ${quoted(column)} FROM ${quoted(table.name)} WHERE ${where}`,
      key,
    );
    if (r.length === 0) throw new PlatformError('dashboard_not_found', { reason: 'The row no longer exists' });
    return { value: r[0]![0] };
  },
} satisfies Partial<OperationsOf<'db'>>;

interface Described {
  readonly tables: readonly DescribedTable[];
  /** Size of the database. */
  readonly bytes: number;
}

async function tables(scope: RequestScope): Promise<Described> {
  try {
    return await describe(scope);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    // If the table of a view was dropped, the view has no columns, and the statement for all tables fails.
    const { r, m } = await query(scope, `${OWN_STATEMENT}${TABLES} ORDER BY name LIMIT ${TABLES_MAX}`);
    const found: DescribedTable[] = [];
    for (const [name, type, sql] of r) {
      const one = await describe(scope, String(name)).catch((refusal: unknown) => {
        if (!isRefusal(refusal)) throw refusal;
        return { tables: [] };
      });
      found.push(one.tables[0] ?? toTable(name, type, sql));
    }
    return { tables: found, bytes: m[6] };
  }
}

function isRefusal(error: unknown): boolean {
  return (error as { readonly code?: unknown }).code === 'invalid_argument';
}

function toTable(name: unknown, type: unknown, sql: unknown): DescribedTable & { columns: TableColumn[] } {
  return { name: String(name), type: type as DescribedTable['type'], sql: String(sql ?? ''), columns: [] };
}

/** Lists all tables with their columns, or one table. */
async function describe(scope: RequestScope, name: string | null = null): Promise<Described> {
  const wanted = name === null ? '' : ' AND name = ?1';
  const { r, m } = await query(
    scope,
    `${OWN_STATEMENT}SELECT t.name, t.type, t.sql, c.name, c.type, c."notnull", c.pk FROM (${TABLES}${wanted} ORDER BY name LIMIT ${TABLES_MAX}) t
     JOIN pragma_table_info(t.name) c ORDER BY t.name, c.cid`,
    name === null ? [] : [name],
    TABLES_MAX * 100,
  );
  const found = new Map<string, DescribedTable & { columns: TableColumn[] }>();
  for (const [table, type, sql, column, declared, notNull, key] of r) {
    const text = String(table);
    let one = found.get(text);
    if (one === undefined) found.set(text, (one = toTable(table, type, sql)));
    one.columns.push({
      name: String(column),
      type: String(declared ?? ''),
      notNull: notNull === 1,
      primaryKey: Number(key),
    });
  }
  return { tables: [...found.values()], bytes: m[6] };
}

async function tableOf(scope: RequestScope): Promise<DescribedTable> {
  const name = toName(scope.args['table'], 'The name of the table', 256);
  const {
    tables: [found],
  } = await describe(scope, name);
  if (found === undefined)
    throw new PlatformError('dashboard_not_found', { reason: `The database has no table ${name.slice(0, 100)}` });
  return found;
}

function columnOf({ name: table, columns }: DescribedTable, name: unknown): string {
  const found = columns.find((column) => column.name === name);
  if (found === undefined) throw invalid(`The table ${table} has no column ${String(name).slice(0, 100)}`);
  return found.name;
}

/** The columns that identify a row: SQLite's rowid for a table without a key. */
function keyOf({ type, columns }: DescribedTable): string[] {
  if (type === 'view') return [];
  const declared = columns.filter(({ primaryKey }) => primaryKey > 0);
  if (declared.length > 0)
    return declared.toSorted((one, other) => one.primaryKey - other.primaryKey).map(({ name }) => name);
  return columns.some(({ name }) => name.toLowerCase() === 'rowid') ? [] : ['rowid'];
}

function shortened(column: string): string {
  return `CASE WHEN typeof(${column}) IN ('text', 'blob') THEN substr(${column}, 1, ${CELL_CHARS_MAX}) ELSE ${column} END`;
}

/** The byte length of a value that is too long. */
function lengthOf(column: string): string {
  return `CASE WHEN typeof(${column}) IN ('text', 'blob') AND length(${column}) > ${CELL_CHARS_MAX} THEN length(CAST(${column} AS BLOB)) END`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
