// Generators of sites: their projects are of kind static, and each writes to a folder of its own.
import { manifest, type Starter } from './starter.ts';

const npmRun = 'npm run build';
const staticIn = (out: string, build = npmRun): readonly string[] => ['kind: static', `build: ${build}`, `out: ${out}`];

export const siteStarters: Readonly<Record<string, Starter>> = {
  Gatsby: {
    files: {
      'package.json': manifest(
        { gatsby: '^5.15.0' },
        { develop: 'gatsby develop', start: 'gatsby develop', build: 'gatsby build' },
      ),
      'gatsby-config.js': '',
    },
    framework: 'gatsby 5.15.0',
    kind: 'static',
    build: npmRun,
    out: 'public',
    dev: 'npm run start -- --port 3001 --host localhost',
    yaml: staticIn('public'),
  },
  Docusaurus: {
    files: {
      'package.json': manifest(
        { '@docusaurus/core': '3.10.1' },
        { start: 'docusaurus start', build: 'docusaurus build' },
      ),
      'docusaurus.config.ts': '',
    },
    framework: 'docusaurus 3.10.1',
    kind: 'static',
    build: npmRun,
    out: 'build',
    dev: 'npm run start -- --port 3001 --host localhost',
    yaml: staticIn('build'),
  },
  VitePress: {
    files: {
      'package.json': manifest({ vitepress: '^1.6.4' }, { dev: 'vitepress dev', build: 'vitepress build' }),
      '.vitepress/config.mts': '',
      'index.md': '',
    },
    framework: 'vitepress 1.6.4',
    kind: 'static',
    build: npmRun,
    out: '.vitepress/dist',
    dev: 'npm run dev -- --port 3001 --host localhost',
    yaml: staticIn(JSON.stringify('.vitepress/dist')),
  },
  'VitePress in docs': {
    files: {
      'package.json': manifest(
        { vitepress: '^1.6.4' },
        {
          'docs:dev': 'vitepress dev docs',
          'docs:build': 'vitepress build docs',
          'docs:preview': 'vitepress preview docs',
        },
      ),
      'docs/.vitepress/config.mts': '',
      'docs/index.md': '',
    },
    framework: 'vitepress 1.6.4',
    kind: 'static',
    build: 'npm run docs:build',
    out: 'docs/.vitepress/dist',
    dev: 'npm run docs:dev -- --port 3001 --host localhost',
    yaml: staticIn('docs/.vitepress/dist', JSON.stringify('npm run docs:build')),
  },
  'VitePress in docs, without scripts': {
    files: { 'package.json': manifest({ vitepress: '^1.6.4' }), 'docs/.vitepress/config.mts': '' },
    framework: 'vitepress 1.6.4',
    kind: 'static',
    build: 'vitepress build docs',
    out: 'docs/.vitepress/dist',
    dev: 'vitepress dev docs --port 3001 --host localhost',
    yaml: staticIn('docs/.vitepress/dist', 'vitepress build docs'),
  },
  'VitePress with another folder': {
    files: {
      'package.json': manifest({ vitepress: '^1.6.4' }, { build: 'vitepress build docs' }),
      'docs/.vitepress/config.mts': `export default defineConfig({ outDir: '../site' });`,
    },
    framework: 'vitepress 1.6.4',
    kind: 'static',
    build: npmRun,
    out: 'site',
    dev: 'vitepress dev docs --port 3001 --host localhost',
    yaml: staticIn('site'),
  },
  'VitePress with a folder by its flag': {
    files: {
      'package.json': manifest({ vitepress: '^1.6.4' }, { 'docs:build': 'vitepress build docs --outDir site' }),
      'docs/.vitepress/config.mts': '',
    },
    framework: 'vitepress 1.6.4',
    kind: 'static',
    build: 'npm run docs:build',
    out: 'site',
    dev: 'vitepress dev docs --port 3001 --host localhost',
    yaml: staticIn('site', JSON.stringify('npm run docs:build')),
  },
  VuePress: {
    files: {
      'package.json': manifest(
        { vuepress: '2.0.0-rc.26' },
        { 'docs:dev': 'vuepress dev docs', 'docs:build': 'vuepress build docs' },
      ),
      'docs/.vuepress/config.js': `export default { dest: 'site' };`,
    },
    framework: 'vuepress 2.0.0-rc.26',
    kind: 'static',
    build: 'npm run docs:build',
    out: 'site',
    dev: 'npm run docs:dev -- --port 3001 --host localhost',
    yaml: staticIn('site', JSON.stringify('npm run docs:build')),
  },
  Eleventy: {
    files: {
      'package.json': manifest(
        { '@11ty/eleventy': '^3.1.8' },
        { start: 'npx @11ty/eleventy --serve', build: 'npx @11ty/eleventy' },
      ),
      'eleventy.config.js': 'export default function (eleventyConfig) {}',
    },
    framework: 'eleventy 3.1.8',
    kind: 'static',
    build: npmRun,
    out: '_site',
    dev: 'npm run start -- --port 3001',
    yaml: staticIn('_site'),
  },
  'Eleventy with another folder': {
    files: {
      'package.json': manifest({ '@11ty/eleventy': '^3.1.8' }, { build: 'eleventy --output=www' }),
      '.eleventy.js': '',
    },
    framework: 'eleventy 3.1.8',
    kind: 'static',
    build: npmRun,
    out: 'www',
    dev: 'eleventy --serve --port 3001',
    yaml: staticIn('www'),
  },
  Hugo: {
    files: { 'hugo.toml': `title = 'Site'`, 'content/_index.md': '' },
    framework: 'hugo',
    kind: 'static',
    build: 'hugo',
    out: 'public',
    dev: 'hugo server --port 3001 --bind localhost',
    yaml: staticIn('public', 'hugo'),
  },
  'Hugo with its configuration in a folder': {
    files: { 'config/_default/hugo.toml': `publishDir = "docs"\n`, 'content/_index.md': '' },
    framework: 'hugo',
    kind: 'static',
    build: 'hugo',
    out: 'docs',
    dev: 'hugo server --port 3001 --bind localhost',
    yaml: staticIn('docs', 'hugo'),
  },
  'Hugo as it was before 0.110': {
    files: { 'config.toml': '', 'archetypes/default.md': '', 'content/_index.md': '' },
    framework: 'hugo',
    kind: 'static',
    build: 'hugo',
    out: 'public',
    dev: 'hugo server --port 3001 --bind localhost',
    yaml: staticIn('public', 'hugo'),
  },
  Jekyll: {
    files: { '_config.yml': 'title: Site\ndestination: ./www # served\n', Gemfile: '' },
    framework: 'jekyll',
    kind: 'static',
    build: 'jekyll build',
    out: 'www',
    dev: 'jekyll serve --port 3001 --host localhost',
    yaml: staticIn('www', 'jekyll build'),
  },
  MkDocs: {
    files: { 'mkdocs.yml': 'site_name: Docs\n' },
    framework: 'mkdocs',
    kind: 'static',
    build: 'mkdocs build',
    out: 'site',
    yaml: staticIn('site', 'mkdocs build'),
  },
};
