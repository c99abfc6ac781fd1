// node:events: unenv's emitter, callable without `new` as Node's is (packages write `EventEmitter.call(this)`), and the
// functions that unenv has only as static methods. Bundled into workers by node-compat.ts.
import { EventEmitter as Base } from 'unenv/node/events';

export * from 'unenv/node/events';

// As in Node, both names refer to one function. A class that overrides one name and calls the other must not call
// itself.
Object.assign(Base.prototype, { on: Base.prototype.addListener, off: Base.prototype.removeListener });

type Emitter = typeof Base & { (this: object, options?: object): void };

export const EventEmitter: Emitter = /* @__PURE__ */ new Proxy(Base as Emitter, {
  apply(target, self: object | undefined, [options]: [object?]) {
    if (self === undefined) return;
    for (const [key, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(fresh(target, options)))) {
      if (!Object.hasOwn(self, key)) Object.defineProperty(self, key, descriptor);
    }
  },
  get: (target, key, receiver) =>
    key === 'EventEmitter' ? EventEmitter : key === 'on' ? on : Reflect.get(target, key, receiver),
});

/** Initializes the state of an emitter. Node's options type is wider than unenv's constructor. */
function fresh(target: Emitter, options: object | undefined): object {
  return new target(options as never);
}

interface Listenable {
  on(name: string | symbol, listener: (...args: never[]) => void): unknown;
  off(name: string | symbol, listener: (...args: never[]) => void): unknown;
}

/** The events of a name as an async iterator of their arguments; unenv's version leaks its listeners. */
export function on(
  emitter: Listenable,
  name: string | symbol,
  { signal }: { readonly signal?: AbortSignal } = {},
): AsyncGenerator<unknown[]> {
  const seen: unknown[][] = [];
  let failure: { readonly error: unknown } | undefined;
  let wake: (() => void) | undefined;
  const listener = (...args: unknown[]): void => {
    seen.push(args);
    wake?.();
  };
  const onError = (error: unknown): void => {
    failure ??= { error };
    wake?.();
  };
  const onAbort = (): void =>
    onError(
      Object.assign(new Error('The operation was aborted', { cause: signal?.reason }), {
        name: 'AbortError',
        code: 'ABORT_ERR',
      }),
    );
  // Listening starts with the call, not with the first `next`.
  emitter.on(name, listener);
  if (name !== 'error') emitter.on('error', onError);
  if (signal?.aborted === true) onAbort();
  signal?.addEventListener('abort', onAbort, { once: true });
  const close = (): void => {
    emitter.off(name, listener);
    emitter.off('error', onError);
    signal?.removeEventListener('abort', onAbort);
  };
  return (async function* iterate() {
    try {
      for (;;) {
        const next = seen.shift();
        if (next !== undefined) yield next;
        else if (failure !== undefined) throw failure.error;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      close();
    }
  })();
}

export const setMaxListeners = Base.setMaxListeners;
export const listenerCount = Base.listenerCount;
export default EventEmitter;
