// What files of the guest use of modules of lazy/: each tells of itself once it runs, and is loaded by the first that
// asks (lazy.ts fills in how). Types only from there: they are not part of the snapshot.
import type { Crypto } from './lazy/crypto.ts';
import type * as eventClasses from './lazy/event-classes.ts';
import type * as formData from './lazy/form-data.ts';
import type * as inspection from './lazy/inspect.ts';
import type * as messages from './lazy/messages.ts';
import type * as storedValues from './lazy/stored-values.ts';

interface Modules {
  crypto: { readonly crypto: Crypto };
  'event-classes': Pick<typeof eventClasses, 'CloseEvent' | 'ErrorEvent' | 'MessageEvent' | 'PromiseRejectionEvent'>;
  'form-data': Pick<typeof formData, 'isFormData' | 'parseFormBody' | 'toMultipart'>;
  inspect: Pick<typeof inspection, 'format' | 'inspect'>;
  messages: Pick<typeof messages, 'structuredClone'>;
  'stored-values': Pick<typeof storedValues, 'fromStored' | 'toStored'>;
}

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
