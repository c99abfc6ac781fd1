// node:async_hooks over the AsyncLocalStorage that the guest provides as a global. The hooks of async_hooks have no
// events in an isolate. Bundled into workers by node-compat.ts.
import { unavailable } from './unavailable.ts';

interface Storage {
  bind<F extends (...args: never[]) => unknown>(fn: F): F;
  snapshot(): <R>(fn: (...args: unknown[]) => R, ...args: unknown[]) => R;
}

export const AsyncLocalStorage = ((globalThis as Record<string, unknown>)['AsyncLocalStorage'] ??
  unavailable('async_hooks.AsyncLocalStorage')) as Storage;

/** Runs functions in the context in which its instance was created. */
export class AsyncResource {
  readonly #run = AsyncLocalStorage.snapshot();
  readonly type: string;

  constructor(type: string) {
    this.type = type;
  }

  static bind<F extends (...args: never[]) => unknown>(fn: F): F {
    return AsyncLocalStorage.bind(fn);
  }

  runInAsyncScope<R>(fn: (...args: unknown[]) => R, self?: unknown, ...args: unknown[]): R {
    return this.#run(() => fn.apply(self, args));
  }

  bind<R>(fn: (...args: unknown[]) => R): (...args: unknown[]) => R {
    return (...args) => this.runInAsyncScope(fn, undefined, ...args);
  }

  emitDestroy(): this {
    return this;
  }

  asyncId(): number {
    return 0;
  }

  triggerAsyncId(): number {
    return 0;
  }
}

export const asyncWrapProviders = {};
export const executionAsyncId = (): number => 0;
export const triggerAsyncId = (): number => 0;
export const executionAsyncResource = (): object => ({});
/** An isolate has no such events: the hook can be enabled and disabled, but is never called. */
export function createHook(_callbacks: object): { enable(): unknown; disable(): unknown } {
  const hook = { enable: () => hook, disable: () => hook };
  return hook;
}

export default {
  AsyncLocalStorage,
  AsyncResource,
  asyncWrapProviders,
  executionAsyncId,
  triggerAsyncId,
  executionAsyncResource,
  createHook,
};
