// Takes turns within this process: work under one key runs one after the other, in the order it came.

/** Runs work in its turn. */
export interface Turns {
  /** Resolves as the work does; what came before it for the key has ended by then, however it ended. */
  inTurn<Result>(key: string, work: () => Promise<Result>): Promise<Result>;
  /** Runs work that holds a connection for as long as it lasts: so many at a time that others are left. */
  holding<Result>(work: () => Promise<Result>): Promise<Result>;
}

const HOLDING_MAX = 4;

export function createTurns(): Turns {
  const last = new Map<string, Promise<unknown>>();
  const waiting: (() => void)[] = [];
  let free = HOLDING_MAX;
  return {
    async holding(work) {
      while (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
      free--;
      try {
        return await work();
      } finally {
        free++;
        waiting.shift()?.();
      }
    },
    async inTurn(key, work) {
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
