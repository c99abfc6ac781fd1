// What waits to enter a durable object: its events while `blockConcurrencyWhile` or the constructor runs, and also
// answers of the host to its code while it waits for its storage. In the order of arrival, each after all that the one
// before did at once: dispatch.ts looks between two tasks (object-records.ts).
import { currentContext, runInContext } from '../../context.ts';
import { currentInvocation, touch, type InputGate } from '../../invocation.ts';
import { lookAtGates } from '../../object-records.ts';

/** Gates that may have something to let in. */
let changed: Gate[] = [];

export class Gate implements InputGate {
  /** Reads of the storage under way. */
  reads = 0;
  /** Sections that run alone. */
  sections = 0;
  #later: (() => void)[] = [];
  #events: (() => void)[] = [];
  #isChanged = false;
  /** Whether the code that runs belongs to a section that runs alone, and what it asked for enters it. */
  readonly #isInside: () => boolean;

  constructor(isInside: () => boolean) {
    this.#isInside = isInside;
  }

  get isClosed(): boolean {
    return this.reads > 0 || this.#isChanged || this.#later.length > 0;
  }

  later(enter: () => void): void {
    this.#later.push(enter);
  }

  /** Calls it as soon as an event may enter, on the account of the current invocation. */
  enter(event: () => void): void {
    const isFree = this.reads === 0 && !this.#isChanged && this.#later.length === 0;
    if (isFree && (this.#isInside() || (this.sections === 0 && this.#events.length === 0))) {
      event();
      return;
    }
    const context = currentContext();
    const invocation = currentInvocation();
    const line = this.#isInside() ? this.#later : this.#events;
    line.push(() => {
      if (invocation?.over === true) return;
      touch(invocation);
      runInContext(context, event);
    });
  }

  /** It may be open now: lets in what waits once the code that has run has done all that it does at once. */
  open(): void {
    if (this.#isChanged) return;
    this.#isChanged = true;
    changed.push(this);
  }

  /** Lets one in. @returns whether there was one. */
  next(): boolean {
    this.#isChanged = false;
    if (this.reads > 0) return false;
    const next = this.#later.shift() ?? (this.sections === 0 ? this.#events.shift() : undefined);
    if (next === undefined) return false;
    this.open();
    next();
    return true;
  }
}

lookAtGates(() => {
  const gates = changed;
  changed = [];
  let hasEntered = false;
  for (const gate of gates) hasEntered = gate.next() || hasEntered;
  return hasEntered;
});
