// The known frameworks: how to detect each, its output folders and commands, and the locations of workers. Data only;
// kinds.ts determines the kind of project. Used by detect.ts and entry.ts.

/** Candidates for the entry if `main` is not set, in order. */
export const entryCandidates: readonly string[] = [
  'src/index.ts',
  'src/index.tsx',
  'src/index.js',
  'src/index.mjs',
  'src/index.jsx',
  'worker/index.ts',
  'worker/index.js',
  'worker/index.mjs',
];

/** Output of all our adapters: the worker is `server/index.mjs`, static files are in `public/`. */
export const adaptedOutput = '.platform/output';

/** Conventional output folders, in search order. */
export const conventionalOutputs: readonly string[] = [
  'dist/client',
  'build/client',
  '.output/public',
  'dist',
  'build',
  'out',
  '_site',
  'public',
  'www',
];

/** How to start a dev server. */
export interface DevProgram {
  readonly command: string;
  /** Its default port. */
  readonly port: number;
  /** Flags for port and host; null means that the server only reads the variables PORT and HOST. */
  readonly flags: { readonly port: string; /** Null: it listens everywhere. */ readonly host: string | null } | null;
}

/** A framework. In folder paths, `*` matches one folder. */
export interface Framework {
  readonly id: string;
  readonly name: string;
  /**
   * Dependencies any of which identifies the framework. The version of the first such package is the framework's
   * version.
   */
  readonly packages: readonly string[];
  /** Files that identify the framework in projects without a package.json. */
  readonly files?: readonly string[];
  /** The framework's folders with client files, the most specific first. */
  readonly out: readonly string[];
  /** The framework's build command if the project has no script, or null. */
  readonly build: string | null;
  readonly dev: DevProgram | null;
  /** Base names of the framework's configuration files. */
  readonly config?: readonly string[];
  /** The configuration option for another output folder, and the flag of its command. */
  readonly outOption?: string;
  readonly outFlag?: string;
  /** The subfolder that is served; by default, the whole folder. */
  readonly outBelow?: string;
  /** Frameworks that this framework builds on, whose packages are also installed. */
  readonly covers?: readonly string[];
  /** Oldest major version whose server was tested. */
  readonly oldest?: number;
  /** Whether this is a bundler or library that other frameworks build on: it never counts as a second framework. */
  readonly isTool?: true;
}

const PORT_AND_HOST = { port: '--port', host: '--host' } as const;
const vite = (command = 'vite dev', port = 5173): DevProgram => ({ command, port, flags: PORT_AND_HOST });

