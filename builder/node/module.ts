// node:module: an isolate can load no module at run time, except Node modules that the bundle requests literally. For
// all other names, `createRequire` works until the result is called. Bundled into workers by node-compat.ts.
import { builtinModules } from 'unenv/node/module';
import { unavailable } from './unavailable.ts';

export { builtinModules };

export function isBuiltin(name: string): boolean {
  return name.startsWith('node:') || (builtinModules as readonly string[]).includes(name);
}

const providers = /* @__PURE__ */ new Map<string, () => unknown>();
const provided = /* @__PURE__ */ new Map<string, unknown>();

/** Makes `createRequire(...)(name)` return the result of `make`, which is called once. */
export function provideModule(name: string, make: () => unknown): void {
  providers.set(name, make);
}

/** The function with which Node would load modules; here it throws an error with advice. */
export function createRequire(_from: string | URL): (name: string) => unknown {
  const load = (name: string): unknown => {
    const plain = name.replace(/^node:/, '');
    const make = providers.get(plain);
    if (make !== undefined) {
      if (!provided.has(plain)) provided.set(plain, make());
      return provided.get(plain);
    }
    throw new Error(
      `require(${JSON.stringify(name)}) cannot load a module while a worker runs: import it, so that it is bundled`,
    );
  };
  return Object.assign(load, { resolve: load, cache: {}, extensions: {}, main: undefined });
}

export const syncBuiltinESMExports = (): void => {};
export const findSourceMap = (): undefined => undefined;
export const register = /* @__PURE__ */ unavailable('module.register');
export const runMain = /* @__PURE__ */ unavailable('module.runMain');

/** Callable and extendable, as packages that patch `Module.prototype.require` expect. */
export function Module(this: { id: string; exports: object } | undefined, id = ''): void {
  if (this) Object.assign(this, { id, exports: {} });
}
Module.prototype.require = createRequire('/');
Object.assign(Module, {
  Module,
  builtinModules,
  createRequire,
  isBuiltin,
  syncBuiltinESMExports,
  findSourceMap,
  register,
  runMain,
  _cache: {},
  _extensions: {},
});

export default Module;
