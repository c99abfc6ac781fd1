// Provides the scripts of rarely used APIs to the guest (runtime/engine/guest/lazy.ts). The scripts belong to the
// platform, but the requested name comes from a worker.
import type { SyncHostFunction } from '../bridge/host-calls.ts';

/** A script and V8's code cache for it in base64. */
interface LazyScript {
  readonly code: string;
  readonly cache: string;
}

/** The calls over the scripts by module name. */
export function createLazyCalls(
  scripts: Readonly<Record<string, LazyScript>>,
): Readonly<Record<string, SyncHostFunction>> {
  const caches: Record<string, string> = {};
  const nameOf = (args: unknown): string => {
    const { module } = (args ?? {}) as { module?: unknown };
    if (typeof module !== 'string' || !Object.hasOwn(scripts, module)) throw new TypeError('There is no such module');
    return module;
  };
  return {
    'lazy.source': (args) => scripts[nameOf(args)]!.code,
    'lazy.cache'(args) {
      const name = nameOf(args);
      return (caches[name] ??= Buffer.from(scripts[name]!.cache, 'base64').toString('latin1'));
    },
  };
}
