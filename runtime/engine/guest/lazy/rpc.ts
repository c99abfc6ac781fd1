// Calls between workers: stubs of service bindings and of the worker's own entrypoints, and the sessions that a call
// from another worker opens. lazy.ts loads this module when it is first used.
import type { HostCallName, Part } from '../../bridge/protocol.ts';
import { provideModule } from '../modules.ts';
import type { SessionMain } from '../session-main.ts';
import { createFetcher } from '../web/fetch.ts';
import { follow, local } from './rpc/local.ts';
import { RpcSession, type SessionErrors } from './rpc/session.ts';
import { openSocketTransport } from './rpc/socket-transport.ts';
import { createProperty, createStub, innerOf, prototypes, type Receiver } from './rpc/stubs.ts';
import type { RpcTransport } from './rpc/transport.ts';

/** How an entrypoint of a worker is called. */
interface Callable {
  /** The host calls that open a session, and that send a request. */
  readonly connect: HostCallName;
  readonly fetch: HostCallName;
  /** The arguments that name the entrypoint. */
  readonly target: Readonly<Record<string, string>>;
}

const LABEL_CHARS_MAX = 100;

/** Each call opens a separate session, which is an invocation of the called worker. */
function receiverOf({ connect, target }: Omit<Callable, 'fetch'>, errors: SessionErrors | null = null): Receiver {
  return {
    send(path, args) {
      const label = path.join('.').slice(0, LABEL_CHARS_MAX);
      const transport = openSocketTransport(connect, { ...target, method: label });
      return new RpcSession(transport, null, errors).main.send(path, args);
    },
  };
}

/** Reads or calls a member of the object of a receiver. */
function memberOf(receiver: Receiver, name: string): object {
  return createProperty(receiver, [name]);
}

/** A stub of an entrypoint: `fetch`, and its methods. */
function createService(callable: Callable): object {
  const { fetch } = createFetcher(callable.fetch, callable.target);
  const receiver = receiverOf(callable);
  const fetcher = Object.create(Fetcher.prototype, { fetch: { value: fetch } }) as object;
  return new Proxy(Object.freeze(fetcher), {
    get(target, key) {
      if (typeof key === 'symbol' || key in target) return Reflect.get(target, key);
      // The object is not a thenable, so that async functions can return it.
      return key === 'then' || key === 'toJSON' ? undefined : createProperty(receiver, [key]);
    },
  });
}

/** The class of a service in `env`. Its constructor throws the same error with and without `new`. */
class Fetcher {
  connect(): never {
    throw new Error('Sockets to other workers are not supported on this platform: use fetch or a method');
  }

  get [Symbol.toStringTag](): string {
    return 'Fetcher';
  }
}

Object.defineProperty(Fetcher.prototype, 'constructor', {
  value: function Fetcher() {
    throw new TypeError('Illegal constructor');
  },
  writable: true,
  configurable: true,
});

/**
 * `ctx.exports`: a stub for each entrypoint that the worker exports. A call of a stub with `{ props }` returns a stub
 * with these props as `ctx.props`.
 */
function createExports(names: readonly string[]): object {
  const made: Record<string, object> = Object.create(null) as Record<string, object>;
  for (const entrypoint of names) {
    const callable = (props: unknown): Callable => ({
      connect: 'exports.connect',
      fetch: 'exports.fetch',
      target: { entrypoint, ...(props === undefined ? {} : { props: JSON.stringify(props) }) },
    });
    const service = createService(callable(undefined));
    made[entrypoint] = new Proxy(
      (() => {}) as object,
      {
        get: (_target, key) => (service as Readonly<Record<string | symbol, unknown>>)[key],
        has: (_target, key) => key in service,
        apply: (_target, _self, [options]: [{ readonly props?: unknown } | undefined]) =>
          createService(callable(options?.props)),
      } as ProxyHandler<object>,
    );
  }
  return Object.freeze(made);
}

/** `new RpcStub(target)`: a stub of an object of this isolate. */
function createLocalStub(value: unknown): object {
  if (innerOf(value) !== null) throw new TypeError('A stub of a stub cannot be made: use dup()');
  if (typeof value !== 'function' && (typeof value !== 'object' || value === null))
    throw new TypeError('An RpcStub needs an object or a function');
  return createStub(new LocalHandle({ value, handles: 0 }));
}

class LocalHandle implements Receiver {
  #shared: { readonly value: object; handles: number };
  #isDisposed = false;

  constructor(shared: { readonly value: object; handles: number }) {
    this.#shared = shared;
    shared.handles++;
  }

  send(path: readonly string[], args: readonly unknown[] | null): ReturnType<Receiver['send']> {
    this.#check();
    return local(() => follow(this.#shared.value, path, args));
  }

  dup(): Receiver {
    this.#check();
    return new LocalHandle(this.#shared);
  }

  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    const { value } = this.#shared;
    if (--this.#shared.handles > 0) return;
    const dispose = (value as { readonly [Symbol.dispose]?: unknown })[Symbol.dispose];
    if (typeof dispose === 'function') Reflect.apply(dispose as () => void, value, []);
  }

  #check(): void {
    if (this.#isDisposed) throw new Error('RPC stub used after being disposed.');
  }
}

/**
 * Serves a session that another worker has opened. @param first the frame that came with the session; null if none has
 * come yet.
 */
function serveSession(transport: RpcTransport, main: SessionMain, first: Part | null): void {
  const session = new RpcSession(transport, main);
  if (first !== null) session.receive(first);
}

const rpc = {
  createExports,
  createLocalStub,
  createService,
  innerOf,
  memberOf,
  prototypes,
  receiverOf,
  serveSession,
};

declare module '../modules.ts' {
  interface Modules {
    rpc: typeof rpc;
  }
}

provideModule('rpc', rpc);

export { createLocalStub };
