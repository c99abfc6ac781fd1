// The preset: a folder named by NITRO_PRESET, for Nitro 2, the base of Nuxt 4, and Nitro 3, the base of SolidStart 2.
// `platform build` sets NITRO_PRESET. Plain JavaScript, because it runs in the Node and the Nitro of the project.
import { existsSync } from 'node:fs';
import { builtinModules, createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeRules } from './static-rules.mjs';

const OUTPUT = '{{ rootDir }}/.platform/output';

export default {
  _meta: { name: 'platform' },
  entry: fileURLToPath(new URL('./runtime/worker.mjs', import.meta.url)),
  node: false,
  noExternals: true,
  // The platform serves static files before the worker runs.
  serveStatic: false,
  // The platform bundles the worker, and removes unused code.
  minify: false,
  exportConditions: ['workerd', 'worker'],
  output: { dir: OUTPUT, publicDir: `${OUTPUT}/public/{{ baseURL }}`, serverDir: `${OUTPUT}/server` },
  // `about.html` is served at /about, without a redirect to /about/.
  prerender: { autoSubfolderIndex: false },
  rollupConfig: {
    output: { format: 'esm', exports: 'named', entryFileNames: 'index.mjs', inlineDynamicImports: false },
  },
  wasm: { lazy: false, esmImport: true },
  unenv: [platformNode()],
  modules: [setUp],
  commands: { preview: 'npx platform dev', deploy: 'npx platform deploy' },
};

/** Sets Nitro 3's own worker, and leaves a fully generated site in its usual folder. */
function setUp(nitro) {
  const { options } = nitro;
  if (nitro.meta?.majorVersion === 3 && !options.static) useWorkerOf3(options);
  if (options.static) {
    const dir = `${options.rootDir}/.output`;
    Object.assign(options.output, { dir, publicDir: `${dir}/public${options.baseURL}`, serverDir: `${dir}/server` });
    return;
  }
  // The removed preset would add a second `process` and `Buffer` to the worker.
  options.unenv = options.unenv.filter(({ meta }) => meta?.name !== 'nitro-nodeless');
  nitro.hooks.hook('compiled', () => writeRules(options));
}

/** Nitro 3 has a worker in the platform's format, which the worker of this package wraps. */
function useWorkerOf3(options) {
  const folder = path.dirname(createRequire(path.join(options.rootDir, 'package.json')).resolve('nitro/package.json'));
  const own = path.join(folder, 'dist/presets/cloudflare/runtime/cloudflare-module.mjs');
  if (!existsSync(own))
    throw new Error(
      '@platform-run/nitro does not know this version of Nitro 3: say in platform.yaml "build: NITRO_PRESET=cloudflare_module ' +
        'npm run build", "main: .output/server/index.mjs" and "out: .output/public"',
    );
  options.entry = fileURLToPath(new URL('./runtime/worker-of-3.mjs', import.meta.url));
  options.alias['#platform/worker'] = own;
}

/** Keeps Node's modules and globals unchanged: the platform has its own, instead of those of unenv. */
function platformNode() {
  const names = builtinModules.filter((name) => !name.startsWith('_')).map((name) => name.replace(/^node:/, ''));
  const alias = Object.fromEntries(
    names.flatMap((name) => [
      [`node:${name}`, `node:${name}`],
      [name, `node:${name}`],
    ]),
  );
  const globals = ['process', 'global', 'Buffer', 'setImmediate', 'clearImmediate'];
  return {
    meta: { name: 'platform' },
    alias,
    external: [...names.map((name) => `node:${name}`), 'cloudflare:workers'],
    inject: Object.fromEntries(globals.map((name) => [name, false])),
  };
}
