// Transactions that database drivers begin with a statement: the code that awaits a `BEGIN` is in the transaction
// (docs/decisions/117-transactions-begun-by-statements.md). packages/dev/begun.ts does the same in Node.
import { failure } from './errors.ts';
import { ops, type WireResult } from './wire.ts';

/** Statements that begin or end a transaction. Longer texts are not tested. */
const control =
  /^\s*(?:(begin)(?:\s+(?:deferred|immediate|exclusive))?|(?:(commit)|end)|(rollback))(?:\s+transaction)?[\s;]*$/i;
const CONTROL_CHARS_MAX = 40;

/** A transaction begun by a statement. */
export interface Begun {
  /** Id of the transaction; 0 before its BEGIN has returned and after its end. */
  transaction: number;
  /** The transaction in which its BEGIN was sent. */
  readonly outer: Begun | undefined;
}

/** Carries the transaction through a chain of `await`. */
interface Storage {
  getStore(): Begun | undefined;
  enterWith(begun: Begun | undefined): void;
}

type Ask = (op: number, args: readonly unknown[], transaction: number) => Promise<unknown>;

/** Returns a new object for each statement, because the caller may change its lists. */
const nothing = (): WireResult => ({ c: [], r: [], m: [0, 0, 0, 0, 0, 0, 0, 0, 0] });

/** Transactions of a database begun by statements: the code that awaits a `BEGIN` is in its transaction. */
export class BegunByStatements {
  readonly #storage: Storage;
  readonly #ask: Ask;

  constructor(storage: Storage, ask: Ask) {
    this.#storage = storage;
    this.#ask = ask;
  }

  /** The transaction of the current code. */
  current(): Begun | undefined {
    const found = this.#storage.getStore();
    if (found === undefined || found.transaction !== 0) return found;
    // The transaction's own code is still waiting for the BEGIN. So this is concurrent code, which is not in the
    // transaction from now on.
    let at: Begun | undefined = found;
    while (at !== undefined && at.transaction === 0) at = at.outer;
    this.#storage.enterWith(at);
    return at;
  }

  /** Runs a statement that begins or ends a transaction; null for any other statement. */
  run(sql: string): Promise<WireResult> | null {
    const said = sql.length <= CONTROL_CHARS_MAX ? control.exec(sql) : null;
    if (said === null) return null;
    return said[1] !== undefined ? this.#begin() : this.#end(said[3] === undefined ? 'commit' : 'rollback');
  }

  async #begin(): Promise<WireResult> {
    const begun: Begun = { transaction: 0, outer: this.current() };
    // Enters the transaction for the caller, which has not awaited anything yet.
    this.#storage.enterWith(begun);
    begun.transaction = ((await this.#ask(ops.begin, [], 0)) as { t: number }).t;
    return nothing();
  }

  async #end(how: 'commit' | 'rollback'): Promise<WireResult> {
    const begun = this.current();
    if (begun === undefined) throw failure('D1_ERROR', 'SQLITE_ERROR', `cannot ${how} - no transaction is active`);
    const { transaction } = begun;
    // After a failed commit, the transaction stays current: drivers send ROLLBACK next, which must not fail.
    if (how === 'commit') await this.#ask(ops.commit, [], transaction);
    begun.transaction = 0;
    if (how === 'rollback')
      await this.#ask(ops.rollback, [], transaction).catch((error: { code?: string }) => {
        if (error.code !== 'SQLITE_ABORT') throw error;
      });
    return nothing();
  }
}
