// Takes turns within this process: work under one key runs one after the other, in the order it came.

/** Runs work in its turn. */
export interface Turns {
  /** Resolves as the work does; what came before it for the key has ended by then, however it ended. */
  inTurn<Result>(key: string, work: () => Promise<Result>): Promise<Result>;
}

export function createTurns(): Turns {
  const last = new Map<string, Promise<unknown>>();
  return {
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
