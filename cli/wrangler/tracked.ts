// Remembers which values of a configuration were looked at, so that an import can name those that nobody took. Pure.

type Values = Readonly<Record<string, unknown>>;

/** A configuration under watch. */
export interface Tracked {
  readonly values: Values;
  /** Paths of values that were not looked at, such as `d1_databases.jurisdiction`, each once. */
  unread(): string[];
}

/** @example const { values, unread } = tracked({ a: { b: 1 } }); unread() // ['a.b'] */
export function tracked(given: Values): Tracked {
  const read = new Set<string>();
  return {
    values: watched(given, '', read) as Values,
    unread: () => [...new Set(leavesOf(given, ''))].filter((path) => !read.has(path)),
  };
}

const isNested = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !(value instanceof Date);

function watched(value: object, path: string, read: Set<string>): object {
  return new Proxy(value, {
    get(target, key, receiver) {
      const member: unknown = Reflect.get(target, key, receiver);
      if (typeof key !== 'string' || (Array.isArray(target) && !/^\d+$/.test(key))) return member;
      const at = pathOf(path, Array.isArray(target), key);
      if (isNested(member)) return watched(member, at, read);
      read.add(at);
      return member;
    },
  });
}

/** Paths of all values that are no tables or lists. */
export function leavesOf(value: unknown, path: string): string[] {
  if (!isNested(value)) return [path];
  return Object.entries(value).flatMap(([key, member]) => leavesOf(member, pathOf(path, Array.isArray(value), key)));
}

/** Places in a list have no name. */
function pathOf(path: string, isList: boolean, key: string): string {
  return isList ? path : path === '' ? key : `${path}.${key}`;
}
