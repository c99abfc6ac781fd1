// A concurrency limit per project for the shared connections to Postgres: a limited number of statements of one project
// run at a time, and the others are queued in order. Without this limit, a project with slow statements would occupy
// all connections.

/** Runs work of an owner as soon as fewer calls than its limit are running. */
export type ProjectLimit = <Result>(owner: string, work: () => Promise<Result>) => Promise<Result>;

/** Maximum number of concurrent statements of one project on each engine, less than half of its connections. */
const STATEMENTS_PER_PROJECT_MAX = 4;

export function limitByProject(most = STATEMENTS_PER_PROJECT_MAX): ProjectLimit {
  const owners = new Map<string, { running: number; readonly waiting: (() => void)[] }>();
  return async (owner, work) => {
    let state = owners.get(owner);
    if (state === undefined) owners.set(owner, (state = { running: 0, waiting: [] }));
    // A finished call passes its slot on to the next one.
    if (state.running >= most) await new Promise<void>((resolve) => state.waiting.push(resolve));
    else state.running++;
    try {
      return await work();
    } finally {
      const next = state.waiting.shift();
      if (next !== undefined) next();
      else if (--state.running === 0) owners.delete(owner);
    }
  };
}

/** Limits the calls of a store, by the namespace in their first argument. */
export function limitCalls<Store extends object>(
  store: Store,
  limit: ProjectLimit,
  names: readonly (keyof Store & string)[],
): Store {
  const calls: Record<string, unknown> = {};
  for (const name of names) {
    const call = store[name] as (place: { readonly namespace: string }, ...rest: unknown[]) => Promise<unknown>;
    calls[name] = (place: { readonly namespace: string }, ...rest: unknown[]) =>
      limit(place.namespace, () => call(place, ...rest));
  }
  return { ...store, ...calls };
}
