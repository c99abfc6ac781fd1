// Stubs, as workers see them: of objects passed by reference, of the results of calls, and of their properties. Each
// stub is a proxy over a `Receiver`, to which it sends calls; session.ts and rpc.ts create receivers.

/** A target of calls. */
export interface Receiver {
  /**
   * Calls the member at the path with arguments; with null, reads it.
   *
   * @throws when the receiver is disposed; a failure of the call itself is in the result.
   */
  send(path: readonly string[], args: readonly unknown[] | null): Result;
  /** Creates another handle of the same object. */
  dup?(): Receiver;
  dispose?(): void;
}

/** The future result of a call. */
export interface Result {
  readonly promise: Promise<unknown>;
  /** Receiver for calls on the result before it arrives. */
  readonly receiver: Receiver;
  /** Called when the result is not needed any more: disposes of its stubs. */
  dispose(): void;
}

/** Internal data of a proxy. */
interface Inner {
  readonly kind: 'stub' | 'promise' | 'property';
  readonly receiver: Receiver;
  readonly path: readonly string[];
}

const inners = new WeakMap<object, Inner>();
const { get: weakGet, set: weakSet } = WeakMap.prototype;

/** Null for any value that is not a stub. */
export function innerOf(value: unknown): Inner | null {
  if (typeof value !== 'function' && (typeof value !== 'object' || value === null)) return null;
  return (Reflect.apply(weakGet, inners, [value]) as Inner | undefined) ?? null;
}

/** For `instanceof`. The shim of `cloudflare:workers` has separate classes with the same prototypes. */
export const prototypes = { stub: {}, promise: {}, property: {} };

const { getPrototypeOf } = Object;
const nothing = Object.freeze({});

/** Traps of a proxy. A stub is one object without closures, because each call creates two proxies. */
class StubTraps implements ProxyHandler<() => void> {
  readonly #inner: Inner;
  readonly #members: (key: string | symbol) => unknown;

  constructor(inner: Inner, members: (key: string | symbol) => unknown) {
    this.#inner = inner;
    this.#members = members;
  }

  get(_target: unknown, key: string | symbol): unknown {
    const own = this.#members(key);
    if (own !== undefined) return own === nothing ? undefined : own;
    const { receiver, path } = this.#inner;
    return typeof key === 'symbol' ? undefined : createProperty(receiver, [...path, key]);
  }

  apply(_target: unknown, _self: unknown, args: unknown[]): object {
    const { receiver, path } = this.#inner;
    return createPromise(receiver.send(path, args));
  }

  construct(): never {
    throw new TypeError('A stub cannot be constructed');
  }

  has(): boolean {
    return false;
  }

  ownKeys(): string[] {
    return [];
  }

  getOwnPropertyDescriptor(): undefined {
    return undefined;
  }

  defineProperty(): boolean {
    return false;
  }

  set(): boolean {
    return false;
  }

  deleteProperty(): boolean {
    return false;
  }

  getPrototypeOf(): object {
    return prototypes[this.#inner.kind];
  }

  setPrototypeOf(): boolean {
    return false;
  }
}

function proxyOf(inner: Inner, members: (key: string | symbol) => unknown): object {
  // The target of the proxy is a function, so that the proxy can be called. An arrow function has no property that the
  // proxy would have to show.
  const proxy: object = new Proxy(() => {}, new StubTraps(inner, members));
  Reflect.apply(weakSet, inners, [proxy, inner]);
  return proxy;
}

/** A stub of an object of another side. A stub is not a thenable, so that async functions can return it. */
export function createStub(receiver: Receiver): object {
  return proxyOf({ kind: 'stub', receiver, path: [] }, (key) => {
    if (key === 'then') return nothing;
    if (key === Symbol.dispose) return () => receiver.dispose?.();
    if (key === 'dup') {
      return () => {
        if (receiver.dup === undefined) throw new TypeError('This stub cannot be duplicated');
        return createStub(receiver.dup());
      };
    }
    return undefined;
  });
}

/** The result of a call: a promise, and a stub of the future result. */
export function createPromise(result: Result): object {
  const { promise, receiver } = result;
  // Without this, each call of a chain would be reported as an unhandled rejection. An `await` still throws the error.
  promise.catch(() => {});
  return proxyOf({ kind: 'promise', receiver, path: [] }, (key) => {
    if (key === Symbol.dispose) return () => result.dispose();
    return thenable(key, () => promise);
  });
}

/** A property of a stub, which is read when it is awaited. */
export function createProperty(receiver: Receiver, path: readonly string[]): object {
  let read: Promise<unknown> | null = null;
  return proxyOf({ kind: 'property', receiver, path }, (key) =>
    thenable(key, () => (read ??= receiver.send(path, null).promise)),
  );
}

function thenable(key: string | symbol, promiseOf: () => Promise<unknown>): unknown {
  switch (key) {
    case 'then':
      return (...handlers: [never, never]) => promiseOf().then(...handlers);
    case 'catch':
      return (handler: never) => promiseOf().catch(handler);
    case 'finally':
      return (handler: never) => promiseOf().finally(handler);
    default:
      return undefined;
  }
}

/** Set on the prototypes of classes whose instances are passed by reference. The base classes are in builder/shims/. */
const TARGET = Symbol.for('platform.rpc.target');

/** Whether an object is passed by reference. */
export function isTarget(value: object): boolean {
  return (value as Readonly<Record<symbol, unknown>>)[TARGET] === true;
}

export function missing(name: string): TypeError {
  return new TypeError(`The RPC receiver does not implement the method "${name}".`);
}

/**
 * A member that other sides can call. For an instance, these are the members that its classes declare, without private
 * members, fields and the base class; for a plain object or a function, its own properties.
 *
 * @param isEntry a worker's handler object or an instance of an entrypoint, whatever its class.
 * @throws {TypeError} for any other.
 */
export function memberOf(value: unknown, name: string, isEntry = false): unknown {
  if (innerOf(value) !== null) return (value as Readonly<Record<string, unknown>>)[name];
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) throw missing(name);
  const prototype = getPrototypeOf(value) as object | null;
  const isPlain = prototype === Object.prototype || prototype === null || Array.isArray(value);
  if (isPlain || (typeof value === 'function' && !isTarget(value))) {
    if (!Object.hasOwn(value, name)) throw missing(name);
    return (value as Readonly<Record<string, unknown>>)[name];
  }
  if (!isTarget(value) && !isEntry) throw missing(name);
  if (name === 'constructor' || Object.hasOwn(value, name)) throw missing(name);
  for (let level = prototype; level !== null && level !== Object.prototype; level = getPrototypeOf(level) as object) {
    if (Object.hasOwn(level, TARGET)) break;
    if (Object.hasOwn(level, name)) return (value as Readonly<Record<string, unknown>>)[name];
  }
  throw missing(name);
}
