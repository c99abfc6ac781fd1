// What waits to enter a durable object: its events while `blockConcurrencyWhile` or the constructor runs, and also
// answers of the host to its code while it waits for its storage. In the order of arrival.
import { currentContext, runInContext } from '../../context.ts';
import { currentInvocation, touch, type InputGate } from '../../invocation.ts';

export class Gate implements InputGate {
  /** Reads of the storage under way. */
  reads = 0;
  /** Sections that run alone. */
  sections = 0;
  #later: (() => void)[] = [];
  #events: (() => void)[] = [];
  #isDraining = false;

  get isClosed(): boolean {
    return this.reads > 0 || this.#later.length > 0;
  }

  later(enter: () => void): void {
    this.#later.push(enter);
  }

  /** Calls it as soon as an event may enter, on the account of the current invocation. */
  enter(event: () => void): void {
    if (this.reads === 0 && this.sections === 0 && this.#events.length === 0 && this.#later.length === 0) {
      event();
      return;
    }
    const context = currentContext();
    const invocation = currentInvocation();
    this.#events.push(() => {
      if (invocation?.over === true) return;
      touch(invocation);
      runInContext(context, event);
    });
  }

  /** Lets in what may enter now. */
  open(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    try {
      while (this.reads === 0) {
        const next = this.#later.shift() ?? (this.sections === 0 ? this.#events.shift() : undefined);
        if (next === undefined) break;
        next();
      }
    } finally {
      this.#isDraining = false;
    }
  }
}
