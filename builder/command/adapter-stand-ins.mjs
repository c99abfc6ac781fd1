// Which adapter stands in for which, as hooks of Node's module loader. Used by adapter-hook.mjs.

/** Modules of installed packages, by the end of their address; a bundled configuration names them by it too. */
const standIns = [
  [
    /\/node_modules\/@sveltejs\/adapter-(?:auto|node|vercel|netlify)\/index\.js$/,
    new URL('../../packages/sveltekit/index.mjs', import.meta.url).href,
  ],
];

/** The hook of Node 22 and later. */
export function resolveSync(specifier, context, next) {
  return replaced(next(specifier, context));
}

/** The hook of Node 20, which runs in a thread of its own. */
export async function resolve(specifier, context, next) {
  return replaced(await next(specifier, context));
}

function replaced(found) {
  const address = found.url.replace(/[?#].*$/, '');
  const [, url] = standIns.find(([pattern]) => pattern.test(address)) ?? [];
  return url === undefined ? found : { ...found, url, format: 'module', shortCircuit: true };
}
