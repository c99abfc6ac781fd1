// Builds the dashboard with Vite: index.html and hashed assets, without inline scripts or styles. Called by folder.ts
// in a clone and by `npm run pack`. Not packed itself.
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type InlineConfig, type Plugin } from 'vite';
import react from '@vitejs/plugin-react';

const root = join(import.meta.dirname, '../..');
const sources = join(root, 'dashboard/src');
/** Other inputs of the build besides the sources. */
const also = ['dashboard/build/build.ts', 'packages/worker/client.ts', 'package-lock.json'];

/** Modules that nearly every page uses: one file, rather than a request for each component. */
const BASE =
  /\/node_modules\/(?:react|react-dom|scheduler|use-sync-external-store|@tanstack\/(?:react-router|router-core|history|react-store|store|react-query|query-core))\/|\/dashboard\/src\/(?:api\/|state\/|components\/(?:button|class-names|copy-button|cursor-list|field|id|notice|page|skeleton|state|table|table-frame|tabs|text|time|unloaded)\.)/;

/** Builds into a folder, which is emptied first. @throws {Error} if a source does not compile. */
export async function buildDashboard(out: string): Promise<void> {
  const { NODE_ENV } = process.env;
  try {
    await build(configuration(out));
  } finally {
    // Vite sets this variable, and servers and platforms that this process starts would inherit it.
    if (NODE_ENV === undefined) delete process.env['NODE_ENV'];
    else process.env['NODE_ENV'] = NODE_ENV;
  }
}

/** Vite configuration. */
export function configuration(out: string): InlineConfig {
  return {
    root: sources,
    configFile: false,
    envFile: false,
    logLevel: 'error',
    plugins: [react(), withoutWrittenStyles, withPlainMarkers],
    resolve: {
      alias: { 'react-remove-scroll': join(sources, 'components/scroll-lock.tsx') },
    },
    build: {
      outDir: out,
      emptyOutDir: true,
      assetsDir: 'assets',
      // The page's content security policy forbids fonts and styles in data: URLs.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      target: ['chrome125', 'firefox128', 'safari18'],
      license: { fileName: 'licenses.md' },
      rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'base', test: BASE }] } } },
      chunkSizeWarningLimit: 1000,
    },
  };
}

/** Sonner injects its stylesheet at load, which the CSP forbids; toaster.tsx imports the file instead. */
const withoutWrittenStyles: Plugin = {
  name: 'without-written-styles',
  transform: {
    filter: { id: /\/sonner\/dist\/index\.mjs/ },
    handler: (code) => ({ code: code.replace(/^__insertCSS\(.*$/m, ''), map: null }),
  },
};

/**
 * Rolldown 1.3 appends a hash to the marker of each lazy import. The version of Vite used here was built for Rolldown
 * 1.2, and leaves the hash in the code, which then does not parse.
 */
const withPlainMarkers: Plugin = {
  name: 'with-plain-markers',
  generateBundle: {
    order: 'pre',
    handler(_options, bundle) {
      for (const chunk of Object.values(bundle))
        if (chunk.type === 'chunk') chunk.code = chunk.code.replace(/(__VITE_PRELOAD__)[0-9a-f]{32}/g, '$1');
    },
  },
};

/** Hash of all build inputs. */
export function sourcesHash(): string {
  const hash = createHash('sha256');
  const files = globSync('dashboard/src/**/*', { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  for (const file of [...files.sort(), ...also.map((name) => join(root, name))])
    hash
      .update(`${file.slice(root.length)}\0`)
      .update(readFileSync(file))
      .update('\0');
  return hash.digest('hex').slice(0, 16);
}
