// The third argument of a handler.
import type { GuestInvocation } from './invocation.ts';
import { useModule } from './modules.ts';
import { reportUncaught } from './web/console.ts';

/** Creates `ctx.exports` on first use; set by main.ts. */
export const workerExports: { names(): string[]; made: object | null } = { names: () => [], made: null };

/** `ctx.exports`: stubs of the worker's own entrypoints. */
export function exportsOfWorker(): object {
  return (workerExports.made ??= useModule('rpc').createExports(workerExports.names()));
}

/** `ctx`: the invocation's functions for a handler. */
export class ExecutionContext {
  #invocation: GuestInvocation;
  #onSettled: (invocation: GuestInvocation) => void;
  readonly props: unknown;

  constructor(invocation: GuestInvocation, onSettled: (invocation: GuestInvocation) => void, props: unknown = {}) {
    this.#invocation = invocation;
    this.#onSettled = onSettled;
    this.props = props;
  }

  get exports(): object {
    return exportsOfWorker();
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
