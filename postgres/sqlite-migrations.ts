// The tables of postgres/migrations/ for SQLite files: the same statements in the words SQLite has, so that each table
// is written down once. Roles, schemas and settings of the server are left out. Used by the stores that keep theirs in
// a file.
import { readMigrations } from './migrate.ts';

/** A type or an option of Postgres, and what SQLite has in its place. */
const DIALECT: readonly (readonly [RegExp, string])[] = [
  [/^--.*$/gm, ''],
  [/\bbigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY\b/g, 'INTEGER PRIMARY KEY AUTOINCREMENT'],
  [/\bbytea\b/g, 'BLOB'],
  // Bytes in order, which is what SQLite compares by.
  [/ COLLATE "C"/g, ''],
  [/ WITH \(autovacuum[^)]*\)/g, ''],
  [/\bCREATE UNLOGGED TABLE\b/g, 'CREATE TABLE'],
];

/**
 * The scripts that make these tables, one for each migration that concerns any of them, in their order. A file counts
 * those it has in `user_version`.
 */
export function sqliteMigrations(tables: readonly string[]): string[] {
  const scripts = readMigrations().map(({ text }) => {
    const translated = DIALECT.reduce((sql, [pattern, word]) => sql.replace(pattern, word), text);
    const statements = translated.split(/;\s*\n/).map((statement) => statement.trim());
    return statements.filter((statement) => tables.includes(tableOf(statement))).join(';\n');
  });
  return scripts.filter((script) => script !== '');
}

/** The table that a statement makes, changes or indexes; empty for any other statement. */
function tableOf(statement: string): string {
  const [, table = '', indexed = ''] =
    /^(?:CREATE TABLE|ALTER TABLE) (\w+)|^CREATE (?:UNIQUE )?INDEX \w+ ON (\w+)/.exec(statement) ?? [];
  return table || indexed;
}
