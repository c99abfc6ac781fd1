// Bindings that only need calls, in Node. Made by env.ts.
import type { Call, Connection } from './connection.ts';
import { giveForm } from './values.ts';

type Method = (...args: readonly unknown[]) => Promise<unknown>;
type Ask = (call: Call, signal?: AbortSignal) => Promise<unknown>;

/** Methods of each kind that are passed through. */
const methods: Readonly<Record<string, readonly string[]>> = {
  queue: ['send', 'sendBatch', 'metrics'],
  state: ['get', 'getWithMetadata', 'put', 'set', 'compareAndSet', 'getJSON', 'setJSON', 'delete', 'list', 'update'],
  timer: ['set', 'get', 'delete', 'list'],
  cache: ['get', 'set', 'delete'],
  auth: ['getUser', 'verifyToken', 'createUser', 'listUsers', 'revoke', 'deleteUser'],
  workflow: ['trigger', 'getExecution', 'list', 'cancel', 'pause', 'resume', 'restart', 'sendEvent'],
  ai: ['models'],
};

/** Creates a binding. All methods are forwarded for a kind that is newer than this package. */
export function createBinding(connection: Connection, name: string, kind: string): object {
  const names = methods[kind];
  const ask: Ask = async (call, signal) => (await connection.call(name, call, { signal })).result;
  if (names === undefined) return anyMethod(ask);
  const plain: Record<string, Method> = {};
  for (const method of names) plain[method] = (...args) => ask({ method, args });
  return { ...plain, ...special[kind]?.(ask, plain) };
}

function anyMethod(ask: Ask): object {
  return new Proxy(Object.freeze({}), {
    get(_target, method) {
      if (typeof method === 'symbol' || method === 'then') return undefined;
      return (...args: readonly unknown[]) => ask({ method, args });
    },
  });
}

/** Methods of a kind that accept or return objects with methods. */
const special: Readonly<Record<string, (ask: Ask, plain: Readonly<Record<string, Method>>) => object>> = {
  auth: (ask) => ({
    /** Identifies the user of a request by its session cookie or `Authorization: Bearer`. */
    async getSession(request: unknown): Promise<unknown> {
      const headers = (request as { headers?: { get?: (name: string) => string | null } } | null)?.headers;
      if (typeof headers?.get !== 'function') throw new TypeError('getSession takes the request');
      const sent = ['cookie', 'authorization'].map((name) => [name, headers.get!(name)]);
      const form = { $request: sent.filter(([, value]) => value !== null) };
      return ask({ method: 'getSession', args: [giveForm({}, () => form)] });
    },
  }),
  ai: (ask) => ({
    async run(model: unknown, inputs: unknown, options?: Readonly<Record<string, unknown>> | null): Promise<unknown> {
      const { signal, ...rest } = options ?? {};
      return ask({ method: 'run', args: [model, inputs, rest] }, signal as AbortSignal | undefined);
    },
  }),
  workflow(ask, plain) {
    const instance = (id: string): object => ({
      id,
      status: () => ask({ method: 'get', args: [id], next: [{ method: 'status' }] }),
      pause: () => plain['pause']!(id),
      resume: () => plain['resume']!(id),
      terminate: (...args: readonly unknown[]) => on(id, 'terminate', args),
      restart: (...args: readonly unknown[]) => on(id, 'restart', args),
      delete: () => on(id, 'delete', []),
      sendEvent: (event: unknown) => plain['sendEvent']!(id, event),
    });
    const on = (id: string, method: string, args: readonly unknown[]): Promise<unknown> =>
      ask({ method: 'get', args: [id], next: [{ method, args }] });
    const found = async (method: string, args: readonly unknown[]): Promise<object> =>
      instance(((await ask({ method, args })) as { id: string }).id);
    return {
      create: (...args: readonly unknown[]) => found('create', args),
      get: (...args: readonly unknown[]) => found('get', args),
      async createBatch(...args: readonly unknown[]): Promise<unknown> {
        const toInstances = (made: readonly { id: string }[]): object[] => made.map(({ id }) => instance(id));
        const made = (await ask({ method: 'createBatch', args })) as
          | readonly { id: string }[]
          | { readonly created: readonly { id: string }[]; readonly errors: readonly unknown[] };
        return 'created' in made ? { ...made, created: toInstances(made.created) } : toInstances(made);
      },
      deleteBatch: (...args: readonly unknown[]) => ask({ method: 'deleteBatch', args }),
    };
  },
};
