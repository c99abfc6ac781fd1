// `cloudflare:workers` for workers written for that platform: base classes, `env`, `waitUntil`. Bundled by node-compat.ts.
// What has no counterpart here throws when it is used, not when it is imported.

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

/** Base class for objects passed by reference; here they stay inside the worker. */
export class RpcTarget {}

function unsupported(what: string, instead: string): never {
  throw new Error(`${what} is not supported on this platform: ${instead}`);
}

export class DurableObject {
  constructor() {
    unsupported('DurableObject', 'use a state, queue or workflow binding');
  }
}

export class WorkflowEntrypoint {
  constructor() {
    unsupported('WorkflowEntrypoint', 'export workflows: { name: { handler } }');
  }
}

export class RpcStub {
  constructor() {
    unsupported('RpcStub', 'call the other worker with fetch');
  }
}

/** The bindings of the deployment, looked up when they are read. */
export const env: Record<string, unknown> = /* @__PURE__ */ new Proxy(
  {},
  {
    get: (_, key) => Reflect.get((hooks[envKey] ?? {}) as object, key),
    has: (_, key) => Reflect.has((hooks[envKey] ?? {}) as object, key),
    ownKeys: () => Reflect.ownKeys((hooks[envKey] ?? {}) as object),
    getOwnPropertyDescriptor(_, key) {
      const own = Reflect.getOwnPropertyDescriptor((hooks[envKey] ?? {}) as object, key);
      return own && { ...own, configurable: true };
    },
    set: () => false,
  },
);

/** Keeps the running invocation alive until the promise settles. */
export function waitUntil(promise: Promise<unknown>): void {
  const hook = hooks[waitUntilKey] as ((promise: Promise<unknown>) => void) | undefined;
  if (hook === undefined) throw new Error('waitUntil was called outside of an invocation');
  hook(promise);
}

export const exports: Record<string, unknown> = /* @__PURE__ */ new Proxy(
  {},
  { get: (_, key) => (typeof key === 'symbol' ? undefined : unsupported('exports', 'call the function itself')) },
);
export const cache: unknown = /* @__PURE__ */ new Proxy(
  {},
  { get: (_, key) => (typeof key === 'symbol' ? undefined : unsupported('cache', 'use caches.default')) },
);

/** Spans are not recorded; the function runs as if they were. */
export const tracing = {
  enterSpan<R>(_name: string, callback: (span: { setAttribute(): void }) => R): R {
    return callback({ setAttribute() {} });
  },
};

/** @param overrides bindings to see instead: the platform has no scoped environment */
export function withEnv(_overrides: unknown, _callback: () => unknown): never {
  unsupported('withEnv', 'pass the values as arguments');
}
