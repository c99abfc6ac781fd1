// Bundler plugin for `cloudflare:*`: supported modules are in shims/, others fail when they are used. Used by
// bundle.ts.
import type { Plugin } from 'rolldown';
import { ownPath } from './node-compat.ts';

/** Modules with a file `cloudflare-<name>` in shims/. */
export const cloudflareModules: readonly string[] = ['email', 'node', 'sockets', 'workers', 'workflows'];

const MISSING_PREFIX = '\0platform:missing/';

/**
 * An import statement of an unknown module fails at build time, since its exports are not known; `import()` and
 * `require` fail at run time.
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
      // The module is CommonJS, which is evaluated when it is required and not with the bundle.
      handler: (id) => ({
        code: `throw new Error(${JSON.stringify(missingMessage(id.slice(MISSING_PREFIX.length)))});\nmodule.exports = {};`,
        moduleType: 'js',
      }),
    },
  };
}

/** The error for an unsupported module. */
function missingMessage(source: string): string {
  return `${source} is not available on this platform: there are ${cloudflareModules.map((name) => `cloudflare:${name}`).join(', ')}`;
}
