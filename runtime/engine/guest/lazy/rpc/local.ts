// RPC within this isolate: results that are already known, and disposers.
import { createPromise, innerOf, memberOf, type Receiver, type Result } from './stubs.ts';

/** A result that this isolate already has. */
export function local(run: () => unknown): Result {
  const promise = (async () => run())();
  promise.catch(() => {});
  const receiver: Receiver = {
    send: (path, args) => local(async () => follow(await promise, path, args)),
  };
  return {
    promise,
    receiver,
    dispose: () => void promise.then((value) => innerOf(value)?.receiver.dispose?.()).catch(() => {}),
  };
}

/** Reads a path of a value in this isolate, and calls it with the arguments unless they are null. */
export function follow(from: unknown, path: readonly string[], args: readonly unknown[] | null): unknown {
  let self: unknown = undefined;
  let value = from;
  for (const [index, name] of path.entries()) {
    const inner = innerOf(value);
    if (inner !== null) return createPromise(inner.receiver.send([...inner.path, ...path.slice(index)], args));
    self = value;
    value = memberOf(value, name);
  }
  if (args === null) return value;
  const inner = innerOf(value);
  if (inner !== null) return createPromise(inner.receiver.send(inner.path, args));
  if (typeof value !== 'function') throw new TypeError(`"${path.at(-1) ?? ''}" is not a function.`);
  return Reflect.apply(value as (...of: unknown[]) => unknown, self, args as unknown[]) as unknown;
}

export function isPromise(value: unknown): boolean {
  return (
    typeof value === 'object' && value !== null && typeof (value as { readonly then?: unknown }).then === 'function'
  );
}

export function disposerOf(value: object): (() => void) | null {
  const dispose = (value as { readonly [Symbol.dispose]?: unknown })[Symbol.dispose];
  return typeof dispose === 'function' ? () => void Reflect.apply(dispose as () => void, value, []) : null;
}

/** Runs worker code whose errors no caller receives. */
export function quietly(run: (() => void) | null): void {
  try {
    run?.();
  } catch {
    // All errors of disposers are ignored here.
  }
}

export function disposeAll(stubs: readonly object[]): void {
  for (const stub of stubs) innerOf(stub)?.receiver.dispose?.();
}
