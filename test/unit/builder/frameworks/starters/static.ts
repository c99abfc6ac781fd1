// Starters whose projects are of kind static: files that are served as they are.
import { manifest, type Starter } from './starter.ts';

const npmRun = 'npm run build';
const page = '<script type="module" src="/src/main.ts"></script>';
const staticIn = (out: string): readonly string[] => ['kind: static', 'build: npm run build', `out: ${out}`];
const angular = (options: object): string =>
  JSON.stringify({ projects: { shop: { architect: { build: { options } } } } });

export const staticStarters: Readonly<Record<string, Starter>> = {
  'Next.js with export': {
    files: {
      'package.json': manifest({ next: '^16.0.0' }, { dev: 'next dev', build: 'next build' }),
      'next.config.mjs': "export default { output: 'export' };",
    },
    framework: 'next 16.0.0',
    kind: 'static',
    build: npmRun,
    out: 'out',
    dev: 'npm run dev -- --port 3001 --hostname localhost',
    yaml: staticIn('out'),
  },
  'Next.js with export to another folder': {
    files: {
      'package.json': manifest({ next: '^16.0.0' }, { dev: 'next dev', build: 'next build' }),
      'next.config.mjs': "export default { output: 'export', distDir: './site/' };",
    },
    framework: 'next 16.0.0',
    kind: 'static',
    build: npmRun,
    out: 'site',
    dev: 'npm run dev -- --port 3001 --hostname localhost',
    yaml: staticIn('site'),
  },
  'Next.js that exports by its own command': {
    files: {
      'package.json': manifest({ next: '13.2.0' }, { dev: 'next dev', build: 'next build && next export' }),
      'next.config.js': 'module.exports = {};',
    },
    framework: 'next 13.2.0',
    kind: 'static',
    build: npmRun,
    out: 'out',
    dev: 'npm run dev -- --port 3001 --hostname localhost',
    yaml: staticIn('out'),
  },
  'Vite with React': {
    files: {
      'package.json': manifest({ vite: '^8.3.8', react: '19' }, { dev: 'vite', build: 'tsc -b && vite build' }),
      'index.html': '<script type="module" src="/src/main.tsx"></script>',
    },
    framework: 'vite 8.3.8',
    kind: 'static',
    build: npmRun,
    out: 'dist/client',
    dev: 'npm run dev -- --port 3001 --host localhost',
    yaml: ['kind: static', 'build: npm run build'],
  },
  'Vite with Vue': {
    files: {
      'package.json': manifest(
        { vue: '^3.5.45', vite: '^8.3.8' },
        { dev: 'vite', build: 'run-p type-check "build-only {@}" --', 'build-only': 'vite build' },
      ),
      'vite.config.ts': 'export default defineConfig({ plugins: [vue()] });',
      'index.html': page,
      'src/main.ts': '',
    },
    framework: 'vite 8.3.8',
    kind: 'static',
    build: npmRun,
    out: 'dist/client',
    dev: 'npm run dev -- --port 3001 --host localhost',
    yaml: ['kind: static', 'build: npm run build'],
  },
  'Vite with Svelte': {
    files: {
      'package.json': manifest({ svelte: '^5.57.3', vite: '^8.3.8' }, { dev: 'vite', build: 'vite build' }),
      'vite.config.ts': '',
      'svelte.config.js': '',
      'index.html': page,
    },
    framework: 'vite 8.3.8',
    kind: 'static',
    build: npmRun,
    out: 'dist/client',
    dev: 'npm run dev -- --port 3001 --host localhost',
    yaml: ['kind: static', 'build: npm run build'],
  },
  'Vite with Solid, which starts in the browser where a worker would lie': {
    files: {
      'package.json': manifest({ 'solid-js': '^1.9.0', vite: '^8.3.8' }, { start: 'vite', build: 'vite build' }),
      'index.html': '<script src="/src/index.tsx" type="module"></script>',
      'src/index.tsx': 'render(() => <App />, root);',
    },
    framework: 'vite 8.3.8',
    kind: 'static',
    build: npmRun,
    out: 'dist/client',
    dev: 'npm run start -- --port 3001 --host localhost',
    yaml: ['kind: static', 'build: npm run build'],
  },
  'Vite with its sources and its output elsewhere': {
    files: {
      'package.json': manifest({ vite: '^8.3.8' }, { dev: 'vite', build: 'vite build' }),
      'vite.config.ts': `export default { root: 'src', build: { outDir: '../site', sourcemap: true } };`,
      'src/index.html': '<h1>Hello</h1>',
    },
    framework: 'vite 8.3.8',
    kind: 'static',
    build: npmRun,
    out: 'site',
    dev: 'npm run dev -- --port 3001 --host localhost',
    yaml: staticIn('site'),
  },
  'Create React App': {
    files: {
      'package.json': manifest(
        { 'react-scripts': '5.0.1' },
        { start: 'react-scripts start', build: 'react-scripts build' },
      ),
      'public/index.html': '<div id="root"></div>',
      'src/index.js': '',
    },
    framework: 'create-react-app 5.0.1',
    kind: 'static',
    build: npmRun,
    out: 'build',
    dev: 'npm run start',
    yaml: staticIn('build'),
  },
  'Create React App with another folder': {
    files: {
      'package.json': manifest({ 'react-scripts': '5.0.1' }, { build: 'BUILD_PATH=./site react-scripts build' }),
      'public/index.html': '<div id="root"></div>',
    },
    framework: 'create-react-app 5.0.1',
    kind: 'static',
    build: npmRun,
    out: 'site',
    dev: 'react-scripts start',
    yaml: staticIn('site'),
  },
  'Vite with a folder by its flag': {
    files: {
      'package.json': manifest({ vite: '^8.3.8' }, { dev: 'vite', build: 'tsc -b && vite build --outDir ../site' }),
      'vite.config.ts': `export default { root: './src' };`,
    },
    framework: 'vite 8.3.8',
    kind: 'static',
    build: npmRun,
    out: 'site',
    dev: 'npm run dev -- --port 3001 --host localhost',
    yaml: staticIn('site'),
  },
  Astro: {
    files: {
      'package.json': manifest({ astro: '^7.3.5' }, { dev: 'astro dev', build: 'astro build' }),
      'astro.config.mjs': 'export default defineConfig({});',
    },
    framework: 'astro 7.3.5',
    kind: 'static',
    build: npmRun,
    out: 'dist',
    dev: 'npm run dev -- --port 3001 --host localhost',
    yaml: staticIn('dist'),
  },
  'Astro with another folder': {
    files: {
      'package.json': manifest({ astro: '^7.3.5' }, { dev: 'astro dev', build: 'astro build' }),
      'astro.config.mjs': `export default defineConfig({ outDir: './www' });`,
    },
    framework: 'astro 7.3.5',
    kind: 'static',
    build: npmRun,
    out: 'www',
    dev: 'npm run dev -- --port 3001 --host localhost',
    yaml: staticIn('www'),
  },
  'Astro whose output is moved': {
    files: {
      'package.json': manifest({ astro: '^7.3.5' }, { dev: 'astro dev', build: 'astro build && mv dist site' }),
      'astro.config.mjs': 'export default defineConfig({});',
    },
    framework: 'astro 7.3.5',
    kind: 'static',
    build: npmRun,
    out: 'dist',
    dev: 'npm run dev -- --port 3001 --host localhost',
    yaml: ['kind: static', 'build: npm run build'],
  },
  'SvelteKit with its adapter for files': {
    files: {
      'package.json': manifest({ '@sveltejs/kit': '^2.70.4' }, { dev: 'vite dev', build: 'vite build' }),
      'svelte.config.js': `import adapter from '@sveltejs/adapter-static'; export default { kit: { adapter: adapter() } };`,
    },
    framework: 'sveltekit 2.70.4',
    kind: 'static',
    build: npmRun,
    out: 'build',
    dev: 'npm run dev -- --port 3001 --host localhost',
    yaml: staticIn('build'),
  },
  'Nuxt that generates all pages': {
    files: {
      'package.json': manifest({ nuxt: '^4.5.2' }, { dev: 'nuxt dev', build: 'nuxt generate' }),
      'nuxt.config.ts': '',
    },
    framework: 'nuxt 4.5.2',
    kind: 'static',
    build: npmRun,
    out: '.output/public',
    dev: 'npm run dev -- --port 3001 --host localhost',
    yaml: ['kind: static', 'build: npm run build'],
  },
  'React Router without a server': {
    files: {
      'package.json': manifest(
        { '@react-router/dev': '8.4.0' },
        { dev: 'react-router dev', build: 'react-router build' },
      ),
      'react-router.config.ts': 'export default { ssr: false };',
    },
    framework: 'react-router 8.4.0',
    kind: 'static',
    build: npmRun,
    out: 'build/client',
    dev: 'npm run dev -- --port 3001 --host localhost',
    yaml: staticIn('build/client'),
  },
  'React Router without a server, with another folder': {
    files: {
      'package.json': manifest({ '@react-router/dev': '8.4.0' }, { build: 'react-router build' }),
      'react-router.config.ts': `export default { ssr: false, buildDirectory: 'site' };`,
    },
    framework: 'react-router 8.4.0',
    kind: 'static',
    build: npmRun,
    out: 'site/client',
    dev: 'react-router dev --port 3001 --host localhost',
    yaml: staticIn('site/client'),
  },
  Angular: {
    files: {
      'package.json': manifest({ '@angular/core': '^22.2.0' }, { start: 'ng serve', build: 'ng build' }),
      'angular.json': angular({ browser: 'src/main.ts' }),
    },
    framework: 'angular 22.2.0',
    kind: 'static',
    build: npmRun,
    out: 'dist/shop/browser',
    dev: 'npm run start -- --port 3001 --host localhost',
    yaml: ['kind: static', 'build: npm run build'],
  },
  'Angular whose pages are made by the build': {
    files: {
      'package.json': manifest({ '@angular/core': '^22.2.0' }, { start: 'ng serve', build: 'ng build' }),
      'angular.json': angular({ outputMode: 'static', outputPath: 'site', ssr: { entry: 'src/server.ts' } }),
    },
    framework: 'angular 22.2.0',
    kind: 'static',
    build: npmRun,
    out: 'site/browser',
    dev: 'npm run start -- --port 3001 --host localhost',
    yaml: ['kind: static', 'build: npm run build'],
  },
  'Qwik City with its adapter for files': {
    files: {
      'package.json': manifest({ '@builder.io/qwik-city': '^1.20.1' }, { build: 'qwik build', dev: 'vite --mode ssr' }),
      'adapters/static/vite.config.ts': '',
    },
    framework: 'qwik 1.20.1',
    kind: 'static',
    build: npmRun,
    out: 'dist',
    dev: 'npm run dev -- --port 3001 --host localhost',
    yaml: staticIn('dist'),
  },
  'plain HTML': { files: { 'index.html': '<h1>Hello</h1>' }, kind: 'static', yaml: ['kind: static', 'build: "true"'] },
  'plain HTML in public, with a formatter': {
    files: {
      'public/index.html': '<h1>Hello</h1>',
      'package.json': manifest({ prettier: '^3.9.0' }, { format: 'prettier -w .' }),
    },
    kind: 'static',
    out: 'public',
    yaml: ['kind: static', 'build: "true"', 'out: public'],
  },
  'an empty folder': { files: {}, kind: null, yaml: [] },
};
