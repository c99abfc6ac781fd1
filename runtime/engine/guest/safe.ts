// Containers that tenant code cannot observe. Tenant code may patch every built-in prototype (`Array.prototype.push`,
// `Map.prototype.set`, a setter on `Array.prototype[0]`), and a patched method would receive our values: for example an
// invocation, whose CPU account it could reset. These containers have their own methods and no prototype.

function makeSafe<Constructor extends { prototype: object }>(original: Constructor, safe: Constructor): Constructor {
  for (const key of Reflect.ownKeys(original.prototype)) {
    if (key === 'constructor') continue;
    Object.defineProperty(
      safe.prototype,
      key,
      Object.getOwnPropertyDescriptor(original.prototype, key) as PropertyDescriptor,
    );
  }
  Object.setPrototypeOf(safe.prototype, null);
  Object.freeze(safe.prototype);
  return safe;
}

/** A Map that tenants cannot reach. Iterate with `forEach` only: iterators have a patchable prototype. */
export const SafeMap = makeSafe(
  Map,
  class SafeMap<Key, Value> extends Map<Key, Value> {
    constructor() {
      super();
    }
  } as MapConstructor,
);

/** An array that tenants cannot reach, with indices and `length`, but without methods. */
export function safeArray<Item>(): { [index: number]: Item | undefined; length: number } {
  return Object.setPrototypeOf([], null) as { [index: number]: Item | undefined; length: number };
}

/** `JSON.stringify` and `JSON.parse`, captured before any tenant code. */
export const { stringify: toJson, parse: fromJson } = JSON;
