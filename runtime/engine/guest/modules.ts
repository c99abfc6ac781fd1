// What files of the guest use of modules of lazy/: each tells of itself once it runs, and is loaded by the first that
// asks (lazy.ts fills in how). Nothing is imported from there: they are not part of the snapshot.

/** What each module of lazy/ provides, which declares it. */
// oxlint-disable-next-line typescript/no-empty-object-type -- filled in by declarations
export interface Modules {}

const provided: Partial<Modules> = { __proto__: null } as object;

/** How a module is loaded, and what of another one: filled in by lazy.ts. */
export const loader = {
  load: (_name: string): unknown => {
    throw new Error('Modules cannot be loaded before the guest has its host');
  },
};

/** Called by a module of lazy/ with what `useModule` is to give. */
export function provideModule<Name extends keyof Modules>(name: Name, module: Modules[Name]): void {
  provided[name] = module;
}

/** A module that somebody has loaded; undefined: nobody yet, so no object of its classes exists. */
export function loadedModule<Name extends keyof Modules>(name: Name): Modules[Name] | undefined {
  return provided[name];
}

/** A module, loaded where it is not yet there. */
export function useModule<Name extends keyof Modules>(name: Name): Modules[Name] {
  if (provided[name] === undefined) loader.load(name);
  return provided[name]!;
}
