// Spreads work over turns of the event loop, so that no turn takes long when much work arrives at the same time.
// pool.ts has an engine's budget for reading the code of workers that start.

/** Budget of a turn, in milliseconds. */
const TURN_MS = 2;

/** Runs tasks in order: as microtasks until the budget of the turn is used, and the other tasks in later turns. */
export class TurnBudget {
  #tasks: (() => void)[] = [];
  #usedMs = 0;
  #isRenewing = false;
  readonly #renew = (): void => {
    this.#isRenewing = false;
    this.#usedMs = 0;
    if (this.#tasks.length > 0) this.#run();
  };

  /** @param task must not throw. */
  add(task: () => void): void {
    this.#tasks.push(task);
    if (this.#usedMs < TURN_MS) queueMicrotask(() => this.#run());
  }

  #run(): void {
    while (this.#tasks.length > 0 && this.#usedMs < TURN_MS) {
      const began = performance.now();
      this.#tasks.shift()!();
      this.#usedMs += performance.now() - began;
    }
    if (this.#isRenewing) return;
    this.#isRenewing = true;
    setImmediate(this.#renew);
  }
}
