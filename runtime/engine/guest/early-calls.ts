// Calls of handlers that wait until the worker serves: an isolate's first entry brings its first requests. dispatch.ts
// adds them, entry.ts continues after a terminated entry. Hot path.
import { enterContext } from './context.ts';
import { touch, type GuestInvocation } from './invocation.ts';

/** Linked, since arrays can be patched by tenant code (safe.ts). */
interface EarlyCall {
  readonly call: () => void;
  readonly invocation: GuestInvocation | null;
  next: EarlyCall | null;
}

/** Null once the worker serves. The first one calls nothing. */
let early: EarlyCall | null = { call: () => {}, invocation: null, next: null };
let lastEarly: EarlyCall | null = early;
/** Still set after an entry that was terminated while one of them ran. */
let released: EarlyCall | null = null;

/** Whether requests reach the worker at once. */
export function isServing(): boolean {
  return early === null;
}

export function callLater(invocation: GuestInvocation, call: () => void): void {
  lastEarly = lastEarly!.next = { call, invocation, next: null };
}

/** The worker serves: makes all waiting calls. */
export function release(): void {
  released = early;
  // The calls hold their requests, with their bodies.
  early = lastEarly = null;
  callReleased();
}

/** Makes the calls that a terminated entry left. */
export function callReleased(): void {
  while (released !== null) {
    const { invocation, call } = released;
    released = released.next;
    // Its client may have disconnected meanwhile.
    if (invocation === null || invocation.over) continue;
    touch(invocation);
    enterContext(invocation);
    call();
  }
}
