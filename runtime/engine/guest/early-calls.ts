// Calls of handlers that wait until the worker serves, because an isolate's first entry already contains its first
// requests. dispatch.ts adds them, entry.ts continues after a terminated entry. Hot path.
import { enterContext } from './context.ts';
import { touch, type GuestInvocation } from './invocation.ts';

/** The calls are linked, because tenant code can patch arrays (safe.ts). */
interface EarlyCall {
  readonly call: () => void;
  readonly invocation: GuestInvocation | null;
  next: EarlyCall | null;
}

/** The waiting calls; null when the worker serves. The first element calls nothing. */
let early: EarlyCall | null = { call: () => {}, invocation: null, next: null };
let lastEarly: EarlyCall | null = early;
/** Stays set if an entry is terminated while one of the calls runs. */
let released: EarlyCall | null = null;

/** Whether requests reach the worker immediately. */
export function isServing(): boolean {
  return early === null;
}

export function callLater(invocation: GuestInvocation, call: () => void): void {
  lastEarly = lastEarly!.next = { call, invocation, next: null };
}

/** Called when the worker serves: makes all waiting calls. */
export function release(): void {
  released = early;
  // The calls are dropped, because they hold their requests with the bodies.
  early = lastEarly = null;
  callReleased();
}

/** Makes the calls that a terminated entry has not made. */
export function callReleased(): void {
  while (released !== null) {
    const { invocation, call } = released;
    released = released.next;
    // The client may have disconnected in the meantime.
    if (invocation === null || invocation.over) continue;
    touch(invocation);
    enterContext(invocation);
    call();
  }
}
