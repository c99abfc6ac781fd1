// The tables of postgres/migrations/ for SQLite files: the same statements in SQLite's dialect, so that each table is
// defined once. Roles, schemas and settings of the server are omitted. Used by stores over a file.
import { readMigrations } from './migrate.ts';

/** A type or an option of Postgres, and its SQLite equivalent. */
const DIALECT: readonly (readonly [RegExp, string])[] = [
  [/^--.*$/gm, ''],
  [/\bbigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY\b/g, 'INTEGER PRIMARY KEY AUTOINCREMENT'],
  [/\bbytea\b/g, 'BLOB'],
  // Byte order, which is SQLite's default.
  [/ COLLATE "C"/g, ''],
  [/ WITH \(autovacuum[^)]*\)/g, ''],
  [/\bCREATE UNLOGGED TABLE\b/g, 'CREATE TABLE'],
];

/**
 * The scripts that create these tables, one for each migration that concerns any of them, in order. An SQLite file
 * stores the number of its last script in `user_version`.
 */
export function sqliteMigrations(tables: readonly string[]): string[] {
  const scripts = readMigrations().map(({ text }) => {
    const translated = DIALECT.reduce((sql, [pattern, word]) => sql.replace(pattern, word), text);
    const statements = translated.split(/;\s*\n/).map((statement) => statement.trim());
    return statements.filter((statement) => tables.includes(tableOf(statement))).join(';\n');
  });
  return scripts.filter((script) => script !== '');
}

/** The table that a statement creates, changes or indexes; empty for any other statement. */
function tableOf(statement: string): string {
  const [, table = '', indexed = ''] =
    /^(?:CREATE TABLE|ALTER TABLE) (\w+)|^CREATE (?:UNIQUE )?INDEX \w+ ON (\w+)/.exec(statement) ?? [];
  return table || indexed;
}