/** The first match counts, so frameworks are listed before the frameworks that they build on. */
export const frameworks: readonly Framework[] = [
  {
    id: 'vinext',
    name: 'vinext',
    packages: ['vinext'],
    covers: ['next'],
    out: ['dist/client'],
    build: 'vinext build',
    // The host flag differs between versions.
    dev: { command: 'vinext dev', port: 3000, flags: { port: '--port', host: null } },
  },
  {
    id: 'next',
    name: 'Next.js',
    packages: ['next'],
    config: ['next.config'],
    out: ['out'],
    outOption: 'distDir',
    build: 'next build',
    dev: { command: 'next dev', port: 3000, flags: { port: '--port', host: '--hostname' } },
    oldest: 13,
  },
  {
    id: 'nuxt',
    name: 'Nuxt',
    packages: ['nuxt', 'nuxt3'],
    config: ['nuxt.config'],
    out: ['.output/public', 'dist'],
    build: 'nuxt build',
    dev: { command: 'nuxt dev', port: 3000, flags: PORT_AND_HOST },
    oldest: 3,
  },
  {
    id: 'sveltekit',
    name: 'SvelteKit',
    packages: ['@sveltejs/kit'],
    config: ['svelte.config'],
    out: ['build', '.svelte-kit/cloudflare'],
    outOption: 'pages',
    build: 'vite build',
    dev: vite(),
    oldest: 2,
  },
  {
    id: 'astro',
    name: 'Astro',
    packages: ['astro'],
    config: ['astro.config'],
    out: ['dist/client', 'dist'],
    outOption: 'outDir',
    outFlag: '--outDir',
    build: 'astro build',
    dev: { command: 'astro dev', port: 4321, flags: PORT_AND_HOST },
    oldest: 6,
  },
  {
    id: 'solid-start',
    name: 'SolidStart',
    packages: ['@solidjs/start'],
    config: ['app.config'],
    out: ['.output/public'],
    build: 'vite build',
    dev: vite('vite dev', 3000),
  },
  {
    id: 'tanstack-start',
    name: 'TanStack Start',
    packages: ['@tanstack/react-start', '@tanstack/solid-start'],
    out: ['dist/client', '.output/public'],
    build: 'vite build',
    dev: vite('vite dev', 3000),
  },
  {
    id: 'analog',
    name: 'Analog',
    packages: ['@analogjs/platform'],
    covers: ['angular'],
    out: ['dist/analog/public'],
    build: 'vite build',
    dev: vite(),
  },
  {
    id: 'angular',
    name: 'Angular',
    packages: ['@angular/core'],
    config: ['angular.json'],
    out: ['dist/*/browser', 'dist/browser', 'dist/*', 'dist'],
    build: 'ng build',
    dev: { command: 'ng serve', port: 4200, flags: PORT_AND_HOST },
  },
  {
    id: 'react-router',
    name: 'React Router',
    packages: ['@react-router/dev'],
    config: ['react-router.config'],
    out: ['build/client'],
    outOption: 'buildDirectory',
    outBelow: 'client',
    build: 'react-router build',
    dev: { command: 'react-router dev', port: 5173, flags: PORT_AND_HOST },
    oldest: 7,
  },
  {
    id: 'remix',
    name: 'Remix',
    packages: ['@remix-run/dev'],
    covers: ['react-router'],
    out: ['build/client', 'public'],
    build: 'remix vite:build',
    dev: { command: 'remix vite:dev', port: 5173, flags: PORT_AND_HOST },
    oldest: 2,
  },
  {
    id: 'qwik',
    name: 'Qwik',
    packages: ['@builder.io/qwik-city', '@qwik.dev/router'],
    config: ['adapters'],
    out: ['dist'],
    build: 'vite build',
    dev: vite('vite --mode ssr'),
  },
  {
    id: 'nitro',
    name: 'Nitro',
    packages: ['nitropack', 'nitro', 'nitro-nightly'],
    out: ['.output/public'],
    build: 'nitro build',
    dev: { command: 'nitro dev', port: 3000, flags: PORT_AND_HOST },
    isTool: true,
  },
  {
    id: 'gatsby',
    name: 'Gatsby',
    packages: ['gatsby'],
    config: ['gatsby-config'],
    out: ['public'],
    build: 'gatsby build',
    dev: { command: 'gatsby develop', port: 8000, flags: PORT_AND_HOST },
  },
  {
    id: 'docusaurus',
    name: 'Docusaurus',
    packages: ['@docusaurus/core'],
    config: ['docusaurus.config'],
    out: ['build'],
    outFlag: '--out-dir',
    build: 'docusaurus build',
    dev: { command: 'docusaurus start', port: 3000, flags: PORT_AND_HOST },
  },
  {
    id: 'vitepress',
    name: 'VitePress',
    packages: ['vitepress'],
    config: ['.vitepress', 'docs/.vitepress'],
    out: ['.vitepress/dist', 'docs/.vitepress/dist'],
    outOption: 'outDir',
    outFlag: '--outDir',
    build: 'vitepress build',
    dev: { command: 'vitepress dev', port: 5173, flags: PORT_AND_HOST },
  },
  {
    id: 'vuepress',
    name: 'VuePress',
    packages: ['vuepress'],
    config: ['.vuepress', 'docs/.vuepress'],
    out: ['.vuepress/dist', 'docs/.vuepress/dist', 'src/.vuepress/dist'],
    outOption: 'dest',
    outFlag: '--dest',
    build: 'vuepress build',
    dev: { command: 'vuepress dev', port: 8080, flags: PORT_AND_HOST },
  },
  {
    id: 'eleventy',
    name: 'Eleventy',
    packages: ['@11ty/eleventy'],
    config: ['.eleventy', 'eleventy.config'],
    out: ['_site'],
    outOption: 'output',
    outFlag: '--output',
    build: 'eleventy',
    dev: { command: 'eleventy --serve', port: 8080, flags: { port: '--port', host: null } },
  },
  {
    id: 'hexo',
    name: 'Hexo',
    packages: ['hexo'],
    config: ['_config.yml'],
    out: ['public'],
    outOption: 'public_dir',
    build: 'hexo generate',
    dev: { command: 'hexo server', port: 4000, flags: { port: '--port', host: '--ip' } },
  },
  {
    id: 'create-react-app',
    name: 'Create React App',
    packages: ['react-scripts'],
    out: ['build'],
    outFlag: 'BUILD_PATH',
    build: 'react-scripts build',
    dev: { command: 'react-scripts start', port: 3000, flags: null },
  },
  {
    id: 'vue-cli',
    name: 'Vue CLI',
    packages: ['@vue/cli-service'],
    config: ['vue.config'],
    out: ['dist'],
    outOption: 'outputDir',
    outFlag: '--dest',
    build: 'vue-cli-service build',
    dev: { command: 'vue-cli-service serve', port: 8080, flags: PORT_AND_HOST },
  },
  {
    id: 'ember',
    name: 'Ember',
    packages: ['ember-cli'],
    out: ['dist'],
    outFlag: '--output-path',
    build: 'ember build --environment=production',
    dev: { command: 'ember serve', port: 4200, flags: PORT_AND_HOST },
  },
  {
    id: 'parcel',
    name: 'Parcel',
    packages: ['parcel'],
    out: ['dist'],
    outFlag: '--dist-dir',
    build: 'parcel build',
    dev: null,
    isTool: true,
  },
  {
    id: 'vite',
    name: 'Vite',
    packages: ['vite'],
    config: ['vite.config'],
    files: ['vite.config.ts', 'vite.config.js', 'vite.config.mts', 'vite.config.mjs'],
    out: ['dist/client', 'dist'],
    outOption: 'outDir',
    outFlag: '--outDir',
    build: 'vite build',
    dev: vite(),
    isTool: true,
  },
  {
    id: 'webpack',
    name: 'webpack',
    packages: ['webpack', 'webpack-cli'],
    out: ['dist'],
    build: 'webpack --mode production',
    dev: null,
    isTool: true,
  },
  {
    id: 'hugo',
    name: 'Hugo',
    packages: [],
    // `hugo new site` creates the last of these files; before Hugo 0.110, the configuration file had a generic name.
    files: ['hugo.toml', 'hugo.yaml', 'hugo.json', 'config/_default/hugo.toml', 'archetypes/default.md'],
    out: ['public'],
    outOption: 'publishDir',
    outFlag: '--destination',
    build: 'hugo',
    dev: { command: 'hugo server', port: 1313, flags: { port: '--port', host: '--bind' } },
  },
  {
    id: 'jekyll',
    name: 'Jekyll',
    packages: [],
    files: ['_config.yml'],
    out: ['_site'],
    outOption: 'destination',
    outFlag: '--destination',
    build: 'jekyll build',
    dev: { command: 'jekyll serve', port: 4000, flags: PORT_AND_HOST },
  },
  {
    id: 'mkdocs',
    name: 'MkDocs',
    packages: [],
    files: ['mkdocs.yml'],
    out: ['site'],
    outOption: 'site_dir',
    build: 'mkdocs build',
    dev: null,
  },
];

/** Whether a framework with this id is known. */
export function isKnown(id: string): boolean {
  return frameworks.some((framework) => framework.id === id);
}
