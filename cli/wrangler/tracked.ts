// Tracks which values of a Wrangler configuration were read, so that `platform import` can list the unused values.
// Pure.

type Values = Readonly<Record<string, unknown>>;

/** A tracked configuration. */
interface Tracked {
  readonly values: Values;
  /** Unique paths of unread values, such as `d1_databases.jurisdiction`. */
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

/** Paths of all leaf values. */
export function leavesOf(value: unknown, path: string): string[] {
  if (!isNested(value)) return [path];
  return Object.entries(value).flatMap(([key, member]) => leavesOf(member, pathOf(path, Array.isArray(value), key)));
}

/** List indexes are omitted. */
function pathOf(path: string, isList: boolean, key: string): string {
  return isList ? path : path === '' ? key : `${path}.${key}`;
}
