// Turns at what all projects share, the connections to Postgres: so many of one project's statements at a time, and the
// rest wait in their order. Without it, a project whose statements take long would have them all, and everybody else
// would wait behind it.

/** Runs work of an owner when it is its turn. */
type Turns = <Result>(owner: string, work: () => Promise<Result>) => Promise<Result>;

/** Statements of one project at a time, on each engine: less than half of its connections. */
const turnsAtOnce = 4;

export function createTurns(atOnce = turnsAtOnce): Turns {
  const owners = new Map<string, { running: number; readonly waiting: (() => void)[] }>();
  return async (owner, work) => {
    let turns = owners.get(owner);
    if (turns === undefined) owners.set(owner, (turns = { running: 0, waiting: [] }));
    // Whoever ends hands its turn on.
    if (turns.running >= atOnce) await new Promise<void>((resolve) => turns.waiting.push(resolve));
    else turns.running++;
    try {
      return await work();
    } finally {
      const next = turns.waiting.shift();
      if (next !== undefined) next();
      else if (--turns.running === 0) owners.delete(owner);
    }
  };
}

/** A store some of whose calls take turns, by the namespace of their first argument. */
export function inTurns<Store extends object>(
  store: Store,
  turns: Turns,
  names: readonly (keyof Store & string)[],
): Store {
  const calls: Record<string, unknown> = {};
  for (const name of names) {
    const call = store[name] as (place: { readonly namespace: string }, ...rest: unknown[]) => Promise<unknown>;
    calls[name] = (place: { readonly namespace: string }, ...rest: unknown[]) =>
      turns(place.namespace, () => call(place, ...rest));
  }
  return { ...store, ...calls };
}
