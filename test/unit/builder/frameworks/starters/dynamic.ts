// Starters whose projects are of kind dynamic: a worker of their own, or one that their framework builds.
import { manifest, type Starter } from './starter.ts';

const npmRun = 'npm run build';
const nitroOut = '.platform/output/public';
const dynamicByScript = ['kind: dynamic', 'build: npm run build'];

export const dynamicStarters: Readonly<Record<string, Starter>> = {
  Nuxt: {
    files: {
      'package.json': manifest({ nuxt: '^4.5.2' }, { dev: 'nuxt dev', build: 'nuxt build' }),
      'nuxt.config.ts': '',
    },
    framework: 'nuxt 4.5.2',
    kind: 'dynamic',
    build: npmRun,
    out: nitroOut,
    dev: 'npm run dev -- --port 3001 --host localhost',
    yaml: dynamicByScript,
  },
  'SvelteKit 2': {
    files: {
      'package.json': manifest({ '@sveltejs/kit': '^2.70.4', vite: '8' }, { dev: 'vite dev', build: 'vite build' }),
      'vite.config.ts': `import adapter from '@sveltejs/adapter-auto'; export default { plugins: [sveltekit({ adapter: adapter() })] };`,
    },
    framework: 'sveltekit 2.70.4',
    kind: 'dynamic',
    build: npmRun,
    out: 'build',
    dev: 'npm run dev -- --port 3001 --host localhost',
    yaml: dynamicByScript,
  },
  'Astro with a server and no adapter': {
    files: {
      'package.json': manifest({ astro: '^7.3.5' }, { dev: 'astro dev', build: 'astro build' }),
      'astro.config.mjs': `import { defineConfig } from 'astro/config'; export default defineConfig({ output: 'server' });`,
    },
    framework: 'astro 7.3.5',
    kind: 'dynamic',
    build: npmRun,
    out: 'dist/client',
    dev: 'npm run dev -- --port 3001 --host localhost',
    yaml: dynamicByScript,
  },
  'Astro with its adapter for Node, which ours takes the place of': {
    files: {
      'package.json': manifest({ astro: '^7.3.5', '@astrojs/node': '^11.0.0' }, { build: 'astro build' }),
      'astro.config.mjs': `export default defineConfig({ adapter: node({ mode: 'standalone' }) });`,
    },
    framework: 'astro 7.3.5',
    kind: 'dynamic',
    build: npmRun,
    out: 'dist/client',
    dev: 'astro dev --port 3001 --host localhost',
    yaml: dynamicByScript,
  },
  'SolidStart 2': {
    files: {
      'package.json': manifest(
        { '@solidjs/start': '2.0.5', nitro: '3.0.260903-beta', vite: '^8.3.8' },
        { dev: 'vite dev', build: 'vite build', preview: 'vite preview' },
      ),
      'vite.config.ts': 'export default defineConfig({ plugins: [solidStart(), nitro()] });',
    },
    framework: 'solid-start 2.0.5',
    kind: 'dynamic',
    build: npmRun,
    out: nitroOut,
    dev: 'npm run dev -- --port 3001 --host localhost',
    yaml: dynamicByScript,
  },
  'Nitro 2': {
    files: {
      'package.json': manifest(
        { nitropack: '^2.13.6' },
        { dev: 'nitro dev', build: 'nitro build', preview: 'node .output/server/index.mjs' },
      ),
      'nitro.config.ts': 'export default defineNitroConfig({ srcDir: "server" });',
      'server/routes/index.ts': 'export default defineEventHandler(() => "hello");',
    },
    framework: 'nitro 2.13.6',
    kind: 'dynamic',
    build: npmRun,
    out: nitroOut,
    dev: 'npm run dev -- --port 3001 --host localhost',
    yaml: dynamicByScript,
  },
  'Nitro 3 as a plugin of Vite': {
    files: {
      'package.json': manifest({ nitro: '3.0.260903-beta', vite: '^8.3.8' }, { dev: 'vite dev', build: 'vite build' }),
      'vite.config.ts': 'export default defineConfig({ plugins: [nitro()] });',
    },
    framework: 'nitro 3.0.260903-beta',
    kind: 'dynamic',
    build: npmRun,
    out: nitroOut,
    dev: 'npm run dev',
    yaml: dynamicByScript,
  },
  'Nitro without scripts': {
    files: { 'package.json': manifest({ nitropack: '^2.13.6' }), 'routes/index.ts': '' },
    framework: 'nitro 2.13.6',
    kind: 'dynamic',
    build: 'nitro build',
    out: nitroOut,
    dev: 'nitro dev --port 3001 --host localhost',
    yaml: ['kind: dynamic', 'build: nitro build'],
  },
  'TanStack Start': {
    files: {
      'package.json': manifest(
        { '@tanstack/react-start': '^1.169.5', vite: '^8.3.8' },
        { dev: 'vite dev', build: 'vite build', start: 'node .output/server/index.mjs' },
      ),
      'vite.config.ts': 'export default defineConfig({ plugins: [tanstackStart(), viteReact()] });',
    },
    framework: 'tanstack-start 1.169.5',
    kind: 'dynamic',
    build: npmRun,
    main: 'dist/server/server.js',
    out: 'dist/client',
    dev: 'npm run dev -- --port 3001 --host localhost',
    yaml: ['kind: dynamic', 'build: npm run build', 'main: dist/server/server.js'],
  },
  'Angular with a server for the neutral platform': {
    files: {
      'package.json': manifest({ '@angular/core': '^22.2.0' }, { start: 'ng serve', build: 'ng build' }),
      'angular.json': JSON.stringify({
        projects: {
          shop: {
            architect: {
              build: { options: { outputMode: 'server', ssr: { entry: 'src/server.ts', platform: 'neutral' } } },
            },
          },
        },
      }),
    },
    framework: 'angular 22.2.0',
    kind: 'dynamic',
    build: npmRun,
    main: 'dist/shop/server/server.mjs',
    out: 'dist/shop/browser',
    dev: 'npm run start -- --port 3001 --host localhost',
    yaml: ['kind: dynamic', 'build: npm run build', 'main: dist/shop/server/server.mjs'],
  },
  'Qwik City with its adapter for Cloudflare Pages': {
    files: {
      'package.json': manifest(
        { '@builder.io/qwik-city': '^1.20.1', vite: '^7.3.1' },
        { build: 'qwik build', dev: 'vite --mode ssr', start: 'vite --open --mode ssr' },
      ),
      'adapters/cloudflare-pages/vite.config.ts': '',
    },
    framework: 'qwik 1.20.1',
    kind: 'dynamic',
    build: npmRun,
    main: 'dist/_worker.js',
    out: 'dist',
    dev: 'npm run dev -- --port 3001 --host localhost',
    yaml: ['kind: dynamic', 'build: npm run build', 'main: dist/_worker.js'],
  },
  'React Router behind our Vite plugin': {
    files: {
      'package.json': manifest(
        { '@react-router/dev': '8.4.0', '@platform-run/vite': '0.2.0', vite: '8.3.8' },
        { dev: 'react-router dev', build: 'react-router build', start: 'react-router-serve ./build/server/index.js' },
      ),
      'react-router.config.ts': 'export default { ssr: true };',
    },
    framework: 'react-router 8.4.0',
    kind: 'dynamic',
    build: npmRun,
    out: 'build/client',
    dev: 'npm run dev -- --port 3001 --host localhost',
    yaml: dynamicByScript,
  },
  vinext: {
    files: {
      'package.json': manifest(
        { vinext: '1.4.0', next: '16.4.6', vite: '8.3.8', '@platform-run/vite': '0.2.0' },
        { dev: 'vinext dev', build: 'vinext build' },
      ),
      'next.config.mjs': 'export default {};',
    },
    framework: 'vinext 1.4.0',
    kind: 'dynamic',
    build: npmRun,
    out: 'dist/client',
    dev: 'npm run dev -- --port 3001',
    yaml: dynamicByScript,
  },
  'a worker behind the Vite plugin': {
    files: {
      'package.json': manifest({ vite: '^8.3.8', '@platform-run/vite': '0.2.0' }),
      'vite.config.js': '',
      'worker/index.ts': 'export default { fetch() {} }',
    },
    framework: 'vite 8.3.8',
    kind: 'dynamic',
    build: 'vite build',
    main: 'worker/index.ts',
    out: 'dist/client',
    dev: 'vite dev --port 3001 --host localhost',
    yaml: ['kind: dynamic', 'build: vite build'],
  },
  'a plain worker': {
    files: { 'package.json': manifest({}, { build: 'tsc' }), 'src/index.ts': 'export default { fetch() {} }' },
    kind: 'dynamic',
    main: 'src/index.ts',
    yaml: ['kind: dynamic'],
  },
  'Hono for workers': {
    files: {
      'package.json': manifest({ hono: '^4.13.19' }, { deploy: 'wrangler deploy --minify' }),
      'wrangler.jsonc': '{ "main": "src/index.ts" }',
      'src/index.ts': `import { Hono } from 'hono'; const app = new Hono(); export default app`,
    },
    kind: 'dynamic',
    main: 'src/index.ts',
    yaml: ['kind: dynamic'],
  },
  'Elysia for workers': {
    files: {
      'package.json': manifest({ elysia: '^1.4.0' }),
      'src/index.ts': 'export default new Elysia({ adapter: CloudflareAdapter }).get("/", () => "Hello").compile()',
    },
    kind: 'dynamic',
    main: 'src/index.ts',
    yaml: ['kind: dynamic'],
  },
  'h3 behind a file that passes it on': {
    files: {
      'package.json': manifest({ h3: '^2.0.0' }),
      'src/index.ts': `export { app as default } from './app.ts';`,
      'src/app.ts': 'export const app = new H3().get("/", () => "Hello"); app.listen?.();',
    },
    kind: 'dynamic',
    main: 'src/index.ts',
    yaml: ['kind: dynamic'],
  },
};
