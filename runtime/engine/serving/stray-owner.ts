// Who is charged for work of the host that no running invocation asked for: a worker's top level, and code that goes on
// after its invocation. It has a budget of its own, so that nothing is free. One per isolate, made by serving.ts.
import { PlatformError } from '#core/errors.ts';
import type { CallOwner } from '../bridge/call-owner.ts';

/** How often it has a new budget. */
const RENEWAL_MS = 10_000;

/** What it needs. */
interface StrayParts {
  /** Of one budget; 0: no limit. */
  readonly limitMs: () => number;
  readonly settled: (cpuMs: number) => void;
}

/** What strays of one isolate may use. */
export class StrayBudget {
  #parts: StrayParts;
  #usedMs = 0;
  #from = 0;

  constructor(parts: StrayParts) {
    this.#parts = parts;
  }

  get leftMs(): number {
    const limitMs = this.#parts.limitMs();
    const now = performance.now();
    if (now - this.#from >= RENEWAL_MS) {
      this.#from = now;
      this.#usedMs = 0;
    }
    return limitMs === 0 ? Number.POSITIVE_INFINITY : limitMs - this.#usedMs;
  }

  reserve(cpuMs: number): void {
    this.#usedMs += cpuMs;
  }

  settle(reservedMs: number, usedMs: number): void {
    this.#usedMs += usedMs - reservedMs;
    this.#parts.settled(usedMs);
  }
}

export class StrayOwner implements CallOwner {
  readonly id = 0;
  readonly trace = null;
  readonly isOver = false;
  #budget: StrayBudget;
  #refusal: 'no_invocation' | 'invocation_ended';

  /** @param refusal of what only an invocation may do. */
  constructor(budget: StrayBudget, refusal: 'no_invocation' | 'invocation_ended') {
    this.#budget = budget;
    this.#refusal = refusal;
  }

  get cpuLeftMs(): number {
    return this.#budget.leftMs;
  }

  reserveCpu(cpuMs: number): void {
    if (cpuMs > this.cpuLeftMs) throw new PlatformError('invocation_ended', { what: 'Work of the host' });
    this.#budget.reserve(cpuMs);
  }

  settleCpu(reservedMs: number, usedMs: number): void {
    this.#budget.settle(reservedMs, usedMs);
  }

  countSubrequest(): void {
    throw new PlatformError(this.#refusal, { what: 'A binding or fetch' });
  }

  host(): null {
    return null;
  }

  header(): null {
    return null;
  }

  run(): null {
    return null;
  }

  atEnd(run: () => void): void {
    run();
  }
}
