// The storage of a durable object in its own database: keys and values in a hidden table, tables of the tenant's SQL,
// the alarm, and the fence that locks out an older holder. Writes open a transaction, which a holder keeps over several
// requests. Called by database-file.ts, which schedules it.
import { randomInt } from 'node:crypto';
import { ownTablePrefix, SqlRefusal, type StoredValue } from '#core/database-request.ts';
import type { DatabaseLimits } from '#core/limits.ts';
import { SHUT_OUT, TRANSACTION_GONE, transactionEnds } from '#core/object-storage.ts';
import type { Prepared } from './compiler.ts';
import type { Connection } from './connection.ts';
import { splitStatements } from './sql-text.ts';
import { isBusy, isCorruption, toRefusal } from './sqlite-errors.ts';

const KV = `${ownTablePrefix}object_values`;
const HEAD = `${ownTablePrefix}object`;
const CREATE = `
  CREATE TABLE IF NOT EXISTS ${KV} (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS ${HEAD} (
    id INTEGER PRIMARY KEY CHECK (id = 1), fence INTEGER NOT NULL, alarm INTEGER, name TEXT);
  INSERT OR IGNORE INTO ${HEAD} (id, fence) VALUES (1, 0)`;

/** Maximum depth of nested savepoints, which limits a tenant's recursion. */
const SAVEPOINTS_MAX = 100;

