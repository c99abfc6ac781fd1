// Transactions that drivers begin by a statement, in Node: whatever a `BEGIN` is awaited by is in its transaction, as
// inside a worker. Called by database.ts; knows no SQL beside the words around a transaction.
import type { AsyncLocalStorage } from 'node:async_hooks';
import type { Answer, Call, OpenTransaction } from './connection.ts';

/** What drivers send around a transaction. Longer texts are none of these. */
const control =
  /^\s*(?:(begin)(?:\s+(?:deferred|immediate|exclusive))?|(?:(commit)|end)|(rollback))(?:\s+transaction)?[\s;]*$/i;
const CONTROL_CHARS_MAX = 40;

interface Begun {
  /** Null: it has not begun yet, or is over. */
  calls: OpenTransaction | null;
  /** What it was begun in. */
  readonly outer: Begun | undefined;
}

/** Those of one database. */
export class BegunByStatements {
  readonly #open: () => Promise<OpenTransaction>;
  readonly #storage: AsyncLocalStorage<Begun | undefined>;

  constructor(open: () => Promise<OpenTransaction>) {
    this.#open = open;
    this.#storage = new (process.getBuiltinModule('node:async_hooks').AsyncLocalStorage)();
  }

  /** Takes a call that begins or ends a transaction, or belongs to one; null: it does not. */
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

  /** The one that belongs to the code that runs. */
  #current(): Begun | undefined {
    const found = this.#storage.getStore();
    if (found === undefined || found.calls !== null) return found;
    // Nothing of it runs before it is answered: this is somebody beside it, who is not in it later either.
    let at: Begun | undefined = found;
    while (at !== undefined && at.calls === null) at = at.outer;
    this.#storage.enterWith(at);
    return at;
  }

  async #begin(): Promise<void> {
    const begun: Begun = { calls: null, outer: this.#current() };
    // For the caller, as long as it has not awaited anything.
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
    // After a commit that fails comes a rollback, and what the commit said is what counts.
    if (how === 'commit') await calls!.commit();
    begun.calls = null;
    if (how === 'rollback') await calls!.rollback();
  }
}

/** What a method of a statement gives of no rows. */
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
