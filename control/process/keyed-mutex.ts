// A keyed mutex within this process: work under the same key runs one after the other, in order.

/** Serializes work by key. */
export interface KeyedMutex {
  /** Runs work after earlier work of the same key has settled. Settles when the work settles. */
  exclusive<Result>(key: string, work: () => Promise<Result>): Promise<Result>;
  /**
   * Runs work that holds a database connection throughout. Such work is limited, so that connections remain for other
   * work.
   */
  withConnection<Result>(work: () => Promise<Result>): Promise<Result>;
}

const HOLDING_MAX = 4;

export function createKeyedMutex(): KeyedMutex {
  const last = new Map<string, Promise<unknown>>();
  const waiting: (() => void)[] = [];
  let free = HOLDING_MAX;
  return {
    async withConnection(work) {
      while (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
      free--;
      try {
        return await work();
      } finally {
        free++;
        waiting.shift()?.();
      }
    },
    async exclusive(key, work) {
      const before = last.get(key) ?? Promise.resolve();
      const turn = before.then(work, work);
      last.set(key, turn);
      try {
        return await turn;
      } finally {
        if (last.get(key) === turn) last.delete(key);
      }
    },
  };
}
