// Replaces a package that cannot run in a worker: it can be imported, read, extended and passed on, and throws an error
// when it is called. Bundled by package-stand-ins.ts.

type Key = string | symbol;

/** @param message the message of the error */
export function impossiblePackage(message: string): unknown {
  const children = new Map<Key, unknown>();
  const fail = (): never => {
    throw Object.assign(new Error(message), { code: 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM' });
  };
  const childOf = (key: Key): unknown => {
    // A module is neither a promise nor a transpiled ES module.
    if (typeof key === 'symbol' || key === 'then' || key === '__esModule') return undefined;
    if (!children.has(key)) children.set(key, impossiblePackage(message));
    return children.get(key);
  };
  // `import { Pool }` reads from an object that inherits from the result of `require`.
  const exported = new Proxy({}, { get: (_, key) => childOf(key), has: (_, key) => childOf(key) !== undefined });
  // This is a function expression because it needs a prototype: packages extend classes of other packages while they
  // load.
  return new Proxy(function () {}, {
    apply: fail,
    construct: fail,
    get: (target, key) => (Object.hasOwn(target, key) ? Reflect.get(target, key) : childOf(key)),
    getPrototypeOf: () => exported,
  });
}
