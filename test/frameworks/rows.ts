// The rows of the table of frameworks, in its order. An app is its framework's own starter with the pages of row.ts,
// and nothing that names this platform but what a row says.
import type { CheckName, Row } from './row.ts';

const noServer = (what: string): Partial<Record<CheckName, string>> => ({
  api: `${what} has no server`,
  stream: `${what} has no server`,
  form: `${what} has no server`,
});

const site: Row['holes'] = {
  page: 'pages are created by the build, without a request',
  ...noServer('a static site'),
};
const singlePage: Row['holes'] = {
  page: 'the browser renders the page',
  ...noServer('a single-page app'),
};

export const rows: readonly Row[] = [
  { app: 'hono-jsx', title: 'Hono with JSX', shows: 'hono', kind: 'dynamic', edits: 'src/index.tsx' },
  {
    app: 'solid-start',
    title: 'SolidStart',
    shows: '@solidjs/start',
    kind: 'dynamic',
    edits: 'src/routes/index.tsx',
  },
  {
    app: 'solid-start-vite',
    title: 'SolidStart, through the Vite plugin',
    shows: '@solidjs/start',
    kind: 'dynamic',
    edits: 'src/routes/index.tsx',
    folder: 'solid-start',
    writes: {
      'vite.config.ts': `import { platform } from '@platform-run/vite';
import { solidStart } from '@solidjs/start/config';
import { defineConfig } from 'vite';

export default defineConfig({ plugins: [solidStart(), ...platform()] });
`,
    },
    packages: ['vite'],
  },
  {
    app: 'angular',
    title: 'Angular, in an isolate',
    shows: '@angular/core',
    kind: 'dynamic',
    edits: 'src/app/home.ts',
    holes: { stream: 'Angular renders the whole page before it responds' },
  },
  { app: 'qwik', title: 'Qwik City', shows: '@builder.io/qwik-city', kind: 'dynamic', edits: 'src/routes/index.tsx' },
  {
    app: 'vite-react',
    title: 'Vite with React',
    shows: 'vite',
    kind: 'static',
    edits: 'src/App.jsx',
    editedAt: '/src/App.jsx',
    holes: singlePage,
    untriedInDev: ['missing'],
  },
  {
    app: 'vite-vue',
    title: 'Vite with Vue',
    shows: 'vue',
    kind: 'static',
    edits: 'src/App.vue',
    editedAt: '/src/App.vue',
    holes: singlePage,
    untriedInDev: ['missing'],
  },
  {
    app: 'astro-static',
    title: 'Astro, static',
    shows: 'astro',
    kind: 'static',
    edits: 'src/pages/index.astro',
    second: '/about',
    holes: site,
  },
  {
    app: 'sveltekit-static',
    title: 'SvelteKit, static',
    shows: '@sveltejs/kit',
    kind: 'static',
    edits: 'src/routes/+page.svelte',
    second: '/about',
    holes: site,
  },
  {
    app: 'vitepress',
    title: 'VitePress',
    shows: 'vitepress',
    kind: 'static',
    edits: 'docs/index.md',
    editedAt: '/index.md',
    second: '/about',
    holes: site,
    untriedInDev: ['missing'],
  },
  {
    app: 'eleventy',
    title: 'Eleventy',
    shows: '@11ty/eleventy',
    kind: 'static',
    edits: 'src/index.md',
    second: '/about',
    holes: site,
  },
  {
    app: 'vite-worker',
    title: 'Vite with React and a worker',
    shows: 'vite',
    kind: 'dynamic',
    edits: 'worker/index.ts',
    page: '/hello',
    packages: ['vite'],
  },
  {
    app: 'react-router',
    title: 'React Router',
    shows: 'react-router',
    kind: 'dynamic',
    edits: 'app/routes/home.tsx',
    packages: ['vite'],
  },
  {
    app: 'vinext',
    title: 'vinext',
    shows: 'vinext',
    kind: 'dynamic',
    edits: 'app/page.jsx',
    packages: ['vite'],
  },
  {
    app: 'tanstack-start',
    title: 'TanStack Start',
    shows: '@tanstack/react-start',
    kind: 'dynamic',
    edits: 'src/routes/index.tsx',
    packages: ['vite'],
  },
  {
    app: 'sveltekit',
    title: 'SvelteKit',
    shows: '@sveltejs/kit',
    kind: 'dynamic',
    edits: 'src/routes/+page.svelte',
  },
  { app: 'nuxt', title: 'Nuxt', shows: 'nuxt', kind: 'dynamic', edits: 'app/pages/index.vue' },
  { app: 'astro-ssr', title: 'Astro, on the server', shows: 'astro', kind: 'dynamic', edits: 'src/pages/index.astro' },
  { app: 'next-ai', title: 'Next.js with the AI SDK', shows: 'next', kind: 'ssr', edits: 'src/app/page.jsx' },
  { app: 'next-standalone', title: 'Next.js, standalone', shows: 'next', kind: 'ssr', edits: 'app/page.jsx' },
  {
    app: 'next-export',
    title: 'Next.js, export',
    shows: 'next',
    kind: 'static',
    edits: 'app/page.jsx',
    second: '/about',
    holes: site,
  },
];
