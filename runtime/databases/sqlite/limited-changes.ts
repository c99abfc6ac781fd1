// Rewrites `UPDATE` and `DELETE` with `ORDER BY` and `LIMIT` for a SQLite that was built without them: a subquery
// selects the rows, as in SQLite itself. Used only after such a statement was refused, so that other statements cost no
// more. Pure.
import { SqlRefusal } from '#core/database-request.ts';
import { nextToken, type Token } from './sql-text.ts';

/** Properties of a table that identify its rows. */
interface TableShape {
  /** `table`, `view`, `virtual`, `shadow`. */
  readonly type: string;
  readonly withoutRowid: boolean;
  readonly columns: readonly string[];
  /** Columns of the primary key, in order. */
  readonly key: readonly string[];
}

/** An `UPDATE` or `DELETE` with a limit. */
interface LimitedChange {
  readonly table: string;
  /** The statement without `LIMIT` that changes the same rows. @throws {SqlRefusal} if there is no such statement. */
  spellOut(shape: TableShape): string;
}

/** Selects the rows from which {@link shapeOf} makes the shape of a table; the only parameter is the table's name. */
export const shapeSql =
  "SELECT l.type, l.wr, c.name, c.pk FROM pragma_table_list(?1) AS l, pragma_table_xinfo(?1) AS c WHERE l.schema = 'main' ORDER BY c.cid";

/** The shape of a table, from the rows of {@link shapeSql}; null without rows, because the table does not exist. */
export function shapeOf(rows: readonly (readonly unknown[])[]): TableShape | null {
  const [first] = rows;
  if (first === undefined) return null;
  const key = rows.filter(([, , , place]) => Number(place) > 0).toSorted((a, b) => Number(a[3]) - Number(b[3]));
  return {
    type: String(first[0]),
    withoutRowid: Number(first[1]) === 1,
    columns: rows.map(([, , name]) => String(name)),
    key: key.map(([, , name]) => String(name)),
  };
}

/** Whether a message is SQLite's refusal of these clauses in a build without them. */
export function refusesLimit(message: string): boolean {
  return /near "(?:limit|order)": syntax error/i.test(message);
}

/** Clauses of a statement in their required order. */
const parts = ['SET', 'FROM', 'WHERE', 'RETURNING', 'ORDER', 'LIMIT'] as const;
type Part = (typeof parts)[number];
/** Words that start another clause outside of parentheses: the statement then has another meaning. */
const foreign = new Set([
  'SELECT',
  'VALUES',
  'INSERT',
  'UPDATE',
  'DELETE',
  'UNION',
  'EXCEPT',
  'INTERSECT',
  'GROUP',
  'HAVING',
]);

/**
 * Null if the statement is not an `UPDATE` or `DELETE` with these clauses, or is not valid: SQLite then reports its own
 * error.
 *
 * @throws {SqlRefusal} as SQLite with the option would, and for `UPDATE ... FROM`, where one row may occur several
 * times.
 */
export function limitedChange(sql: string): LimitedChange | null {
  const tokens = tokensOf(sql);
  const wordAt = (index: number): string => {
    const token = tokens[index];
    return token?.kind === 'word' ? sql.slice(token.start, token.end).toUpperCase() : (token?.kind ?? '');
  };
  let at = 0;
  if (wordAt(at) === 'EXPLAIN') at += wordAt(1) === 'QUERY' ? 3 : 1;
  if (wordAt(at) === 'WITH') at = afterTables(tokens, at, wordAt);
  const verb = wordAt(at);
  if (verb === 'UPDATE') at += wordAt(at + 1) === 'OR' ? 3 : 1;
  else if (verb === 'DELETE' && wordAt(at + 1) === 'FROM') at += 2;
  else return null;

  const nameAt = wordAt(at + 1) === '.' ? at + 2 : at;
  const name = nameOf(sql, tokens[nameAt]);
  if (name === null || (nameAt !== at && nameOf(sql, tokens[at])?.toLowerCase() !== 'main')) return null;
  at = nameAt + 1;
  let alias = '';
  if (wordAt(at) === 'AS') {
    const token = tokens[at + 1];
    if (nameOf(sql, token) === null) return null;
    alias = ` AS ${sql.slice(token!.start, token!.end)}`;
    at += 2;
  }
  // Index hints belong to the subquery.
  const hintAt = at;
  if (wordAt(at) === 'INDEXED' && wordAt(at + 1) === 'BY') at += 3;
  else if (wordAt(at) === 'NOT' && wordAt(at + 1) === 'INDEXED') at += 2;

  const found = partsOf(tokens, at, wordAt);
  if (found === null || (verb === 'UPDATE') !== found.has('SET') || (verb === 'DELETE' && found.has('FROM')))
    return null;
  if (!found.has('LIMIT')) {
    if (!found.has('ORDER')) return null;
    throw new SqlRefusal('SQLITE_ERROR', `ORDER BY without LIMIT on ${verb}`);
  }
  if (found.has('FROM'))
    throw new SqlRefusal('SQLITE_ERROR', 'LIMIT is not available for UPDATE ... FROM: choose the rows in a subquery');

  // The order of the clauses changes, so each parameter is written with its number.
  const text = (from: number, to: number): string => (from === to ? '' : numbered(sql, tokens, from, to));
  const part = (name: Part): string => {
    const span = found.get(name);
    return span === undefined ? '' : ` ${text(...span)}`;
  };
  const head = text(0, hintAt);
  const hint = hintAt === at ? '' : ` ${text(hintAt, at)}`;
  return {
    table: name,
    spellOut(shape) {
      const key = keyOf(name, shape);
      const columns = key.join(', ');
      const left = key.length === 1 ? columns : `(${columns})`;
      // A name of the WITH clause may also be the name of the table.
      const source = `main.${quoted(name)}${alias}${hint}`;
      const chosen = `SELECT ${columns} FROM ${source}${part('WHERE')}${part('ORDER')}${part('LIMIT')}`;
      return `${head}${part('SET')} WHERE ${left} IN (${chosen})${part('RETURNING')}`;
    },
  };
}

