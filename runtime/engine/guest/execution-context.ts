// The third argument of a handler.
import type { GuestInvocation } from './invocation.ts';
import { reportUncaught } from './web/console.ts';

/** `ctx`: the invocation's functions for a handler. */
export class ExecutionContext {
  #invocation: GuestInvocation;
  #onSettled: (invocation: GuestInvocation) => void;
  readonly props = {};

  constructor(invocation: GuestInvocation, onSettled: (invocation: GuestInvocation) => void) {
    this.#invocation = invocation;
    this.#onSettled = onSettled;
  }

  /** Keeps the invocation alive, within its budgets, until the promise settles. */
  waitUntil(promise: unknown): void {
    const invocation = this.#invocation;
    if (invocation.over) throw new Error('waitUntil() was called after the invocation had ended');
    invocation.waiting++;
    Promise.resolve(promise).then(
      () => this.#onSettled(invocation),
      (error: unknown) => {
        reportUncaught(error, 'Uncaught (in waitUntil)', invocation);
        this.#onSettled(invocation);
      },
    );
  }

  /** If the handler throws, the request is answered from the static assets as if there were no worker. */
  passThroughOnException(): void {
    this.#invocation.passThrough = true;
  }
}
