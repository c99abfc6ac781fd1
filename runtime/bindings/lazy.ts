// Hands the scripts of rarely used APIs to the guest (runtime/guest/lazy.ts). They are ours; the name is a worker's word.
import type { SyncHostHandler } from '../bridge/host-calls.ts';

/** The calls over the scripts by module name. */
export function createLazyCalls(scripts: Readonly<Record<string, string>>): Readonly<Record<string, SyncHostHandler>> {
  return {
    'lazy.source'(args) {
      const { module } = (args ?? {}) as { module?: unknown };
      if (typeof module !== 'string' || !Object.hasOwn(scripts, module)) throw new TypeError('There is no such module');
      return scripts[module];
    },
  };
}
