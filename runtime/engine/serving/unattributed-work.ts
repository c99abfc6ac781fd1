// The owner of host work that no running invocation requested, but a worker's top level, or code that continues after
// its invocation. This work has its own budget, so that no work is free. Each isolate has one owner, created by
// serving.ts.
import { PlatformError } from '#core/errors.ts';
import type { CallOwner } from '../bridge/call-owner.ts';

/** How often the budget is renewed. */
const RENEWAL_MS = 10_000;

/** Dependencies of the owner. */
interface UnattributedDeps {
  /** CPU limit of one budget; 0 means no limit. */
  readonly limitMs: () => number;
  readonly settled: (cpuMs: number) => void;
}

/** The owner and budget of the unattributed work of one isolate. */
export class UnattributedBudget {
  #deps: UnattributedDeps;
  #usedMs = 0;
  #from = 0;

  constructor(deps: UnattributedDeps) {
    this.#deps = deps;
  }

  get leftMs(): number {
    const limitMs = this.#deps.limitMs();
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
    this.#deps.settled(usedMs);
  }
}

export class UnattributedOwner implements CallOwner {
  readonly id = 0;
  readonly trace = null;
  readonly isOver = false;
  #budget: UnattributedBudget;
  #refusal: 'no_invocation' | 'invocation_ended';

  /** @param refusal the error for calls that only an invocation may make. */
  constructor(budget: UnattributedBudget, refusal: 'no_invocation' | 'invocation_ended') {
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

  atExit(run: () => void): void {
    run();
  }
}
