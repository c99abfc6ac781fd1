// builder/frameworks/detect.ts over the starters beside this file, and what it says of projects that cannot be built.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { devCommand } from '#builder/frameworks/commands.ts';
import { detect } from '#builder/frameworks/detect.ts';
import { filesOf } from '#test/setup/project-files.ts';
import { dynamicStarters } from './starters/dynamic.ts';
import { siteStarters } from './starters/sites.ts';
import { ssrStarters } from './starters/ssr.ts';
import { manifest } from './starters/starter.ts';
import { staticStarters } from './starters/static.ts';

const starters = { ...dynamicStarters, ...ssrStarters, ...staticStarters, ...siteStarters };

for (const [name, row] of Object.entries(starters))
  test(`${name} is detected by its files`, () => {
    const found = detect(filesOf(row.files));
    const { framework, dev } = found;
    assert.deepEqual(
      {
        framework: framework === null ? undefined : [framework.id, framework.version].filter(Boolean).join(' '),
        kind: found.kind,
        build: found.build ?? undefined,
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

test('a script that starts the emulator of another platform serves nothing here', () => {
  const devOf = (dev: string): string | null => {
    const found = detect(
      filesOf({
        'package.json': manifest(
          { '@sveltejs/kit': '^2.70.4', '@platform-run/sveltekit': '1' },
          { dev, build: 'vite build' },
        ),
        'svelte.config.js': '',
      }),
    ).dev;
    return found === null ? null : devCommand(found, { port: 3001, host: 'localhost' });
  };
  const own = 'vite dev --port 3001 --host localhost';
  for (const dev of ['wrangler dev', 'vite build && npx wrangler pages dev', 'vercel dev --listen 3000'])
    assert.equal(devOf(dev), own, dev);
  assert.equal(devOf('vite dev'), 'npm run dev -- --port 3001 --host localhost');
});

const problemsOf = (files: Record<string, string>): readonly string[] => detect(filesOf(files)).problems;

test('a source that listens by itself and exports no handler says how it becomes a worker or a server', () => {
  const [listening] = problemsOf({
    'package.json': manifest({ elysia: 'latest' }, { dev: 'bun run --watch src/index.ts' }),
    'src/index.ts': 'const app = new Elysia().get("/", () => "Hello Elysia").listen(3000);',
  });
  assert.equal(
    listening,
    'src/index.ts starts a server of its own and exports no handler. For an isolate, end it with "export default app" in place of what listens; for a process of Node, add a script "start" to package.json that runs it',
  );
  assert.deepEqual(problemsOf({ 'src/index.ts': 'export default app; if (isDev) app.listen(3000);' }), []);
});

test('an output folder outside of the project says where platform.yaml has to lie', () => {
  const found = detect(
    filesOf({
      'package.json': manifest({ vite: '^8.3.8' }, { build: 'vite build' }),
      'vite.config.ts': `export default { build: { outDir: '../public/app' } };`,
    }),
  );
  const [outside] = found.problems;
  assert.match(outside!, /^vite\.config has outDir: \.\.\/public\/app, which is outside this folder/);
  assert.match(outside!, /platform\.yaml at the root of the repository/);
  // Nothing out there is looked at, where platform.yaml says "kind: static" against it.
  assert.deepEqual(found.out, ['dist/client', 'dist']);
});

test('a folder that holds the sources is none to serve', () => {
  for (const outDir of ['.', './', '/', '..', 'src/../..', '/etc'])
    assert.deepEqual(
      detect(
        filesOf({
          'package.json': manifest({ vite: '^8.3.8' }, { build: 'vite build' }),
          'vite.config.ts': `export default { build: { outDir: '${outDir}' } };`,
        }),
      ).out,
      ['dist/client', 'dist'],
      outDir,
    );
});

test('a folder that is no plain text in the configuration is found after the build', () => {
  const { out, problems } = detect(
    filesOf({
      'package.json': manifest({ astro: '^7.3.5' }, { build: 'astro build' }),
      'astro.config.mjs': 'export default defineConfig({ outDir: `./${process.env.OUT}` });',
    }),
  );
  assert.deepEqual([out, problems], [['dist'], []]);
});

test('two frameworks in one folder are told apart by configuration and scripts, else named', () => {
  const both = { astro: '^7.3.5', gatsby: '^5.15.0' };
  const found = (files: Record<string, string>) => detect(filesOf(files)).framework?.id;
  assert.equal(found({ 'package.json': manifest(both), 'gatsby-config.js': '' }), 'gatsby');
  assert.equal(found({ 'package.json': manifest(both, { build: 'gatsby build' }) }), 'gatsby');
  assert.match(
    problemsOf({ 'package.json': manifest(both) })[0]!,
    /^There are 2 frameworks in this folder: Astro and Gatsby\. Give each a folder/,
  );
});

/** Each would take minutes, were it read by a pattern that begins anew at each of its signs. */
for (const [name, files] of Object.entries({
  'a source of empty lines': { 'src/index.ts': '\n'.repeat(500_000) },
  'a configuration of comments that do not end': {
    'package.json': manifest({ next: '16.4.6' }),
    'next.config.js': '/* '.repeat(300_000),
  },
  'a configuration of one word': {
    'package.json': manifest({ vite: '8.3.8' }),
    'vite.config.js': 'outDir '.repeat(100_000),
  },
  'a range of digits': { 'package.json': manifest({ next: `1.${'0'.repeat(500_000)}!` }) },
  'a script of spaces': { 'package.json': manifest({ nuxt: '4.5.2' }, { build: `nuxt${' '.repeat(500_000)}x` }) },
}))
  test(`${name} does not keep the builder busy`, { timeout: 60_000 }, () => {
    assert.deepEqual(detect(filesOf(files)).problems, []);
  });
