// The adapter: an integration that makes Astro write worker and files into .platform/output. Plain JavaScript,
// because it runs in the Node and the Astro of the project; `platform build` uses it for apps with @astrojs/node, or
// without an adapter.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const OUTPUT = './.platform/output/';
const NAME = '@platform-run/astro';
/** Astro's default service for images, which no isolate can load. */
const SHARP = 'astro/assets/services/sharp';
const runtime = fileURLToPath(new URL('./runtime/', import.meta.url));

/** Ignores options, so that it can replace other adapters. */
export default function platform() {
  let config;
  let isServer = false;
  let redirects = [];
  return {
    name: NAME,
    hooks: {
      'astro:config:setup': ({ config: written, updateConfig }) => {
        const hasSessions = written.session === false || written.session?.driver !== undefined;
        updateConfig({
          ...(hasSessions ? {} : { session: { ...written.session, driver: { entrypoint: `${runtime}sessions.mjs` } } }),
          vite: { plugins: [workerModules(() => config)] },
        });
      },
      'astro:config:done': ({ config: final, setAdapter, buildOutput }) => {
        config = final;
        isServer = buildOutput === 'server';
        if (isServer) {
          const output = new URL(OUTPUT, config.root);
          const base = config.base.replace(/^\/|\/$/g, '');
          config.build.server = new URL('server/', output);
          config.build.client = new URL(base === '' ? 'public/' : `public/${base}/`, output);
          config.build.serverEntry = 'index.mjs';
        }
        setAdapter({
          name: NAME,
          entrypointResolution: 'auto',
          serverEntrypoint: `${runtime}worker.mjs`,
          adapterFeatures: { buildOutput, middlewareMode: 'classic' },
          supportedAstroFeatures: {
            staticOutput: 'stable',
            hybridOutput: 'stable',
            serverOutput: 'stable',
            envGetSecret: 'stable',
            i18nDomains: 'experimental',
            // `suppress: 'all'`, because every build would print the message, even without images. README.md has it
            // instead.
            sharpImageService: {
              support: 'limited',
              message: 'Images of on-demand pages are served unchanged.',
              suppress: 'all',
            },
          },
        });
      },
      'astro:routes:resolved': ({ routes }) => {
        redirects = routes.filter(
          ({ type, isPrerendered, params }) => type === 'redirect' && isPrerendered && params.length === 0,
        );
      },
      'astro:build:start': () => {
        if (isServer) rmSync(new URL(OUTPUT, config.root), { recursive: true, force: true });
      },
      'astro:build:done': () => {
        if (isServer) writeRules(config, redirects);
      },
      'astro:server:setup': ({ server }) => {
        server.middlewares.use((request, _response, next) => {
          const env = globalThis[Symbol.for('platform.env')] ?? {};
          request[Symbol.for('astro.locals')] = {
            ...request[Symbol.for('astro.locals')],
            platform: { env, ctx: { waitUntil() {} } },
          };
          next();
        });
      },
    },
  };
}

/**
 * Makes the modules in runtime/ import the project's Astro, wherever this package is installed. Images of on-demand
 * pages are served unchanged.
 */
function workerModules(configOf) {
  return {
    name: NAME,
    enforce: 'pre',
    resolveId: {
      order: 'pre',
      handler(source, importer, options) {
        const { root, image } = configOf();
        if (source === 'virtual:image-service' && this.environment.name === 'ssr' && image.service.entrypoint === SHARP)
          return `${runtime}images.mjs`;
        if (importer?.startsWith(runtime) && source.startsWith('astro/'))
          return this.resolve(source, fileURLToPath(new URL('package.json', root)), { ...options, skipSelf: true });
        return null;
      },
    },
  };
}

/**
 * Writes `_headers` and `_redirects`, with paths from the root of the served files. Files with a hash in their name
 * never change. For redirects known at build time, Astro creates a page that browsers follow.
 */
function writeRules({ root, base, build }, redirects) {
  const top = fileURLToPath(new URL(`${OUTPUT}public/`, root));
  const client = fileURLToPath(build.client);
  const below = base.replace(/\/$/, '');
  const own = {
    _headers: `${below}/${build.assets}/*\n  ! Cache-Control\n  Cache-Control: public, max-age=31536000, immutable\n`,
    _redirects: redirects
      .map(({ pattern, redirect }) => {
        const { destination, status = 301 } = typeof redirect === 'string' ? { destination: redirect } : redirect;
        return `${below}${pattern} ${destination} ${status}\n`;
      })
      .join(''),
  };
  for (const [name, rules] of Object.entries(own)) {
    const file = path.join(client, name);
    const text = existsSync(file) ? `${readFileSync(file, 'utf8')}\n${rules}` : rules;
    rmSync(file, { force: true });
    if (text !== '') writeFileSync(path.join(top, name), text);
  }
}
