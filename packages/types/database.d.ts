// SQL databases: `db` in platform.yaml.
import type { QueueBinding, QueueSendOptions } from './queue.d.ts';

/**
 * A value that SQLite stores: booleans become 0 and 1, bytes (also an array of numbers below 256) a blob, `undefined`
 * is refused. Numbers are bound as REAL, which columns of INTEGER type store as integers; a bigint is bound as
 * INTEGER.
 */
export type SqlValue = string | number | bigint | boolean | null | ArrayBuffer | ArrayBufferView | readonly number[];

/**
 * A row as an object by column name. Blobs are arrays of numbers; integers are numbers, and bigints beyond 2^53.
 */
export type SqlRow = Record<string, unknown>;

/** Cost and changes of a statement. */
export interface DatabaseMeta {
  /** Milliseconds the statement took. */
  readonly duration: number;
  /** Rows returned. */
  readonly rows_read: number;
  /** Rows changed. */
  readonly rows_written: number;
  /** Rows changed. */
  readonly changes: number;
  /** Row id of the last INSERT. */
  readonly last_row_id: number;
  readonly changed_db: boolean;
  /** Bytes of the database afterwards. */
  readonly size_after: number;
  /** The process that answered. */
  readonly served_by?: string;
}

/** Result of a statement. */
export interface DatabaseResult<Row = SqlRow> {
  readonly results: Row[];
  readonly success: true;
  readonly meta: DatabaseMeta & Record<string, unknown>;
}

/** A prepared statement; reusable, and not changed by `bind`. */
export interface DatabaseStatement {
  /** The statement with values for its `?` parameters. */
  bind(...values: SqlValue[]): DatabaseStatement;
  /** All rows. */
  all<Row = SqlRow>(): Promise<DatabaseResult<Row>>;
  /** The same as `all`; for statements that return no rows. */
  run<Row = SqlRow>(): Promise<DatabaseResult<Row>>;
  /** The first row, or null. */
  first<Row = SqlRow>(): Promise<Row | null>;
  /** One column of the first row; null when there is no row. @throws when there is no such column. */
  first<Value = unknown>(column: string): Promise<Value | null>;
  /** Rows as arrays, the column names first. */
  raw<Row extends unknown[] = unknown[]>(options: { columnNames: true }): Promise<[string[], ...Row[]]>;
  /** Rows as arrays. */
  raw<Row extends unknown[] = unknown[]>(options?: { columnNames?: false }): Promise<Row[]>;
}

/** An interactive transaction, which waits for the worker between its statements. */
export interface DatabaseTransaction {
  prepare(sql: string): DatabaseStatement;
  /** Runs all statements or none; an error restores the state before them. */
  batch<Row = SqlRow>(statements: DatabaseStatement[]): Promise<DatabaseResult<Row>[]>;
  exec(sql: string): Promise<{ count: number; duration: number }>;
  /**
   * Sends a message if and only if the transaction commits: it is in the queue shortly afterwards, once. `messageId` is
   * the message's id, unless its `dedupeId` is already known when it reaches the queue.
   *
   * @throws as `queue.send`; `D1_ERROR: ... SQLITE_FULL` when too many messages wait to be moved to their queues.
   * @example await env.DB.transaction(async (tx) => {
   *   await tx.prepare('INSERT INTO orders (id, mail) VALUES (?, ?)').bind(id, mail).run();
   *   await tx.send(env.MAIL, { to: mail, order: id }); });
   */
  send<Payload>(
    queue: QueueBinding<Payload>,
    payload: Payload,
    options?: QueueSendOptions,
  ): Promise<{ messageId: string }>;
  /**
   * Sends up to 100 messages, all or none, if and only if the transaction commits; works like `send` and
   * `queue.sendBatch`.
   *
   * @example await tx.sendBatch(env.MAIL, guests.map((guest) => ({ payload: { to: guest } })));
   */
  sendBatch<Payload>(
    queue: QueueBinding<Payload>,
    messages: Iterable<({ payload: Payload } | { body: Payload }) & QueueSendOptions>,
    options?: QueueSendOptions,
  ): Promise<{ messageIds: string[] }>;
}

/** A view of the database that never goes back behind a state it has seen. */
export interface DatabaseSession {
  prepare(sql: string): DatabaseStatement;
  batch<Row = SqlRow>(statements: DatabaseStatement[]): Promise<DatabaseResult<Row>[]>;
  /** Position of the session, for `withSession` of a later request; null before its first statement. */
  getBookmark(): string | null;
}

/** A SQL database (`db` in platform.yaml), SQLite. */
export interface Database {
  /**
   * Prepares a statement.
   *
   * @example const { results } = await env.DB.prepare('SELECT * FROM users WHERE id = ?').bind(7).all();
   */
  prepare(sql: string): DatabaseStatement;
  /** Runs statements atomically in one transaction; the results are in the same order. */
  batch<Row = SqlRow>(statements: DatabaseStatement[]): Promise<DatabaseResult<Row>[]>;
  /** Runs SQL text with any number of statements, without parameters: for schemas, not for user input. */
  exec(sql: string): Promise<{ count: number; duration: number }>;
  /** The whole database as a SQLite file. */
  dump(): Promise<ArrayBuffer>;
  /**
   * Runs `work` in a transaction: commits and returns its result, or rolls back if it throws. Use `tx` in the callback:
   * other writes wait until it ends, including those of `env.DB` in the same worker. The transaction can take 5
   * seconds.
   *
   * @throws `D1_ERROR: ... SQLITE_ABORT` when it took longer, `SQLITE_BUSY` when another transaction held the database
   * for 10 seconds.
   * @example await env.DB.transaction(async (tx) => {
   *   const read = 'SELECT balance FROM accounts WHERE id = ?';
   *   const balance = await tx.prepare(read).bind(from).first<number>('balance');
   *   if (balance === null || balance < amount) throw new Error('Not enough');
   *   await tx.prepare('UPDATE accounts SET balance = balance - ? WHERE id = ?').bind(amount, from).run();
   *   await tx.prepare('UPDATE accounts SET balance = balance + ? WHERE id = ?').bind(amount, to).run(); });
   */
  transaction<Result>(work: (tx: DatabaseTransaction) => Promise<Result> | Result): Promise<Result>;
  /** A session that starts at a bookmark, or by a constraint. */
  withSession(start?: 'first-primary' | 'first-unconstrained' | (string & {})): DatabaseSession;
}
