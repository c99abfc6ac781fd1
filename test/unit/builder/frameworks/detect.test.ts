// builder/frameworks/detect.ts over the files of each framework's own starter, reduced to what tells something.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { detect, devCommand, type Detection } from '#builder/frameworks/detect.ts';
import { filesOf } from '#builder/frameworks/project-files.ts';

/** A package.json as text. */
function manifest(packages: Record<string, string>, scripts: Record<string, string> = {}): string {
  return JSON.stringify({ dependencies: packages, scripts });
}

interface Row {
  readonly files: Record<string, string>;
  readonly framework: string | null;
  readonly kind: Detection['kind'];
  readonly build: string | null;
  readonly main?: string;
  readonly out?: string;
  readonly start?: string;
  readonly dev?: string;
}

const rows: Readonly<Record<string, Row>> = {
  'Next.js': {
    files: {
      'package.json': manifest({ next: '16.4.6' }, { dev: 'next dev', build: 'next build', start: 'next start' }),
      'next.config.ts': 'const nextConfig = { /* output: "export" */ }; export default nextConfig;',
    },
    framework: 'next 16.4.6',
    kind: 'ssr',
    build: 'npm run build',
    out: '.next',
    start: 'npm run start',
    dev: 'npm run dev -- --port 3001 --hostname localhost',
  },
  'Next.js with export': {
    files: {
      'package.json': manifest({ next: '^16.0.0' }, { dev: 'next dev', build: 'next build' }),
      'next.config.mjs': "export default { output: 'export' };",
    },
    framework: 'next 16.0.0',
    kind: 'static',
    build: 'npm run build',
    out: 'out',
    dev: 'npm run dev -- --port 3001 --hostname localhost',
  },
  Nuxt: {
    files: {
      'package.json': manifest({ nuxt: '^4.5.2' }, { dev: 'nuxt dev', build: 'nuxt build' }),
      'nuxt.config.ts': '',
    },
    framework: 'nuxt 4.5.2',
    kind: 'dynamic',
    build: 'npm run build',
    out: '.platform/output/public',
    dev: 'npm run dev -- --port 3001 --host localhost',
  },
  'SvelteKit 2': {
    files: {
      'package.json': manifest({ '@sveltejs/kit': '^2.70.4', vite: '8' }, { dev: 'vite dev', build: 'vite build' }),
      'vite.config.ts': `import adapter from '@sveltejs/adapter-auto'; export default { plugins: [sveltekit({ adapter: adapter() })] };`,
    },
    framework: 'sveltekit 2.70.4',
    kind: 'dynamic',
    build: 'npm run build',
    out: 'build',
    dev: 'npm run dev -- --port 3001 --host localhost',
  },
  'Astro with a server and no adapter': {
    files: {
      'package.json': manifest({ astro: '^7.3.5' }, { dev: 'astro dev', build: 'astro build' }),
      'astro.config.mjs': `import { defineConfig } from 'astro/config'; export default defineConfig({ output: 'server' });`,
    },
    framework: 'astro 7.3.5',
    kind: 'dynamic',
    build: 'npm run build',
    out: 'dist/client',
    dev: 'npm run dev -- --port 3001 --host localhost',
  },
  'Vite with React': {
    files: {
      'package.json': manifest({ vite: '^8.3.8', react: '19' }, { dev: 'vite', build: 'tsc -b && vite build' }),
      'index.html': '<script type="module" src="/src/main.tsx"></script>',
    },
    framework: 'vite 8.3.8',
    kind: 'static',
    build: 'npm run build',
    out: 'dist/client',
    dev: 'npm run dev -- --port 3001 --host localhost',
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
  },
  'a plain worker': {
    files: { 'package.json': manifest({}, { build: 'tsc' }), 'src/index.ts': 'export default { fetch() {} }' },
    framework: null,
    kind: 'dynamic',
    build: null,
    main: 'src/index.ts',
  },
  'an Express server': {
    files: {
      'package.json': manifest({ express: '5' }, { start: 'node src/index.js' }),
      'src/index.js': "import express from 'express'; express().listen(process.env.PORT);",
    },
    framework: null,
    kind: 'ssr',
    build: null,
    start: 'npm run start',
  },
  'plain HTML': { files: { 'index.html': '<h1>Hello</h1>' }, framework: null, kind: 'static', build: null },
  'an empty folder': { files: {}, framework: null, kind: null, build: null },
};

for (const [name, row] of Object.entries(rows))
  test(`${name} is detected by its files`, () => {
    const found = detect(filesOf(row.files));
    const { framework, dev } = found;
    assert.deepEqual(
      {
        framework: framework === null ? null : [framework.id, framework.version].filter(Boolean).join(' '),
        kind: found.kind,
        build: found.build,
        main: found.main ?? undefined,
        out: found.out[0],
        start: found.start ?? undefined,
        dev: dev === null ? undefined : devCommand(dev, { port: 3001, host: 'localhost' }),
        problems: found.problems,
      },
      {
        framework: row.framework,
        kind: row.kind,
        build: row.build,
        main: row.main,
        out: row.out,
        start: row.start,
        dev: row.dev,
        problems: [],
      },
    );
  });

test('what our adapters do not reach, or cannot build, says what to change', () => {
  const astro = (version: string, config: string): readonly string[] =>
    detect(filesOf({ 'package.json': manifest({ astro: version }), 'astro.config.mjs': config })).problems;
  const [missing] = astro('^7.3.5', "export default { output: 'server' };");
  assert.match(missing!, /has no adapter: wrap astro\.config in defineConfig\(\).*@platform-run\/astro/);
  const [old] = astro('^5.1.0', "export default defineConfig({ output: 'server' });");
  assert.match(old!, /Astro 5\.1\.0 is not supported: 6 is the oldest.*Upgrade it/);
  const kit = detect(filesOf({ 'package.json': manifest({ '@sveltejs/kit': '^2.70.4' }), 'svelte.config.js': '' }));
  assert.match(kit.problems[0]!, /no adapter: add @platform-run\/sveltekit .*vite\.config/);
});
