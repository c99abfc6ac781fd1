// Transactions that drivers begin with a statement, in Node: the code that awaits a `BEGIN` is in its transaction, as
// inside a worker (runtime/engine/guest/bindings/database/begun.ts in the repository). Called by database.ts.
import type { AsyncLocalStorage } from 'node:async_hooks';
import type { Answer, Call, OpenTransaction } from './connection.ts';

/** Statements that begin or end a transaction. Longer texts are not tested. */
const control =
  /^\s*(?:(begin)(?:\s+(?:deferred|immediate|exclusive))?|(?:(commit)|end)|(rollback))(?:\s+transaction)?[\s;]*$/i;
const CONTROL_CHARS_MAX = 40;

interface Begun {
  /** The open transaction; null before its BEGIN has returned and after its end. */
  calls: OpenTransaction | null;
  /** The outer transaction, in which the BEGIN of this transaction was sent. */
  readonly outer: Begun | undefined;
}

/** Transactions of one database begun by statements. */
export class BegunByStatements {
  readonly #open: () => Promise<OpenTransaction>;
  readonly #storage: AsyncLocalStorage<Begun | undefined>;

  constructor(open: () => Promise<OpenTransaction>) {
    this.#open = open;
    this.#storage = new (process.getBuiltinModule('node:async_hooks').AsyncLocalStorage)();
  }

  /** Runs a call that begins or ends a transaction, or belongs to one; null for all other calls. */
  take(call: Call): Promise<Answer> | null {
    const [sql] = call.args;
    const isShort = call.method === 'prepare' && typeof sql === 'string' && sql.length <= CONTROL_CHARS_MAX;
    const said = isShort ? control.exec(sql) : null;
    if (said === null) return this.#inside(call);
    const done = said[1] !== undefined ? this.#begin() : this.#end(said[3] === undefined ? 'commit' : 'rollback');
    return done.then(() => ({ result: nothing(call.next?.at(-1)?.method) }));
  }

  #inside(call: Call): Promise<Answer> | null {
    const calls = this.#current()?.calls;
    return calls == null ? null : calls.call(call).then((result) => ({ result }));
  }

  /** The transaction to which the calling code belongs. */
  #current(): Begun | undefined {
    const found = this.#storage.getStore();
    if (found === undefined || found.calls !== null) return found;
    // The transaction's own code is waiting for the BEGIN, so the caller is concurrent code, which leaves the
    // transaction permanently.
    let at: Begun | undefined = found;
    while (at !== undefined && at.calls === null) at = at.outer;
    this.#storage.enterWith(at);
    return at;
  }

  async #begin(): Promise<void> {
    const begun: Begun = { calls: null, outer: this.#current() };
    // Enters the transaction for the caller, which has not awaited anything yet.
    this.#storage.enterWith(begun);
    begun.calls = await this.#open();
  }

  async #end(how: 'commit' | 'rollback'): Promise<void> {
    const begun = this.#current();
    if (begun === undefined) {
      const text = `cannot ${how} - no transaction is active: SQLITE_ERROR`;
      throw Object.assign(new Error(`D1_ERROR: ${text}`, { cause: new Error(text) }), { code: 'SQLITE_ERROR' });
    }
    const { calls } = begun;
    // After a failed commit, the transaction stays current: drivers send ROLLBACK next, which must not fail.
    if (how === 'commit') await calls!.commit();
    begun.calls = null;
    if (how === 'rollback') await calls!.rollback();
  }
}

/** The result of a statement's method, without rows. */
function nothing(method: string | undefined): unknown {
  if (method === 'raw') return [];
  if (method === 'first') return null;
  const meta = {
    served_by: 'shard-0',
    duration: 0,
    changes: 0,
    last_row_id: 0,
    changed_db: false,
    size_after: 0,
    rows_read: 0,
    rows_written: 0,
  };
  return { success: true, meta, results: [] };
}
