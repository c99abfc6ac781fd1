// Writes that wait until their replica has them (DB_REPLICATION=confirm). Changes committed while a request for a
// database is in progress belong to the next request. Used by shard.ts; the parent asks the replicator.

export class Confirmations {
  readonly #ask: (name: string) => void;
  readonly #changes = new Map<string, number>();
  /**
   * By database: the writes that the current request to the replicator confirms, and those that the next request
   * confirms.
   */
  readonly #waiting = new Map<string, { asked: Wait[]; next: Wait[] }>();

  /** @param ask answered by {@link settle}. */
  constructor(ask: (name: string) => void) {
    this.#ask = ask;
  }

  changed(name: string): void {
    this.#changes.set(name, this.changesOf(name) + 1);
  }

  /** Number of changes of a database. */
  changesOf(name: string): number {
    return this.#changes.get(name) ?? 0;
  }

  /** @returns null when everything committed so far is stored; otherwise the reason why the replica may lack it. */
  confirm(name: string): Promise<string | null> {
    const { promise, resolve } = Promise.withResolvers<string | null>();
    const waiting = this.#waiting.get(name);
    if (waiting !== undefined) waiting.next.push(resolve);
    else {
      this.#waiting.set(name, { asked: [resolve], next: [] });
      this.#ask(name);
    }
    return promise;
  }

  settle(name: string, problem: string | null): void {
    const waiting = this.#waiting.get(name);
    if (waiting === undefined) return;
    const { asked, next } = waiting;
    if (next.length === 0) this.#waiting.delete(name);
    else {
      this.#waiting.set(name, { asked: next, next: [] });
      this.#ask(name);
    }
    for (const tell of asked) tell(problem);
  }
}

type Wait = (problem: string | null) => void;
