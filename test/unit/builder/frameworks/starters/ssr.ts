// Starters whose projects are of kind ssr: a server for Node.
import { manifest, type Starter } from './starter.ts';

const npmRun = 'npm run build';
const ssrByScript = ['kind: ssr', 'build: npm run build'];

export const ssrStarters: Readonly<Record<string, Starter>> = {
  'Next.js': {
    files: {
      'package.json': manifest({ next: '16.4.6' }, { dev: 'next dev', build: 'next build', start: 'next start' }),
      'next.config.ts': 'const nextConfig = { /* output: "export" */ }; export default nextConfig;',
    },
    framework: 'next 16.4.6',
    kind: 'ssr',
    build: npmRun,
    out: '.next',
    start: 'npm run start',
    dev: 'npm run dev -- --port 3001 --hostname localhost',
    yaml: ssrByScript,
  },
  'Next.js, standalone': {
    files: {
      'package.json': manifest({ next: '16.4.6' }, { build: 'next build' }),
      'next.config.mjs': `export default { output: 'standalone' };`,
    },
    framework: 'next 16.4.6',
    kind: 'ssr',
    build: npmRun,
    out: '.next',
    start: 'next start',
    dev: 'next dev --port 3001 --hostname localhost',
    yaml: ssrByScript,
  },
  'React Router': {
    files: {
      'package.json': manifest(
        { '@react-router/dev': '8.4.0', '@react-router/serve': '8.4.0', vite: '8.3.8' },
        { dev: 'react-router dev', build: 'react-router build', start: 'react-router-serve ./build/server/index.js' },
      ),
      'react-router.config.ts': 'export default { ssr: true };',
    },
    framework: 'react-router 8.4.0',
    kind: 'ssr',
    build: npmRun,
    out: 'build/client',
    start: 'npm run start',
    dev: 'npm run dev -- --port 3001 --host localhost',
    yaml: ssrByScript,
  },
  'Angular with a server for Node': {
    files: {
      'package.json': manifest(
        { '@angular/core': '^22.2.0', '@angular/ssr': '^22.2.0', express: '^5.1.0' },
        { start: 'ng serve', build: 'ng build', 'serve:ssr:shop': 'node dist/shop/server/server.mjs' },
      ),
      'angular.json': JSON.stringify({
        projects: {
          shop: { architect: { build: { options: { outputMode: 'server', ssr: { entry: 'src/server.ts' } } } } },
        },
      }),
    },
    framework: 'angular 22.2.0',
    kind: 'ssr',
    build: npmRun,
    out: 'dist/shop/browser',
    start: 'node dist/shop/server/server.mjs',
    dev: 'npm run start -- --port 3001 --host localhost',
    yaml: ssrByScript,
  },
  'SvelteKit with its adapter for Node': {
    files: {
      'package.json': manifest({ '@sveltejs/kit': '^2.70.4' }, { dev: 'vite dev', build: 'vite build' }),
      'svelte.config.js': `import adapter from '@sveltejs/adapter-node'; export default { kit: { adapter: adapter() } };`,
    },
    framework: 'sveltekit 2.70.4',
    kind: 'ssr',
    build: npmRun,
    out: 'build/client',
    start: 'node build',
    dev: 'npm run dev -- --port 3001 --host localhost',
    yaml: ssrByScript,
  },
  'Qwik City with its adapter for Express': {
    files: {
      'package.json': manifest(
        { '@builder.io/qwik-city': '^1.20.1', express: '4.20.0', vite: '^7.3.1' },
        { build: 'qwik build', dev: 'vite --mode ssr', start: 'vite --open --mode ssr' },
      ),
      'adapters/express/vite.config.ts': '',
    },
    framework: 'qwik 1.20.1',
    kind: 'ssr',
    build: npmRun,
    out: 'dist',
    start: 'node server/entry.express',
    dev: 'npm run dev -- --port 3001 --host localhost',
    yaml: ssrByScript,
  },
  'an Express server': {
    files: {
      'package.json': manifest({ express: '5' }, { start: 'node src/index.js' }),
      'src/index.js': "import express from 'express'; express().listen(process.env.PORT);",
    },
    kind: 'ssr',
    start: 'npm run start',
    yaml: ['kind: ssr'],
  },
  'an Express server in TypeScript, where a worker would lie': {
    files: {
      'package.json': manifest(
        { express: '^5.1.0', typescript: '^6.0.2' },
        { dev: 'tsx watch src/index.ts', build: 'tsc', start: 'node dist/index.js' },
      ),
      'src/index.ts': "import express from 'express'; express().listen(process.env.PORT);",
    },
    kind: 'ssr',
    build: npmRun,
    start: 'npm run start',
    dev: 'npm run dev',
    yaml: ssrByScript,
  },
  'Hono on Node': {
    files: {
      'package.json': manifest(
        { hono: '^4.13.19', '@hono/node-server': '^2.0.0' },
        { dev: 'tsx watch src/index.ts', build: 'tsc', start: 'node dist/index.js' },
      ),
      'src/index.ts': 'serve({ fetch: app.fetch, port: 3000 })',
    },
    kind: 'ssr',
    build: npmRun,
    start: 'npm run start',
    dev: 'npm run dev',
    yaml: ssrByScript,
  },
  'Elysia on Node': {
    files: {
      'package.json': manifest(
        { elysia: '^1.4.0', '@elysiajs/node': '^1.4.0' },
        { dev: 'tsx watch src/index.ts', build: 'tsc', start: 'NODE_ENV=production node dist/index.js' },
      ),
      'src/index.ts': 'new Elysia({ adapter: node() }).listen(3000)',
    },
    kind: 'ssr',
    build: npmRun,
    start: 'npm run start',
    dev: 'npm run dev',
    yaml: ssrByScript,
  },
  'h3 served by srvx': {
    files: {
      'package.json': manifest({ h3: '^2.0.0', srvx: '^0.11.0' }, { dev: 'srvx', start: 'srvx --prod' }),
      'server.ts': 'export default new H3().get("/", () => "Hello")',
    },
    kind: 'ssr',
    start: 'npm run start',
    dev: 'npm run dev',
    yaml: ['kind: ssr'],
  },
  NestJS: {
    files: {
      'package.json': manifest(
        { '@nestjs/core': '^11.0.1' },
        { build: 'nest build', start: 'nest start', 'start:dev': 'nest start --watch', 'start:prod': 'node dist/main' },
      ),
      'src/main.ts': '',
    },
    kind: 'ssr',
    build: npmRun,
    start: 'npm run start:prod',
    dev: 'npm run start:dev',
    yaml: ssrByScript,
  },
  Fastify: {
    files: {
      'package.json': manifest(
        { fastify: '^5.0.0' },
        { start: 'fastify start -l info app.js', dev: 'fastify start -w app.js' },
      ),
    },
    kind: 'ssr',
    start: 'npm run start',
    dev: 'npm run dev',
    yaml: ['kind: ssr'],
  },
  'a server of Node alone, with a page beside it': {
    files: { 'package.json': manifest({}, { start: 'node server.js' }), 'server.js': '', 'index.html': '' },
    kind: 'ssr',
    start: 'npm run start',
    yaml: ['kind: ssr'],
  },
  'a server that renders with Vite': {
    files: {
      'package.json': manifest(
        { express: '^5.1.0', vite: '^8.3.8' },
        { dev: 'node server', build: 'vite build --outDir dist/client', start: 'NODE_ENV=production node server' },
      ),
      'vite.config.js': '',
      'index.html': '<script type="module" src="/src/entry-client.js"></script>',
    },
    framework: 'vite 8.3.8',
    kind: 'ssr',
    build: npmRun,
    out: 'dist/client',
    start: 'npm run start',
    dev: 'npm run dev',
    yaml: ssrByScript,
  },
};
