// Tracks the current invocation, which V8 carries through `await`, `then` and everything built on promises
// (continuation data), and implements AsyncLocalStorage on top of it. Timers and events explicitly carry the context
// of their registration.

/** Native functions of one context, passed in by main.ts. */
export interface Native {
  bind(
    process: (meta: string, text: string, ...bytes: Uint8Array[]) => void,
    flush: (cpuMs: number, unchargedMs: number, breached: Account | undefined) => void,
    rejected: (unhandled: boolean, promise: Promise<unknown>, reason: unknown) => void,
    /** Called with a record `fault` if `flush` has failed. */
    leave: (meta: string, text: string, shareMs: number, cpuMs: number) => void,
  ): void;
  /**
   * Sets the owner of the running code, and the descriptor to which a crash of the process is reported; below 0 means
   * no descriptor.
   */
  own(owner: string, crashDescriptor: number): void;
  /**
   * Ms of CPU for which code may run without reaching a point where V8 allows an interrupt, such as a loop over slow
   * built-ins; 0 means no limit.
   */
  stretch(ms: number): void;
  /** Memory in which the host observes the running entry (isolates/stuck-entry.ts). */
  show(memory: SharedArrayBuffer): void;
  readonly run: unknown;
  /**
   * Compiles a worker and runs its top level; returns `[state, error or specifier, line, column]`
   * (native/guest/guest.cc).
   */
  load(
    text: unknown,
    isWide: boolean,
    form: unknown,
    context: Context,
    memoryBytesMax: number,
  ): readonly [0 | 1 | 2 | 3 | 4 | 5, unknown, number, number] | undefined;
  /** The state of the worker's module: `[0]` if its top level is pending, `[1, namespace]`, or `[2, error]`. */
  settled(): readonly [0 | 1 | 2, unknown] | undefined;
  compiledForm(): ArrayBuffer | undefined;
  trim(): void;
  getContext(): Context | undefined;
  setContext(context: Context | undefined): void;
  checkpoint(): void;
  now(): number;
  randomFill(bytes: Uint8Array): void;
  defineLazy(target: object, name: string, enumerable: boolean, load: (name: string) => unknown): void;
  evaluate(code: string, name: string, cache: string): unknown;
  atob(text: string): string | undefined;
  btoa(text: string): string | undefined;
  utf8Encode(text: string): Uint8Array;
  utf8EncodeInto(text: string, target: Uint8Array): number;
  clone<Copied extends object>(object: Copied): Copied;
  utf8Decode(bytes: Uint8Array): string;
  digest(bytes: Uint8Array, bits: number): ArrayBuffer;
  /** Places the source of the guest's own script in memory that all isolates share. */
  shareSource(text: unknown): void;
  /**
   * Like `evaluate`, for a script that the host provides under this key to all isolates of the snapshot; undefined if
   * there is no such script.
   */
  evaluateShared(key: string, name: string, label: string): unknown;
  plainUrl(text: string, base: string | undefined, places: Uint32Array): string | undefined;
  /** `Reflect.construct` and `WebAssembly.CompileError`, which the fences need. */
  fences(construct: unknown, compileError: unknown): void;
  /**
   * Replaces a constructor by one that limits the memory it allocates. `adapt`, if it is a function, computes the first
   * argument. `heldBytes` is the external size of each object, if V8 does not count it. `compiles` is true for
   * WebAssembly.Module.
   */
  fence<Original extends object>(
    original: Original,
    adapt?: (callback: never) => unknown,
    heldBytes?: number,
    compiles?: boolean,
  ): Original | undefined;
  /**
   * Replaces a method. The number of its kind is 0 for methods of ArrayBuffer that resize, 1 for methods of WebAssembly
   * that compile, 2 for those that validate, 3 for methods that create an object of this external size, and 4 for
   * `segment` of Intl.Segmenter.
   */
  fenceMethod(original: unknown, length: number, kind: 0 | 1 | 2 | 3 | 4, heldBytes?: number): unknown;
}

