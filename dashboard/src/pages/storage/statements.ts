// Statements that change rows, and the call that runs one.
import { api, dataOf } from '../../api/client.ts';
import { branchOf, type BindingPlace } from '../../queries/resources.ts';
import { quotedName, type Cell } from './value.tsx';

/** Runs one statement. */
export function runStatement(place: BindingPlace, sql: string, params: readonly Cell[] = []) {
  return dataOf(
    api.post('/projects/:id/databases/:database/query', {
      params: { id: place.id, database: place.binding },
      query: branchOf(place),
      body: { sql, params: [...params] },
    }),
  );
}

/** Changes one column of a row. The parameters of the statement are the new value, then the values of the row's key. */
export function updateOf(table: string, column: string, keyColumns: readonly string[]): string {
  const keys = keyColumns.map((key, at) => `${quotedName(key)} IS ?${at + 2}`).join(' AND ');
  return `UPDATE ${quotedName(table)} SET ${quotedName(column)} = ?1 WHERE ${keys}`;
}

/** Inserts a row. @param values a text for each column: `?1` or a literal. */
export function insertOf(table: string, columns: readonly string[], values: readonly string[]): string {
  if (columns.length === 0) return `INSERT INTO ${quotedName(table)} DEFAULT VALUES`;
  return `INSERT INTO ${quotedName(table)} (${columns.map(quotedName).join(', ')}) VALUES (${values.join(', ')})`;
}
