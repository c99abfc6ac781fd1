// Modules of lazy/ that other guest files use: each registers itself when it runs, and is loaded on first use
// (lazy.ts sets how). This file must not import these modules, since they are not part of the snapshot.

/** The exports of each module of lazy/, which the modules declare themselves. */
// oxlint-disable-next-line typescript/no-empty-object-type -- filled in by declarations
export interface Modules {}

const provided: Partial<Modules> = { __proto__: null } as object;

/** Functions that load a module, and provide the exports of another; set by lazy.ts. */
export const loader = {
  load: (_name: string): unknown => {
    throw new Error('Modules cannot be loaded before the guest is connected to its host');
  },
};

/** A module of lazy/ calls this function with the value for `useModule`. */
export function provideModule<Name extends keyof Modules>(name: Name, module: Modules[Name]): void {
  provided[name] = module;
}

/** A loaded module; undefined if it is not loaded, so no object of its classes exists. */
export function loadedModule<Name extends keyof Modules>(name: Name): Modules[Name] | undefined {
  return provided[name];
}

/** Returns a module, and loads it if necessary. */
export function useModule<Name extends keyof Modules>(name: Name): Modules[Name] {
  if (provided[name] === undefined) loader.load(name);
  return provided[name]!;
}
