// Requests for the storage of a durable object as JSON, between the engine and the database service. The steps are
// written by the guest half (runtime/engine/guest/lazy/objects/), which has its own copy of the names. Pure.

/** The operation on the database of an object; its number is sent. */
export const objectOps = {
  /**
   * `[fence, open, end, steps, name?]` -> `{t, v}`, or a refusal that undid the open transaction. `fence`: number of
   * the holder, at least 1. A holder with a larger number permanently locks out all others. `open`, `t`: number of the
   * transaction that the holder has open before and afterwards, 0 for none. `end`: of {@link transactionEnds}. `v`: a
   * result of each step, or the refusal of its statement as `{e: [code, message]}`. `name`: the object's, kept with the
   * first request of a holder.
   *
   * A step is a list. Keys are texts, values JSON texts.
   *
   * - `g` keys -> the value or null of each
   * - `p` key, value, ... -> null
   * - `d` keys -> how many there were
   * - `l` `{start?, startAfter?, end?, prefix?, reverse?, limit?}` -> `[key, value][]`
   * - `x` -> null: deletes everything, the alarm too if the second field is 1
   * - `q` SQL, values -> `{c, r, w}`: columns, rows, rows written; `Q` the same for SQL that only reads
   * - `v` `{prefix?, after?, skip?, limit, keyBytes, chars}` -> `[key, bytes, size, value][]`: keys and values are cut.
   *   `skip`: how many keys to leave out that begin with `after`
   * - `a` -> the time of the alarm or null; `A` time or null -> null
   * - `s`, `r`, `b` number -> null: begins, keeps and undoes a savepoint
   * - `z` -> bytes of the database
   */
  steps: 13,
  /** Describes an object, without a lease: `[]` -> `{name, alarm, bytes, isEmpty}`, or null if there is no data. */
  look: 14,
} as const;

/** How the transaction continues after the steps. */
export const transactionEnds = { stays: 0, commit: 1, undo: 2, commitUnlessRefused: 3 } as const;

/** Code of the refusal when there is a newer holder. */
export const SHUT_OUT = 'OBJECT_SHUT_OUT';
/** Code of the refusal when the open transaction has ended. */
export const TRANSACTION_GONE = 'OBJECT_TRANSACTION_GONE';
