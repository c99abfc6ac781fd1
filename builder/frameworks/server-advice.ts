// How to build a project whose framework renders on a server: advice by the ids of table.ts. Data only. Used when a
// build fails.

const advice: Readonly<Record<string, string>> = {
  next: `set output: 'export' in next.config and say "kind: static", "build: next build", "out: out" in platform.yaml`,
  nuxt: 'leave "nitro.preset" out of nuxt.config, so that the platform gives its own; or say "kind: static", "build: nuxt generate", "out: .output/public"',
  sveltekit:
    'use @platform-run/sveltekit or @sveltejs/adapter-auto as adapter; or @sveltejs/adapter-static, with "kind: static" and "out: build" in platform.yaml',
  astro: `use @platform-run/astro as adapter; or leave out "output: 'server'" and say "kind: static", "build: astro build", "out: dist"`,
  'react-router':
    'set ssr: false in react-router.config and say "kind: static", "out: build/client"; or name the worker it makes as "main"',
  remix: 'use its single-page mode and say "kind: static", "out: build/client"',
  angular:
    'build it for the neutral platform (docs/frameworks.md); or set outputMode to "static" and say "kind: static", "out: dist/<name>/browser"',
  'tanstack-start':
    'prerender it and say "kind: static"; or build with its preset for workers and name the worker as "main"',
  'solid-start': 'have nitro() in vite.config, without a preset: the platform gives its own',
  qwik: 'run `npm run qwik add cloudflare-pages`; or use its adapter for static sites and say "kind: static", "out: dist"',
  analog: 'prerender it and say "kind: static", "out: dist/analog/public"',
};

/** Alternatives to a server. */
export function serverAdvice(id: string | undefined): string {
  return (
    advice[id ?? ''] ??
    'say "kind: static" with the build command and "out" for a site that is generated whole, or "kind: dynamic" with "main" for a worker'
  );
}