const refusalHead = /^\{"e":/;

const USE_TRANSACTION =
  'to execute a transaction, use state.storage.transaction() or state.storage.transactionSync() instead of ' +
  'BEGIN TRANSACTION or SAVEPOINT';

interface ObjectStorageDeps {
  readonly connection: Connection;
  readonly limits: DatabaseLimits;
  /** Called when the connection has changed the database file. */
  touched(schema: boolean): void;
  /** Called when a transaction was undone. */
  undone(): void;
}

export class ObjectStorage {
  readonly #deps: ObjectStorageDeps;
  #fence = -1;
  /** Number of the open transaction; 0 if none is open. */
  #transaction = 0;
  #savepoints = 0;
  #changed = false;

  constructor(deps: ObjectStorageDeps) {
    this.#deps = deps;
  }

  /** Whether a transaction is open. */
  get isOpen(): boolean {
    return this.#transaction !== 0;
  }

  /**
   * Runs the steps of a request.
   *
   * @returns JSON of core/object-storage.ts.
   * @throws {SqlRefusal} and the errors of SQLite: the open transaction was undone.
   */
  run(args: readonly unknown[]): string {
    const [fence, open, end, steps, name] = args;
    if (!isCount(fence) || fence < 1 || !isCount(open) || !isCount(end) || !Array.isArray(steps))
      throw new SqlRefusal('SQLITE_MISUSE', 'this is not a request for the storage of an object');
    this.#admit(fence, open, typeof name === 'string' ? name : null);
    try {
      let json = '';
      let bytes = 0;
      let isRefused = false;
      for (const step of steps as unknown[]) {
        const result = this.#step(step);
        bytes += result.length;
        isRefused ||= refusalHead.test(result);
        if (bytes > this.#deps.limits.resultBytesMax)
          throw new SqlRefusal(
            'SQLITE_TOOBIG',
            `the result exceeds DB_MAX_RESULT_BYTES (${this.#deps.limits.resultBytesMax})`,
          );
        json += json === '' ? result : `,${result}`;
      }
      if (end === transactionEnds.undo || (end === transactionEnds.commitUnlessRefused && isRefused)) this.undo();
      else if (end !== transactionEnds.stays) this.#commit();
      return `{"t":${this.#transaction},"v":[${json}]}`;
    } catch (error) {
      this.undo();
      throw error;
    }
  }

  /** Rolls back the open transaction of a lost holder. */
  undo(): void {
    if (this.#transaction === 0) return;
    this.#transaction = 0;
    this.#savepoints = 0;
    this.#changed = false;
    const { connection } = this.#deps;
    if (connection.inTransaction) connection.own('ROLLBACK');
    connection.forget();
    this.#deps.undone();
  }

  #admit(fence: number, open: number, name: string | null): void {
    const { connection } = this.#deps;
    if (this.#fence < 0) {
      connection.ownScript(CREATE);
      // Objects of the first version have no name.
      if (connection.own(`SELECT 1 FROM pragma_table_info('${HEAD}') WHERE name = 'name'`).length === 0)
        connection.ownScript(`ALTER TABLE ${HEAD} ADD COLUMN name TEXT`);
      this.#fence = Number(connection.own(`SELECT fence FROM ${HEAD}`)[0]?.[0] ?? 0);
      this.#deps.touched(true);
    }
    if (fence < this.#fence) throw new SqlRefusal(SHUT_OUT, 'another instance of this object has taken over');
    if (fence > this.#fence) {
      this.undo();
      connection.own(`UPDATE ${HEAD} SET fence = ?, name = coalesce(?, name)`, fence, name);
      this.#fence = fence;
    }
    if (open === this.#transaction) return;
    this.undo();
    if (open !== 0) throw new SqlRefusal(TRANSACTION_GONE, 'the open transaction of this object is gone');
  }

  #begin(): void {
    if (this.#transaction !== 0) return;
    this.#deps.connection.own('BEGIN IMMEDIATE');
    this.#transaction = randomInt(1, 2 ** 31);
  }

  #commit(): void {
    if (this.#transaction === 0) return;
    this.#deps.connection.own('COMMIT');
    this.#transaction = 0;
    this.#savepoints = 0;
    if (this.#changed) this.#deps.touched(false);
    this.#changed = false;
  }

  #step(step: unknown): string {
    if (!Array.isArray(step)) throw new SqlRefusal('SQLITE_MISUSE', 'a step is a list');
    const [kind, ...fields] = step as unknown[];
    const { connection } = this.#deps;
    switch (kind) {
      case 'g':
        return JSON.stringify(
          fields.map((key) => connection.own(`SELECT value FROM ${KV} WHERE key = ?`, textOf(key))[0]?.[0] ?? null),
        );
      case 'p':
        this.#change();
        for (let at = 0; at + 1 < fields.length; at += 2)
          connection.own(`INSERT OR REPLACE INTO ${KV} VALUES (?, ?)`, textOf(fields[at]), textOf(fields[at + 1]));
        return 'null';
      case 'd': {
        this.#change();
        let count = 0;
        for (const key of fields)
          count += connection.own(`DELETE FROM ${KV} WHERE key = ? RETURNING 1`, textOf(key)).length;
        return String(count);
      }
      case 'l':
        return this.#list((fields[0] ?? {}) as Readonly<Record<string, unknown>>);
      case 'x':
        this.#change();
        this.#deleteAll(fields[0] === 1);
        return 'null';
      case 'q':
        return this.#query(textOf(fields[0]), fields[1], false);
      case 'Q':
        return this.#query(textOf(fields[0]), [], true);
      case 'v':
        return this.#values((fields[0] ?? {}) as Readonly<Record<string, unknown>>);
      case 'a':
        return JSON.stringify(connection.own(`SELECT alarm FROM ${HEAD}`)[0]?.[0] ?? null);
      case 'A': {
        this.#change();
        const [at] = fields;
        if (at !== null && !isCount(at)) throw new SqlRefusal('SQLITE_MISMATCH', 'the time of an alarm is a number');
        connection.own(`UPDATE ${HEAD} SET alarm = ?`, at);
        return 'null';
      }
      case 's':
      case 'r':
      case 'b':
        return this.#savepoint(kind, fields[0]);
      case 'z':
        return String(connection.bytes);
      default:
        throw new SqlRefusal('SQLITE_MISUSE', 'there is no such step');
    }
  }

  #change(): void {
    this.#begin();
    this.#changed = true;
  }

  #savepoint(kind: 's' | 'r' | 'b', number: unknown): string {
    const { connection } = this.#deps;
    this.#begin();
    if (kind === 's') {
      if (number !== this.#savepoints + 1 || this.#savepoints >= SAVEPOINTS_MAX)
        throw new SqlRefusal('SQLITE_MISUSE', `at most ${SAVEPOINTS_MAX} transactions can be inside each other`);
      connection.ownScript(`SAVEPOINT platform_object_${++this.#savepoints}`);
      return 'null';
    }
    if (!isCount(number) || number < 1 || number > this.#savepoints)
      throw new SqlRefusal('SQLITE_MISUSE', 'there is no such transaction');
    if (kind === 'b') {
      connection.ownScript(`ROLLBACK TO platform_object_${number}`);
      connection.forget();
    }
    connection.ownScript(`RELEASE platform_object_${number}`);
    this.#savepoints = number - 1;
    return 'null';
  }

  #list({ start, startAfter, end, prefix, reverse, limit }: Readonly<Record<string, unknown>>): string {
    const where: string[] = [];
    const values: StoredValue[] = [];
    const add = (condition: string, value: unknown): void => {
      if (value === undefined || value === null) return;
      where.push(condition);
      values.push(textOf(value));
    };
    add('key >= ?', start);
    add('key > ?', startAfter);
    add('key < ?', end);
    if (typeof prefix === 'string' && prefix !== '') {
      add('key >= ?', prefix);
      where.push('substr(key, 1, length(?)) = ?');
      values.push(prefix, prefix);
    }
    const condition = where.length === 0 ? '' : ` WHERE ${where.join(' AND ')}`;
    const most = isCount(limit) && limit > 0 ? limit : -1;
    const { connection, limits } = this.#deps;
    const sql = `SELECT key, value FROM ${KV}${condition} ORDER BY key${reverse === true ? ' DESC' : ''} LIMIT ?`;
    // The bytes are counted before the entries are read, because the caller can list any number of entries.
    const [[bytes] = [0]] = connection.own(
      `SELECT coalesce(sum(length(key) + length(value)), 0) FROM (${sql})`,
      ...values,
      most,
    );
    if (Number(bytes) > limits.resultBytesMax)
      throw new SqlRefusal('SQLITE_TOOBIG', `the list exceeds DB_MAX_RESULT_BYTES (${limits.resultBytesMax})`);
    return JSON.stringify(connection.own(sql, ...values, most));
  }

  /** Keys and the first part of their values, for an operator. */
  #values({ prefix, after, skip, limit, keyBytes, chars }: Readonly<Record<string, unknown>>): string {
    const start = typeof prefix === 'string' ? prefix : '';
    const skipped = isCount(skip) ? skip : 0;
    return JSON.stringify(
      this.#deps.connection.own(
        // By bytes, because text functions stop at the first NUL.
        `SELECT CAST(substr(CAST(key AS BLOB), 1, ?) AS TEXT), octet_length(key), length(value), substr(value, 1, ?)
         FROM ${KV}
         WHERE key >= ? AND substr(key, 1, length(?)) = ? AND key ${skipped > 0 ? '>=' : '>'} ?
         ORDER BY key LIMIT ? OFFSET ?`,
        isCount(keyBytes) ? keyBytes : 0,
        isCount(chars) ? chars : 0,
        start,
        start,
        start,
        typeof after === 'string' ? after : '',
        isCount(limit) ? limit : 0,
        skipped,
      ),
    );
  }

  #deleteAll(withAlarm: boolean): void {
    const { connection } = this.#deps;
    connection.own('PRAGMA defer_foreign_keys = ON');
    // Dropping a virtual table also drops its shadow tables; dropping a table drops its indexes and triggers.
    const kinds = ['trigger', 'view', 'virtual', 'table'];
    for (const kind of kinds) {
      const names = connection
        .own(
          kind === 'virtual'
            ? `SELECT name FROM pragma_table_list WHERE type = 'virtual' AND schema = 'main'`
            : `SELECT name FROM sqlite_schema WHERE type = ? AND name NOT LIKE 'sqlite!_%' ESCAPE '!'`,
          ...(kind === 'virtual' ? [] : [kind]),
        )
        .map(([name]) => String(name))
        .filter((name) => !name.toLowerCase().startsWith(ownTablePrefix));
      for (const name of names)
        connection.ownDefenceless(
          `DROP ${kind === 'virtual' ? 'table' : kind} IF EXISTS "${name.replaceAll('"', '""')}"`,
        );
    }
    connection.own(`DELETE FROM ${KV}`);
    if (withAlarm) connection.own(`UPDATE ${HEAD} SET alarm = NULL`);
    this.#schemaChanged();
  }

  #schemaChanged(): void {
    this.#deps.connection.forget();
    this.#deps.touched(true);
  }

  /**
   * Runs SQL of the tenant, one statement after the other. The values are for the last statement, whose rows are
   * returned.
   */
  #query(sql: string, values: unknown, onlyReads: boolean): string {
    const { connection, limits } = this.#deps;
    const before = this.#totalChanges();
    let schema = false;
    try {
      const many = splitStatements(sql, limits.execStatementsMax);
      if (many.length === 0) return '{"c":[],"r":[],"w":0}';
      let json = '"c":[],"r":[]';
      for (const [index, statement] of many.entries()) {
        const isLast = index === many.length - 1;
        const prepared: Prepared =
          many.length === 1 ? connection.prepare(sql, statement) : connection.compile(statement);
        if (prepared.writes && onlyReads) throw new SqlRefusal('SQLITE_READONLY', 'the statement writes');
        if (prepared.writes) this.#change();
        schema ||= prepared.schema;
        ({ json } = connection.run(prepared, isLast ? values : []));
      }
      return `{${json},"w":${this.#totalChanges() - before}}`;
    } catch (error) {
      if (isCorruption(error) || isBusy(error)) throw error;
      const { code, message } = toRefusal(error);
      // SQLite itself undoes the transaction after some errors, such as of a full disk.
      if (this.#transaction !== 0 && !connection.inTransaction) throw error;
      const said = code === 'SQLITE_AUTH' && /BEGIN, COMMIT/.test(message) ? USE_TRANSACTION : message;
      return JSON.stringify({ e: [code, said] });
    } finally {
      if (schema) this.#schemaChanged();
    }
  }

  #totalChanges(): number {
    return Number(this.#deps.connection.own('SELECT total_changes()')[0]?.[0]);
  }
}

/** The information about an object that operators can read without its lease, as JSON. */
export function lookAtObject(connection: Connection): string {
  connection.hidesOwnTables = true;
  const tables = connection
    .own(`SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')`)
    .map(([name]) => String(name));
  if (!tables.includes(HEAD)) return 'null';
  const [[, , alarm = null, name = null] = []] = connection.own(`SELECT * FROM ${HEAD}`);
  const isEmpty =
    alarm === null &&
    tables.every((table) => table.toLowerCase().startsWith(ownTablePrefix) || table.startsWith('sqlite_')) &&
    connection.own(`SELECT 1 FROM ${KV} LIMIT 1`).length === 0;
  return JSON.stringify({ name, alarm, bytes: connection.bytes, isEmpty });
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw new SqlRefusal('SQLITE_MISMATCH', 'keys, values and SQL are texts');
  return value;
}
