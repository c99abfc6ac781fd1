// `cloudflare:workers`, for workers that were written for Cloudflare: base classes, `env`, `waitUntil`. Bundled by
// cloudflare-modules.ts. Unsupported exports throw when they are used, not when they are imported.

import { AsyncLocalStorage } from '../node/async-hooks.ts';

interface Context {
  waitUntil(promise: Promise<unknown>): void;
}

const envKey = Symbol.for('platform.env');
const waitUntilKey = Symbol.for('platform.waitUntil');
const hooks = globalThis as Record<symbol, unknown>;

/** Base of a default export written as a class; shims/handler.ts makes one instance for each invocation. */
export class WorkerEntrypoint<Env = unknown> {
  readonly ctx: Context;
  readonly env: Env;

  constructor(ctx: Context, env: Env) {
    this.ctx = ctx;
    this.env = env;
  }
}

/** Base class for objects passed by reference. */
export class RpcTarget {}

/**
 * Marks base classes whose instances are passed by reference. Members of a marked prototype itself cannot be called by
 * the other side.
 */
const targetKey = Symbol.for('platform.rpc.target');
for (const base of [WorkerEntrypoint, RpcTarget]) Object.defineProperty(base.prototype, targetKey, { value: true });

interface Rpc {
  readonly exports: Record<string, unknown>;
  readonly module: {
    createLocalStub(value: unknown): object;
    innerOf(value: unknown): { readonly kind: 'stub' | 'promise' | 'property' } | null;
  };
}

const rpc = (): Rpc | undefined => hooks[Symbol.for('platform.rpc')] as Rpc | undefined;
const kindOf = (value: unknown): string | undefined => rpc()?.module.innerOf(value)?.kind;

function unsupported(what: string, instead: string): never {
  throw new Error(`${what} is not supported on this platform: ${instead}`);
}

/** Base of the classes of durable objects (docs/objects.md). */
export class DurableObject<Env = unknown> {
  readonly ctx: unknown;
  readonly env: Env;

  constructor(ctx: unknown, env: Env) {
    this.ctx = ctx;
    this.env = env;
  }
}

/** Base of a workflow written as a class, which `workflow` in platform.yaml names. */
export class WorkflowEntrypoint<Env = unknown> {
  readonly ctx: Context;
  readonly env: Env;

  constructor(ctx: Context, env: Env) {
    this.ctx = ctx;
    this.env = env;
  }
}

/** A stub of an object of this worker, like the stub that the other side of a call gets. */
export class RpcStub {
  constructor(target: unknown) {
    return rpc()!.module.createLocalStub(target) as RpcStub;
  }

  static [Symbol.hasInstance](value: unknown): boolean {
    return kindOf(value) === 'stub';
  }
}

/** For `instanceof`. */
export class RpcPromise {
  static [Symbol.hasInstance](value: unknown): boolean {
    return kindOf(value) === 'promise';
  }
}
export class RpcProperty {
  static [Symbol.hasInstance](value: unknown): boolean {
    return kindOf(value) === 'property';
  }
}
/** A class for `instanceof` checks, which are always false here. */
export class ServiceStub {}

interface Scopes {
  getStore(): object | undefined;
  run<R>(store: object, callback: () => R): R;
}

let scopes: Scopes | undefined;
const current = (): object => scopes?.getStore() ?? (hooks[envKey] as object | undefined) ?? {};

/** The bindings of the deployment, or those of {@link withEnv}, resolved on each access. */
export const env: Record<string, unknown> = /* @__PURE__ */ new Proxy(
  {},
  {
    get: (_, key) => Reflect.get(current(), key),
    has: (_, key) => Reflect.has(current(), key),
    ownKeys: () => Reflect.ownKeys(current()),
    getOwnPropertyDescriptor(_, key) {
      const own = Reflect.getOwnPropertyDescriptor(current(), key);
      return own && { ...own, configurable: true };
    },
    set: (_, key, value) => Reflect.set(current(), key, value),
    deleteProperty: (_, key) => Reflect.deleteProperty(current(), key),
    defineProperty: (_, key, descriptor) =>
      Reflect.defineProperty(current(), key, { ...descriptor, configurable: true }),
  },
);

/** Calls a function with another `env`, also after an `await`. */
export function withEnv<R>(overrides: object, callback: () => R): R {
  scopes ??= new (AsyncLocalStorage as unknown as new () => Scopes)();
  return scopes.run(overrides, callback);
}

/** Keeps the running invocation alive until the promise settles. */
export function waitUntil(promise: Promise<unknown>): void {
  const hook = hooks[waitUntilKey] as ((promise: Promise<unknown>) => void) | undefined;
  if (hook === undefined) throw new Error('waitUntil was called outside of an invocation');
  hook(promise);
}

/** Stubs of the worker's own entrypoints. */
export const exports: Record<string, unknown> = /* @__PURE__ */ new Proxy(
  {},
  {
    get: (_, key) => Reflect.get(rpc()!.exports, key),
    has: (_, key) => Reflect.has(rpc()!.exports, key),
    ownKeys: () => Reflect.ownKeys(rpc()!.exports),
    getOwnPropertyDescriptor(_, key) {
      const own = Reflect.getOwnPropertyDescriptor(rpc()!.exports, key);
      return own && { ...own, configurable: true };
    },
  },
);
export const cache: unknown = /* @__PURE__ */ new Proxy(
  {},
  { get: (_, key) => (typeof key === 'symbol' ? undefined : unsupported('cache', 'use caches.default')) },
);

/** Spans are not recorded; the function runs normally. */
export const tracing = {
  enterSpan<R>(_name: string, callback: (span: { setAttribute(): void }) => R): R {
    return callback({ setAttribute() {} });
  },
};

/** @param overrides other entrypoints, which workers do not have here */
export function withExports(_overrides: unknown, _callback: () => unknown): never {
  unsupported('withExports', 'call the function itself');
}

export function withEnvAndExports(_env: unknown, _exports: unknown, _callback: () => unknown): never {
  unsupported('withEnvAndExports', 'use withEnv');
}
