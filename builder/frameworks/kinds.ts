// The kind of project that each framework produces, by its configuration: a worker (dynamic), a Node server (ssr) or
// only files (static). Pure: it reads texts and runs no code. Called by detect.ts.
import { isObject, parseObject, type ProjectView } from './project-view.ts';
import { adaptedOutput } from './table.ts';

export type Kind = 'static' | 'ssr' | 'dynamic';

/** The result for a framework's configuration. */
export interface Decision {
  readonly kind: Kind;
  /** The reason, for the log. */
  readonly because: string;
  /** Worker created by the build; for `dynamic`, if it has a fixed path. */
  readonly main?: string;
  /** Client folders that replace the framework's defaults. */
  readonly out?: readonly string[];
  /** Command that starts the built server; for `ssr`, if the project has no script `start`. */
  readonly start?: string;
  /** A problem that prevents the build, with a fix. */
  readonly problem?: string;
}

/** The Vite plugin for our isolates; with it, the build creates a worker. */
export const vitePluginPackage = '@platform-run/vite';

/** How to determine the kind, by the ids of table.ts; frameworks that are not listed produce only files. */
export const decideKind: Readonly<Record<string, (project: ProjectView) => Decision>> = {
  vinext: () => ({ kind: 'dynamic', because: 'vinext builds a worker' }),
  next: (project) => {
    if (/\boutput\s*:\s*['"`]export['"`]/.test(project.config('next.config')))
      return { kind: 'static', because: `next.config has output: 'export'` };
    if (/\bnext export\b/.test(project.scripts.get('build') ?? ''))
      return { kind: 'static', because: 'the script "build" exports all pages' };
    return { kind: 'ssr', because: 'Next.js renders pages on a server', out: ['.next'], start: 'next start' };
  },
  // Our preset creates the worker, which adapters.ts finds.
  nuxt: nitroApp('nuxt.config'),
  nitro: nitroApp('nitro.config'),
  'solid-start': (project) =>
    hasWorkerPlugin(project)
      ? { kind: 'dynamic', because: 'its Vite plugin builds a worker' }
      : nitroApp('app.config', 'vite.config')(project),
  analog: (project) =>
    /\bstatic\s*:\s*true\b/.test(project.config('vite.config'))
      ? { kind: 'static', because: 'vite.config has static: true' }
      : { kind: 'dynamic', because: 'Analog renders pages with Nitro' },
  sveltekit: decideSvelteKit,
  astro: decideAstro,
  angular: decideAngular,
  'react-router': (project) => {
    if (/\bssr\s*:\s*false\b/.test(project.config('react-router.config')))
      return { kind: 'static', because: 'react-router.config has ssr: false' };
    if (hasWorkerPlugin(project)) return { kind: 'dynamic', because: 'its Vite plugin builds a worker' };
    return {
      kind: 'ssr',
      because: `React Router renders pages on a server, and ${vitePluginPackage} is not installed`,
      start: 'react-router-serve ./build/server/index.js',
    };
  },
  remix: (project) =>
    /\bssr\s*:\s*false\b/.test(project.config('vite.config'))
      ? { kind: 'static', because: 'vite.config has ssr: false', out: ['build/client'] }
      : {
          kind: 'ssr',
          because: 'Remix renders pages on a server',
          start: 'remix-serve ./build/server/index.js',
        },
  'tanstack-start': (project) => {
    if (hasWorkerPlugin(project)) return { kind: 'dynamic', because: 'its Vite plugin builds a worker' };
    if (/\bnitro(?:V2Plugin)?\s*\(/.test(project.config('vite.config')))
      return { kind: 'dynamic', because: 'vite.config has Nitro' };
    return {
      kind: 'dynamic',
      because: 'TanStack Start builds a request handler',
      main: 'dist/server/server.js',
      out: ['dist/client'],
    };
  },
  qwik: decideQwik,
};

function hasWorkerPlugin(project: ProjectView): boolean {
  return project.dependsOn(vitePluginPackage) || project.packages.has('@cloudflare/vite-plugin');
}

function nitroApp(...configs: readonly string[]): (project: ProjectView) => Decision {
  return (project) => {
    const build = project.scripts.get('build') ?? '';
    if (/\bnux[it]\s+generate\b/.test(build))
      return { kind: 'static', because: 'the script "build" generates all pages' };
    const isStatic = configs.find((name) => /\bpreset\s*:\s*['"`]static['"`]/.test(project.config(name)));
    if (isStatic !== undefined) return { kind: 'static', because: `${isStatic} has the preset static` };
    return { kind: 'dynamic', because: 'Nitro builds a worker', out: [`${adaptedOutput}/public`] };
  };
}

function decideSvelteKit(project: ProjectView): Decision {
  const config = project.config('svelte.config') + project.config('vite.config');
  const [, adapter] = /['"](?:@sveltejs\/)?(?:svelte-)?adapter-([\w-]+)['"]/.exec(config) ?? [];
  if (adapter === 'static') return { kind: 'static', because: 'it uses adapter-static', out: ['build'] };
  if (adapter === 'cloudflare')
    return {
      kind: 'dynamic',
      because: 'it uses adapter-cloudflare',
      main: '.svelte-kit/cloudflare/_worker.js',
      out: ['.svelte-kit/cloudflare'],
    };
  if (adapter === 'node')
    return { kind: 'ssr', because: 'it uses adapter-node', out: ['build/client'], start: 'node build' };
  if (adapter === undefined && !/platform-run\/sveltekit/.test(config))
    return {
      kind: 'dynamic',
      because: 'SvelteKit renders pages on a server',
      problem:
        'SvelteKit has no adapter: add @platform-run/sveltekit (or @sveltejs/adapter-auto) as "adapter" to vite.config, in sveltekit({ ... }), or to svelte.config.js',
    };
  return {
    kind: 'dynamic',
    because: `it uses ${adapter === undefined ? '@platform-run/sveltekit' : `adapter-${adapter}`}`,
  };
}

function decideAstro(project: ProjectView): Decision {
  const config = project.config('astro.config');
  const isServer = /\boutput\s*:\s*['"`](?:server|hybrid)['"`]/.test(config);
  const adapter = /\badapter\s*:/.test(config);
  if (!isServer && !adapter) return { kind: 'static', because: 'astro.config has no adapter', out: ['dist'] };
  const because = adapter ? 'astro.config has an adapter' : `astro.config has output: 'server'`;
  // Our adapter hooks into the configuration with defineConfig.
  if (isServer && !adapter && !/\bdefineConfig\s*\(/.test(config))
    return {
      kind: 'dynamic',
      because,
      problem: `Astro renders pages on a server (output: 'server') and has no adapter: wrap astro.config in defineConfig() of 'astro/config', or add @platform-run/astro as "adapter" to it`,
    };
  return { kind: 'dynamic', because };
}

function decideAngular(project: ProjectView): Decision {
  const { projects, defaultProject } = parseObject(project.text('angular.json') ?? '{}');
  const all = isObject(projects) ? projects : {};
  const name =
    typeof defaultProject === 'string' && isObject(all[defaultProject]) ? defaultProject : Object.keys(all)[0];
  const options =
    below(all[name ?? ''], 'architect', 'build', 'options') ?? below(all[name ?? ''], 'targets', 'build', 'options');
  if (name === undefined || options === null)
    return { kind: 'static', because: 'angular.json says nothing of a server' };
  const { outputPath, outputMode, ssr } = options;
  const base = isObject(outputPath) ? outputPath['base'] : outputPath;
  const folder = typeof base === 'string' ? base.replace(/\/+$/, '') : `dist/${name}`;
  const out = [`${folder}/browser`, folder];
  if (outputMode === 'static' || ssr === undefined || ssr === false)
    return { kind: 'static', because: 'angular.json has no server', out };
  const platform = isObject(ssr) ? (ssr['platform'] ?? ssr['experimentalPlatform']) : null;
  if (platform === 'neutral')
    return {
      kind: 'dynamic',
      because: 'angular.json builds a server for the neutral platform',
      main: `${folder}/server/server.mjs`,
      out,
    };
  return {
    kind: 'ssr',
    because: 'angular.json builds a server for Node',
    out,
    start: `node ${folder}/server/server.mjs`,
  };
}

/** A value in nested objects; null if a level is missing. */
function below(value: unknown, ...keys: readonly string[]): Readonly<Record<string, unknown>> | null {
  let at = value;
  for (const key of keys) at = isObject(at) ? at[key] : null;
  return isObject(at) ? at : null;
}

function decideQwik(project: ProjectView): Decision {
  const adapters = project.names('adapters');
  if (adapters.includes('static') || adapters.includes('static-generator'))
    return { kind: 'static', because: 'it has the adapter for static sites' };
  if (adapters.includes('cloudflare-pages'))
    return { kind: 'dynamic', because: 'it has the adapter cloudflare-pages', main: 'dist/_worker.js', out: ['dist'] };
  const server = ['express', 'fastify', 'node-server'].find((name) => adapters.includes(name));
  if (server !== undefined)
    return { kind: 'ssr', because: `it has the adapter ${server}`, start: `node server/entry.${server}` };
  return {
    kind: 'dynamic',
    because: 'Qwik renders pages on a server',
    problem: 'Qwik has no adapter: run `npm run qwik add cloudflare-pages` (a worker) or `npm run qwik add static`',
  };
}
