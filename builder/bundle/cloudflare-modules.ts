// The bundler plugin for `cloudflare:*`: those that are here are modules of shims/, any other one fails when it is
// used. Used by bundle.ts.
import type { Plugin } from 'rolldown';
import { ownPath } from './node-compat.ts';

/** Modules with a file in shims/, named `cloudflare-<name>`. */
export const cloudflareModules: readonly string[] = ['email', 'node', 'sockets', 'workers', 'workflows'];

const MISSING_PREFIX = '\0platform:missing/';

/**
 * An import statement of an unknown module is left to fail: what it would bind is not known. `import()` and `require`
 * are not.
 */
export function cloudflarePlugin(): Plugin {
  return {
    name: 'platform:cloudflare',
    resolveId: {
      filter: { id: /^cloudflare:/ },
      handler(source, _importer, { kind }) {
        const name = source.slice('cloudflare:'.length);
        if (cloudflareModules.includes(name))
          return { id: ownPath(`shims/cloudflare-${name}`), moduleSideEffects: false };
        return kind === 'dynamic-import' || kind === 'require-call'
          ? { id: MISSING_PREFIX + source, moduleSideEffects: true }
          : null;
      },
    },
    load: {
      filter: { id: /^\0platform:missing\// },
      // CommonJS, since that is evaluated where it is asked for and not with the bundle.
      handler: (id) => ({
        code: `throw new Error(${JSON.stringify(missingMessage(id.slice(MISSING_PREFIX.length)))});\nmodule.exports = {};`,
        moduleType: 'js',
      }),
    },
  };
}

/** What is said of a module that is not here. */
function missingMessage(source: string): string {
  return `${source} is not available on this platform: there are ${cloudflareModules.map((name) => `cloudflare:${name}`).join(', ')}`;
}
