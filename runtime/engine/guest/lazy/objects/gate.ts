// The queue in front of a durable object: events wait while `blockConcurrencyWhile` or the constructor runs; responses
// of the host wait while the object's code waits for its storage. Events enter in order of arrival, each after the
// synchronous work of the previous one: dispatch.ts checks between two tasks (object-records.ts).
import { currentContext, runInContext } from '../../context.ts';
import { currentInvocation, touch, type InputGate } from '../../invocation.ts';
import { lookAtGates } from '../../object-records.ts';

/** Gates that may be able to admit waiting work. */
let changed: Gate[] = [];

export class Gate implements InputGate {
  /** Number of storage reads in progress. */
  reads = 0;
  /** Number of running `blockConcurrencyWhile` sections. */
  sections = 0;
  #later: (() => void)[] = [];
  #events: (() => void)[] = [];
  #isChanged = false;
  /** Whether the running code belongs to such a section, so that responses to its requests are admitted. */
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

  /** Calls `event` as soon as an event may enter, on the account of the current invocation. */
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

  /** Called when the gate may have opened: admits waiting work after the synchronous part of the current code. */
  open(): void {
    if (this.#isChanged) return;
    this.#isChanged = true;
    changed.push(this);
  }

  /** Lets one in. @returns whether an event was waiting. */
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
