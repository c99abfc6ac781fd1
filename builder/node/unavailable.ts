// Replaces a Node module (or export) that cannot work in an isolate: it can be imported, read, extended and passed on,
// and throws a clear error when called. Bundled into workers by node-compat.ts.

type Key = string | symbol;

/**
 * @param name shown in the error: `fs` or `fs.readFile`
 * @param real exports that do work
 */
export function unavailable(name: string, real: Readonly<Record<string, unknown>> = {}): unknown {
  const children = new Map<Key, unknown>();
  const fail = (): never => {
    const module = name.split('.')[0];
    const advice = /^https?\.(?:createServer|Server)$/.test(name)
      ? ': export a fetch handler, or run it as a server for Node with "kind: ssr"'
      : '';
    throw Object.assign(new Error(`${name} was called, but node:${module} is not available in a worker${advice}`), {
      code: 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM',
    });
  };
  // A function expression, so that it has a prototype: packages extend net.Socket while they load.
  return new Proxy(function () {}, {
    apply: fail,
    construct: fail,
    get(target, key) {
      if (Object.hasOwn(real, key)) return real[key as string];
      // A module is neither a promise nor a transpiled ES module.
      if (typeof key === 'symbol' || key === 'then' || key === '__esModule' || Object.hasOwn(target, key))
        return Reflect.get(target, key);
      if (!children.has(key)) children.set(key, unavailable(`${name}.${key}`));
      return children.get(key);
    },
  });
}