function tokensOf(sql: string): Token[] {
  const tokens: Token[] = [];
  for (let token = nextToken(sql, 0); token !== null; token = nextToken(sql, token.end)) tokens.push(token);
  while (tokens.at(-1)?.kind === ';') tokens.pop();
  return tokens;
}

/** End of a `WITH` clause. */
function afterTables(tokens: readonly Token[], from: number, wordAt: (index: number) => string): number {
  let depth = 0;
  for (let at = from; at < tokens.length; at++) {
    const word = wordAt(at);
    if (word === '(') depth++;
    else if (word === ')') depth--;
    else if (depth === 0 && foreign.has(word)) return at;
  }
  return tokens.length;
}

/** Token range of each clause; null if the clauses are out of order, or there are other clauses among them. */
function partsOf(
  tokens: readonly Token[],
  from: number,
  wordAt: (index: number) => string,
): Map<Part, [number, number]> | null {
  const found = new Map<Part, [number, number]>();
  let depth = 0;
  let last = -1;
  let open: [number, number] | null = null;
  for (let at = from; at < tokens.length; at++) {
    const word = wordAt(at);
    if (word === '(') depth++;
    else if (word === ')') depth--;
    if (depth < 0 || word === ';') return null;
    if (depth > 0) continue;
    if (foreign.has(word)) return null;
    const index = parts.indexOf(word as Part);
    // `IS DISTINCT FROM` is a comparison.
    if (index === -1 || (word === 'FROM' && wordAt(at - 1) === 'DISTINCT')) {
      if (open === null) return null;
      continue;
    }
    if (index <= last) return null;
    last = index;
    if (open !== null) open[1] = at;
    open = [at, tokens.length];
    found.set(word as Part, open);
  }
  return depth === 0 ? found : null;
}

/** The text of some tokens, with `?` as `?NNN`. */
function numbered(sql: string, tokens: readonly Token[], from: number, to: number): string {
  let highest = 0;
  const names = new Set<string>();
  let text = '';
  let copied = tokens[from]!.start;
  for (let at = 0; at < to; at++) {
    const { kind, start, end } = tokens[at]!;
    if (kind !== 'parameter') continue;
    const given = sql.slice(start, end);
    if (/^\?\d/.test(given)) highest = Math.max(highest, Number(given.slice(1)));
    // A named parameter gets the next number at its first occurrence.
    else if (given === '?' || !names.has(given)) highest++;
    names.add(given);
    if (at < from || given !== '?') continue;
    text += `${sql.slice(copied, start)}?${highest}`;
    copied = end;
  }
  return text + sql.slice(copied, tokens[to - 1]!.end);
}

function nameOf(sql: string, token: Token | undefined): string | null {
  if (token === undefined) return null;
  const text = sql.slice(token.start, token.end);
  if (token.kind === 'word') return text;
  if (token.kind !== 'text' || text.length < 2) return null;
  const quote = text[0]!;
  return quote === '[' ? text.slice(1, -1) : text.slice(1, -1).replaceAll(quote + quote, quote);
}

/** The columns that identify the rows of a table, quoted for SQL. */
function keyOf(table: string, { type, withoutRowid, columns, key }: TableShape): string[] {
  if (type === 'view') throw new SqlRefusal('SQLITE_ERROR', `LIMIT is not available for changes of a view: ${table}`);
  if (withoutRowid) return key.map(quoted);
  const taken = new Set(columns.map((column) => column.toLowerCase()));
  const rowid = ['rowid', '_rowid_', 'oid'].find((name) => !taken.has(name));
  if (rowid !== undefined) return [rowid];
  throw new SqlRefusal('SQLITE_ERROR', `LIMIT is not available for changes of ${table}: its columns hide the rowid`);
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
