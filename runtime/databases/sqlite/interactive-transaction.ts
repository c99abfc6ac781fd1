// The interactive transaction of a database: one at a time, on a second connection, so that other requests read the
// committed state in the meantime. Called by database-file.ts, which makes writes wait for its end.
import { randomInt } from 'node:crypto';
import { SqlRefusal } from '#core/database-request.ts';
import type { DatabaseLimits } from '#core/limits.ts';
import type { Connection } from './connection.ts';
import { putIntoOutbox } from './outbox-rows.ts';
import type { Statements } from './statements.ts';

/** Reasons of ended transactions that are kept for late requests. */
const ENDED_KEPT = 64;

interface InteractiveTransactionDeps {
  readonly limits: DatabaseLimits;
  /** The connection of the other requests. */
  readonly main: Connection;
  readonly statements: Statements;
  /** Opens a second connection. */
  connect(): Connection;
  /** Called when a transaction was committed. */
  changed(): void;
  /**
   * Called when a transaction ended without a request: because of its time limit, or because its engine disconnected.
   */
  ended(): void;
}

interface Transaction {
  readonly id: number;
  readonly owner: object;
  readonly timer: NodeJS.Timeout;
  schema: boolean;
  /** Number of messages that the request adds to the outbox. */
  sends: number;
}

export class InteractiveTransaction {
  readonly #deps: InteractiveTransactionDeps;
  /** Opened with the first transaction. */
  #second: Connection | null = null;
  #transaction: Transaction | null = null;
  readonly #ended = new Map<number, string>();

  constructor(deps: InteractiveTransactionDeps) {
    this.#deps = deps;
  }

  get isOpen(): boolean {
    return this.#transaction !== null;
  }

  /** The connection of a request in a transaction. @throws {SqlRefusal} if its transaction has ended. */
  connectionOf(transaction: number, owner: object): Connection {
    if (this.#transaction?.id === transaction && this.#transaction.owner === owner && this.#second !== null)
      return this.#second;
    const why =
      this.#ended.get(transaction) ?? 'it is unknown here, such as after the database was restored: try again';
    throw new SqlRefusal('SQLITE_ABORT', `the transaction has ended: ${why}`);
  }

  /** @returns JSON. */
  begin(owner: object): string {
    const { transactionMs } = this.#deps.limits;
    this.#second ??= this.#deps.connect();
    this.#second.own('BEGIN IMMEDIATE');
    const id = randomInt(1, 2 ** 31);
    const timer = setTimeout(() => {
      this.rollback(`it took longer than DB_TRANSACTION_MS (${transactionMs}) and was rolled back`);
      this.#deps.ended();
    }, transactionMs);
    this.#transaction = { id, owner, timer, schema: false, sends: 0 };
    return `{"t":${id}}`;
  }

  /** @returns JSON. @throws as SQLite; the transaction is then rolled back. */
  commit(connection: Connection): string {
    const { statements } = this.#deps;
    const sends = this.#transaction?.sends ?? 0;
    try {
      connection.own('COMMIT');
    } catch (error) {
      this.rollback(`its commit failed: ${(error as Error).message}`);
      throw error;
    }
    this.#over('it was committed');
    this.#deps.changed();
    return sends === 0 ? `{"m":[${statements.version}]}` : `{"m":[${statements.version}],"o":${sends}}`;
  }

  /** Sends messages with the commit. */
  enqueue(connection: Connection, args: readonly unknown[]): void {
    if (this.#transaction === null || connection !== this.#second)
      throw new SqlRefusal('SQLITE_MISUSE', 'messages are sent in a transaction');
    const count = putIntoOutbox(connection, args, this.#deps.limits);
    this.#deps.statements.touched(connection, false);
    this.#transaction.sends += count;
  }

  /** @param why the reason, for the errors of later requests. */
  rollback(why: string): void {
    const { main, statements } = this.#deps;
    if (this.#second?.inTransaction === true) this.#second.own('ROLLBACK');
    if (this.#transaction?.schema === true) {
      main.forget();
      this.#second?.forget();
    }
    statements.undone(main.bytes);
    this.#over(why);
  }

  #over(why: string): void {
    if (this.#transaction === null) return;
    clearTimeout(this.#transaction.timer);
    this.#ended.set(this.#transaction.id, why);
    if (this.#ended.size > ENDED_KEPT) this.#ended.delete(this.#ended.keys().next().value as number);
    if (this.#transaction.schema) this.#deps.main.forget();
    this.#transaction = null;
  }

  /** Called when a connection changed the schema: both connections drop their compiled statements. */
  schemaChanged(): void {
    this.#deps.main.forget();
    this.#second?.forget();
    if (this.#transaction !== null) this.#transaction.schema = true;
  }

  /** A connection has closed. */
  leave(owner: object): void {
    if (this.#transaction?.owner !== owner) return;
    this.rollback('its engine went away');
    this.#deps.ended();
  }

  /** Closes the second connection. */
  close(): void {
    this.#second?.close();
    this.#second = null;
  }
}
