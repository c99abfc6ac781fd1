// One event being served inside the isolate: its CPU account, its abort signal, its `waitUntil` promises, and the
// context object for the worker. dispatch.ts creates and ends it; the bridge refers to it by id.
import type { AbortSignal } from './web/abort.ts';
import { AbortController } from './web/abort.ts';
import type { Account, Context } from './context.ts';
import { currentContext } from './context.ts';

/** How often timers of an open WebSocket get the CPU budget of an event. */
const TIMER_BUDGET_MS = 10_000;

/** An object that ends with the invocation that opened it. */
export interface Owned {
  nextOwned: Owned | null;
  previousOwned: Owned | null;
  abandon(): void;
}

/** Holds back events of a durable object while the object waits for its storage. */
export interface InputGate {
  readonly isClosed: boolean;
  /** Calls `enter` when the gate is open. */
  later(enter: () => void): void;
  /** Calls `event` as soon as an event may enter, on the account of the current invocation. */
  enter(event: () => void): void;
}

/** An invocation is the base context and the CPU account of its code. */
export class GuestInvocation implements Context, Account {
  readonly id: number;
  readonly account: Account = this;
  readonly stores = null;
  used = 0;
  /** CPU that events used before the budget was last renewed. */
  usedBefore = 0;
  /** Total CPU as reported to the host. */
  told = 0;
  /** Whether the invocation's response is an open WebSocket. */
  isSocketOpen = false;
  #renewedAt = 0;
  limit: number;
  readonly #budget: number;
  /** Unsettled promises of `waitUntil`. */
  waiting = 0;
  /** Number of the invocation's pending calls, timers and reads. */
  work = 0;
  /**
   * Whether work keeps the invocation open even if it is not awaited, as for an event of a durable object until newer
   * code needs the object.
   */
  isKept = false;
  answered = false;
  over = false;
  // Links of two lists: open invocations, and invocations that ran in this entry. They are fields instead of arrays, so
  // that no built-in that tenant code has patched ever receives an invocation (safe.ts).
  next: GuestInvocation | null = null;
  previous: GuestInvocation | null = null;
  nextTouched: GuestInvocation | null = null;
  /** Linked by `nextOwned`. */
  owned: Owned | null = null;
  /**
   * The last entry in which this invocation ran. The CPU of an entry is shared among the invocations that ran in it.
   */
  entry = -1;
  logBytes = 0;
  /** The gate of the durable object whose event this is; otherwise null. */
  gate: InputGate | null = null;
  /** Whether the handler requested static assets instead of an error. */
  passThrough = false;
  #abort: AbortController | null = null;
  #abortReason: unknown = undefined;
  #aborted = false;

  constructor(id: number, limit: number) {
    this.id = id;
    this.limit = limit;
    this.#budget = limit;
  }

  /** `request.signal`, created on first use. */
  signal(): AbortSignal {
    if (this.#abort === null) {
      this.#abort = new AbortController();
      if (this.#aborted) this.#abort.abort(this.#abortReason);
    }
    return this.#abort.signal;
  }

  /** Starts a new budget in the same account, for another event such as a message. */
  renew(): void {
    this.usedBefore += this.used;
    this.used = 0;
    this.limit = this.#budget;
  }

  /** Charges host CPU to the budget. */
  spendOnHost(cpuMs: number): void {
    // The limit must not be 0, which would mean no limit.
    if (this.#budget > 0) this.limit = Math.max(0.001, this.#budget - cpuMs);
  }

  /**
   * A timer of an open socket renews the budget from time to time, because it may send data without a request. `now` in
   * ms.
   */
  renewForTimer(now: number): void {
    if (!this.isSocketOpen || now - this.#renewedAt < TIMER_BUDGET_MS) return;
    this.#renewedAt = now;
    this.renew();
  }

  /** Whether nothing keeps the invocation open any more. */
  get isDone(): boolean {
    return this.answered && this.waiting === 0 && !(this.isKept && this.work > 0);
  }

  abort(reason: unknown): void {
    this.#aborted = true;
    this.#abortReason = reason;
    this.#abort?.abort(reason);
  }
}

/** The current invocation; undefined at a module's top level. */
export function currentInvocation(): GuestInvocation | undefined {
  const account = currentContext()?.account;
  return account instanceof GuestInvocation ? account : undefined;
}

let first: GuestInvocation | null = null;

/** Open invocations, newest first, linked by `next`. */
export function openInvocations(): GuestInvocation | null {
  return first;
}

/** Adds a new invocation. */
export function openInvocation(invocation: GuestInvocation): void {
  invocation.next = first;
  if (first !== null) first.previous = invocation;
  first = invocation;
}

/** Removes an ended invocation. */
export function closeInvocation(invocation: GuestInvocation): void {
  if (invocation.over) return;
  invocation.over = true;
  if (invocation.next !== null) invocation.next.previous = invocation.previous;
  if (invocation.previous !== null) invocation.previous.next = invocation.next;
  else first = invocation.next;
  invocation.next = null;
  invocation.previous = null;
  while (invocation.owned !== null) {
    const { owned } = invocation;
    disown(invocation, owned);
    owned.abandon();
  }
}

/** Registers an object that ends with the invocation, unless it ends earlier. */
export function own(invocation: GuestInvocation, owned: Owned): void {
  owned.nextOwned = invocation.owned;
  if (invocation.owned !== null) invocation.owned.previousOwned = owned;
  invocation.owned = owned;
}

export function disown(invocation: GuestInvocation, owned: Owned): void {
  if (owned.nextOwned !== null) owned.nextOwned.previousOwned = owned.previousOwned;
  if (owned.previousOwned !== null) owned.previousOwned.nextOwned = owned.nextOwned;
  else if (invocation.owned === owned) invocation.owned = owned.nextOwned;
  owned.nextOwned = null;
  owned.previousOwned = null;
}

export function findInvocation(id: number): GuestInvocation | null {
  for (let at = first; at !== null; at = at.next) if (at.id === id) return at;
  return null;
}

let entry = 0;
let touched: GuestInvocation | null = null;

/** Called when a new entry begins, in which the invocation has not run yet. */
export function beginEntry(): void {
  entry++;
  touched = null;
}

/** Number of the current entry; 0 if the first entry has not begun. */
export function currentEntry(): number {
  return entry;
}

/** Marks the invocation as running in this entry, so that it shares its CPU. */
export function touch(invocation: GuestInvocation | undefined): void {
  if (invocation === undefined || invocation.entry === entry) return;
  invocation.entry = entry;
  invocation.nextTouched = touched;
  touched = invocation;
}

/** All invocations that ran in this entry, linked by `nextTouched`. */
export function touchedInvocations(): GuestInvocation | null {
  return touched;
}
