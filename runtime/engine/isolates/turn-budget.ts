// Spreads work over turns of the event loop, so that no turn is long while much of it arrives at once. pool.ts has the
// budget of an engine for reading the code of workers that start.

/** Milliseconds of a turn. */
const TURN_MS = 2;

/** Runs tasks in their order: at once, as microtasks, until a turn's budget is used, the others in turns after it. */
export class TurnBudget {
  #tasks: (() => void)[] = [];
  #usedMs = 0;
  #isRenewing = false;
  readonly #renew = (): void => {
    this.#isRenewing = false;
    this.#usedMs = 0;
    if (this.#tasks.length > 0) this.#run();
  };

  /** @param task may not throw. */
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
