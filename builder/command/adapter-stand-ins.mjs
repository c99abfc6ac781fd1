// Maps adapters to our replacements, as hooks of Node's module loader. Used by adapter-hook.mjs.

const sveltekit = new URL('../../packages/sveltekit/index.mjs', import.meta.url).href;
const astro = new URL('../../packages/astro/index.mjs', import.meta.url).href;

/** Modules to replace, by the end of their URL in node_modules; bundled configurations import them by this URL too. */
const standIns = [
  [/\/node_modules\/@sveltejs\/adapter-(?:auto|node|vercel|netlify)\/index\.js$/, () => sveltekit],
  [/\/node_modules\/@astrojs\/(?:node|vercel|netlify|cloudflare)\/dist\/index\.js$/, () => astro],
  [/\/node_modules\/astro\/dist\/config\/entrypoint\.js$/, astroConfig],
];

/** Query of a URL with which a replacement imports the original module. */
const ORIGINAL = '?original';

/** `astro/config`, whose `defineConfig` adds an adapter to projects that set none. */
function astroConfig(url) {
  const source = [
    `import { defineConfig as define } from ${JSON.stringify(url + ORIGINAL)};`,
    `import adapter from ${JSON.stringify(astro)};`,
    `export * from ${JSON.stringify(url + ORIGINAL)};`,
    `export const defineConfig = (config) => define({ ...config, adapter: config.adapter ?? adapter() });`,
  ];
  return `data:text/javascript,${encodeURIComponent(source.join('\n'))}`;
}

/** The hook of Node 22 and later. */
export function resolveSync(specifier, context, next) {
  return replaced(next(specifier, context));
}

/** The hook of Node 20, which runs in a separate thread. */
export async function resolve(specifier, context, next) {
  return replaced(await next(specifier, context));
}

function replaced(found) {
  if (found.url.endsWith(ORIGINAL)) return found;
  const address = found.url.replace(/[?#].*$/, '');
  const [, standIn] = standIns.find(([pattern]) => pattern.test(address)) ?? [];
  return standIn === undefined ? found : { ...found, url: standIn(address), format: 'module', shortCircuit: true };
}
