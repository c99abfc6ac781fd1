// The value of `require('node:x')` for CommonJS code, which can assign its properties in Node. Bundled by
// node-compat.ts.

/**
 * The namespace of a module as one mutable object. If the default export is a function or a proxy, the object is that
 * export.
 */
export function toMutable(namespace: Readonly<Record<string, unknown>>): unknown {
  const { default: base, ...named } = namespace;
  if (typeof base !== 'function') return { ...(base as object), ...named };
  for (const [key, value] of Object.entries(named)) {
    if (!(key in base))
      Object.defineProperty(base, key, { value, writable: true, enumerable: true, configurable: true });
  }
  return base;
}
