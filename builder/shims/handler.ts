// The last module of every bundle: converts the worker's exports to the shape that the guest calls, an object of
// methods. Handlers remain methods of their original object, which keeps `this` correct.

/** Exports that are handlers if the module exports them by name. */
export interface NamedExports {
  readonly [name: string]: unknown;
}

type Method = (...args: unknown[]) => unknown;
type EntryClass = new (ctx: unknown, env: unknown) => Record<string, Method>;

/**
 * @param main the default export: an object (or callable) with `fetch`, a class, a function, or nothing
 * @param named handlers exported by name; used if `main` does not have them
 * @param exported all exports of the worker's module: its entrypoints and classes of durable objects are among them
 * @returns the handler object, or undefined for workers that listen with addEventListener
 */
export function toHandler(main: unknown, named: NamedExports, exported: object): unknown {
  (globalThis as Record<symbol, unknown>)[Symbol.for('platform.entrypoints')] = exported;
  const handler = fromDefault(main);
  const added = Object.entries(named).filter(([name, value]) => value !== undefined && !has(handler, name));
  if (added.length === 0) return handler;
  const joined: Record<string, unknown> = Object.fromEntries(added);
  for (const name of Object.keys(named)) {
    if (!has(handler, name)) continue;
    const own = handler[name];
    joined[name] = typeof own === 'function' ? (...args: unknown[]) => (handler[name] as Method)(...args) : own;
  }
  return joined;
}

function has(value: unknown, name: string): value is Record<string, unknown> {
  return (
    value !== null &&
    (typeof value === 'object' || typeof value === 'function') &&
    (value as Record<string, unknown>)[name] !== undefined
  );
}

function fromDefault(main: unknown): unknown {
  if (typeof main !== 'function' || has(main, 'fetch')) return main;
  if (isClass(main)) return fromClass(main as unknown as EntryClass);
  return { fetch: main };
}

function isClass(main: object): boolean {
  return /^class\b/.test(Function.prototype.toString.call(main));
}

/** A class is instantiated for each invocation, because `this.ctx` and `this.env` belong to one invocation. */
function fromClass(Entry: EntryClass): Record<string, Method> {
  const methods: Record<string, Method> = {};
  for (let level = Entry.prototype; level && level !== Object.prototype; level = Object.getPrototypeOf(level)) {
    for (const name of Object.getOwnPropertyNames(level)) {
      if (
        name === 'constructor' ||
        name in methods ||
        typeof Object.getOwnPropertyDescriptor(level, name)?.value !== 'function'
      )
        continue;
      methods[name] = (event, env, ctx, ...rest) => new Entry(ctx, env)[name]!(event, env, ctx, ...rest);
    }
  }
  return methods;
}