/**
 * CPU milliseconds that were used, and that are allowed. 0 means no limit; below 0, the CPU of code that was ended
 * cannot be attributed. The native watch reads and writes both fields by name.
 */
export interface Account {
  used: number;
  limit: number;
}

/**
 * The context of the running code: an account to charge, and the stores of AsyncLocalStorage. The base context of an
 * invocation is the invocation itself.
 */
export interface Context {
  readonly account: Account;
  readonly stores: ReadonlyMap<AsyncLocalStorage<unknown>, unknown> | null;
}

let native: Native;

export function connectContext(functions: Native): void {
  native = functions;
}

export function currentContext(): Context | undefined {
  return native.getContext();
}

/** Runs pending microtasks, as an event loop does between two tasks. */
export function checkpoint(): void {
  native.checkpoint();
}

export function enterContext(context: Context | undefined): void {
  native.setContext(context);
}

/** Calls a function in a context and restores the previous one, even if it throws. */
export function runInContext<Result>(
  context: Context | undefined,
  callback: (...parameters: never[]) => Result,
  self?: unknown,
  parameters: readonly unknown[] = [],
): Result {
  const before = native.getContext();
  native.setContext(context);
  try {
    return Reflect.apply(callback, self, parameters as never[]);
  } finally {
    native.setContext(before);
  }
}

// The account of code outside of all invocations, such as a module's top level before its first request.
const nobody: Context = { account: { used: 0, limit: 1000 }, stores: null };

function withStore(storage: AsyncLocalStorage<unknown>, store: unknown): Context {
  const context = native.getContext() ?? nobody;
  const stores = new Map(context.stores ?? []);
  stores.set(storage, store);
  return { account: context.account, stores };
}

/** Node's AsyncLocalStorage: a store that follows promises, timers, streams and events. */
export class AsyncLocalStorage<Store> {
  #defaultValue: Store | undefined;
  readonly name: string;

  constructor(options: { defaultValue?: Store; name?: string } = {}) {
    this.#defaultValue = options.defaultValue;
    this.name = options.name ?? '';
  }

  getStore(): Store | undefined {
    const stores = native.getContext()?.stores;
    return stores?.has(this as AsyncLocalStorage<unknown>)
      ? (stores.get(this as AsyncLocalStorage<unknown>) as Store)
      : this.#defaultValue;
  }

  run<Result>(store: Store, callback: (...parameters: never[]) => Result, ...parameters: unknown[]): Result {
    return runInContext(withStore(this as AsyncLocalStorage<unknown>, store), callback, undefined, parameters);
  }

  exit<Result>(callback: (...parameters: never[]) => Result, ...parameters: unknown[]): Result {
    return runInContext(withStore(this as AsyncLocalStorage<unknown>, undefined), callback, undefined, parameters);
  }

  enterWith(store: Store): void {
    native.setContext(withStore(this as AsyncLocalStorage<unknown>, store));
  }

  disable(): void {
    const context = native.getContext();
    if (!context?.stores?.has(this as AsyncLocalStorage<unknown>)) return;
    const stores = new Map(context.stores);
    stores.delete(this as AsyncLocalStorage<unknown>);
    native.setContext({ account: context.account, stores });
  }

  /** Returns the function, bound to the current context. */
  static bind<Callback extends (...parameters: never[]) => unknown>(callback: Callback): Callback {
    if (typeof callback !== 'function') throw new TypeError('The "fn" argument must be of type function');
    const context = native.getContext();
    return function (this: unknown, ...parameters: unknown[]) {
      return runInContext(context, callback, this, parameters);
    } as unknown as Callback;
  }

  /** Returns a function that calls another function in the current context. */
  static snapshot(): <Result>(callback: (...parameters: never[]) => Result, ...parameters: unknown[]) => Result {
    const context = native.getContext();
    return (callback, ...parameters) => runInContext(context, callback, undefined, parameters);
  }
}
