// One event being served inside the isolate: its CPU account, its abort signal, what `waitUntil` was given, and the
// context object the worker sees. dispatch.ts makes and ends it; the bridge names it by id.
import type { AbortSignal } from './web/abort.ts';
import { AbortController } from './web/abort.ts';
import type { Account, Context } from './context.ts';
import { currentContext } from './context.ts';

/** How often timers of an open WebSocket get the CPU budget of an event. */
const TIMER_BUDGET_MS = 10_000;

/** What ends with the invocation that opened it. */
export interface Owned {
  nextOwned: Owned | null;
  previousOwned: Owned | null;
  abandon(): void;
}

/** An invocation is the base context of its own code and its own CPU account. */
export class GuestInvocation implements Context, Account {
  readonly id: number;
  readonly account: Account = this;
  readonly stores = null;
  used = 0;
  /** CPU of events before the last renewal. */
  usedBefore = 0;
  /** Of all its CPU: what the host knows. */
  told = 0;
  /** Its response is an open WebSocket. */
  isSocketOpen = false;
  #renewedAt = 0;
  limit: number;
  readonly #budget: number;
  /** Promises given to `waitUntil` that have not settled. */
  waiting = 0;
  answered = false;
  over = false;
  // Links of the list of open invocations and of those that ran in this entry: fields, not arrays, so that no built-in
  // that tenant code may have patched ever gets an invocation to see (safe.ts).
  next: GuestInvocation | null = null;
  previous: GuestInvocation | null = null;
  nextTouched: GuestInvocation | null = null;
  /** By `nextOwned`. */
  owned: Owned | null = null;
  /** Entry in which it ran last: each entry's CPU is shared among those that ran in it. */
  entry = -1;
  logBytes = 0;
  /** The handler asked for static assets instead of an error. */
  passThrough = false;
  #abort: AbortController | null = null;
  #abortReason: unknown = undefined;
  #aborted = false;

  constructor(id: number, limit: number) {
    this.id = id;
    this.limit = limit;
    this.#budget = limit;
  }

  /** `request.signal`, made when it is asked for. */
  signal(): AbortSignal {
    if (this.#abort === null) {
      this.#abort = new AbortController();
      if (this.#aborted) this.#abort.abort(this.#abortReason);
    }
    return this.#abort.signal;
  }

  /** An event of its own, such as a message: it gets a budget of its own, in the same account. */
  renew(): void {
    this.usedBefore += this.used;
    this.used = 0;
    this.limit = this.#budget;
  }

  /** The host has spent so much of its budget. */
  spendOnHost(cpuMs: number): void {
    // 0 would be no limit.
    if (this.#budget > 0) this.limit = Math.max(0.001, this.#budget - cpuMs);
  }

  /** A timer of an open socket, which pushes without being asked: a new budget now and then. `now` in ms. */
  renewForTimer(now: number): void {
    if (!this.isSocketOpen || now - this.#renewedAt < TIMER_BUDGET_MS) return;
    this.#renewedAt = now;
    this.renew();
  }

  abort(reason: unknown): void {
    this.#aborted = true;
    this.#abortReason = reason;
    this.#abort?.abort(reason);
  }
}

/** The invocation whose code runs now; undefined at a module's top level. */
export function currentInvocation(): GuestInvocation | undefined {
  const account = currentContext()?.account;
  return account instanceof GuestInvocation ? account : undefined;
}

let first: GuestInvocation | null = null;

/** Invocations that are not over, newest first, by `next`. */
export function openInvocations(): GuestInvocation | null {
  return first;
}

/** Adds an invocation that begins. */
export function openInvocation(invocation: GuestInvocation): void {
  invocation.next = first;
  if (first !== null) first.previous = invocation;
  first = invocation;
}

/** Takes out one that is over. */
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

/** Something ends with the invocation, unless it has ended before. */
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

/** A new entry begins: nothing has run in it yet. */
export function beginEntry(): void {
  entry++;
  touched = null;
}

/** Number of the entry that runs; 0: the first has not begun. */
export function currentEntry(): number {
  return entry;
}

/** The invocation runs in this entry and shares in its CPU. */
export function touch(invocation: GuestInvocation | undefined): void {
  if (invocation === undefined || invocation.entry === entry) return;
  invocation.entry = entry;
  invocation.nextTouched = touched;
  touched = invocation;
}

/** All that ran in this entry, by `nextTouched`. */
export function touchedInvocations(): GuestInvocation | null {
  return touched;
}
