// What a project's files say of how it is made: its framework, the folder that framework writes, and whether it has to
// be built at all. Reads the project's folder and package.json. Called by entry.ts and output-folder.ts.
import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** A framework with the folders it writes, the most particular first; `*` stands for one folder. */
interface Framework {
  readonly name: string;
  /** Dependencies that show it, any of them. */
  readonly packages: readonly string[];
  /** Files that show it without a package.json. */
  readonly files?: readonly string[];
  readonly out: readonly string[];
}

/** The first that fits counts: those that are built on another one stand before it. */
const FRAMEWORKS: readonly Framework[] = [
  { name: 'Next.js', packages: ['next'], out: ['out'] },
  { name: 'Nuxt', packages: ['nuxt', 'nuxt3'], out: ['.output/public', 'dist'] },
  { name: 'SvelteKit', packages: ['@sveltejs/kit'], out: ['build', '.svelte-kit/cloudflare'] },
  { name: 'Astro', packages: ['astro'], out: ['dist'] },
  { name: 'Angular', packages: ['@angular/core'], out: ['dist/*/browser', 'dist/browser', 'dist/*', 'dist'] },
  { name: 'React Router', packages: ['@react-router/dev'], out: ['build/client'] },
  { name: 'Remix', packages: ['@remix-run/dev'], out: ['build/client', 'public'] },
  { name: 'Gatsby', packages: ['gatsby'], out: ['public'] },
  { name: 'Docusaurus', packages: ['@docusaurus/core'], out: ['build'] },
  { name: 'VitePress', packages: ['vitepress'], out: ['.vitepress/dist', 'docs/.vitepress/dist'] },
  { name: 'VuePress', packages: ['vuepress'], out: ['.vuepress/dist', 'docs/.vuepress/dist'] },
  { name: 'Eleventy', packages: ['@11ty/eleventy'], out: ['_site'] },
  { name: 'Hexo', packages: ['hexo'], out: ['public'] },
  { name: 'Create React App', packages: ['react-scripts'], out: ['build'] },
  { name: 'Vue CLI', packages: ['@vue/cli-service'], out: ['dist'] },
  { name: 'Ember', packages: ['ember-cli'], out: ['dist'] },
  { name: 'Parcel', packages: ['parcel'], out: ['dist'] },
  {
    name: 'Vite',
    packages: ['vite'],
    files: ['vite.config.ts', 'vite.config.js', 'vite.config.mts', 'vite.config.mjs'],
    out: ['dist/client', 'dist'],
  },
  { name: 'webpack', packages: ['webpack', 'webpack-cli'], out: ['dist'] },
  { name: 'Hugo', packages: [], files: ['hugo.toml', 'hugo.yaml', 'hugo.json'], out: ['public'] },
  { name: 'Jekyll', packages: [], files: ['_config.yml'], out: ['_site'] },
  { name: 'MkDocs', packages: [], files: ['mkdocs.yml'], out: ['site'] },
];

/** What a project's folder shows. */
interface Detected {
  /** Name of the framework; null: none that is known. */
  readonly framework: string | null;
  /** Folders that it writes; empty without a framework. */
  readonly out: readonly string[];
  /** Command that builds it, as far as the files show that it has to be built. */
  readonly build: string | null;
  /** What shows that, for a message. */
  readonly because: string | null;
}

/** Looks at a project's folder; a package.json that is broken says nothing. */
export function detect(root: string): Detected {
  const manifest = readManifest(root);
  const framework = FRAMEWORKS.find(
    ({ packages, files = [] }) =>
      packages.some((name) => manifest.packages.has(name)) || files.some((file) => existsSync(join(root, file))),
  );
  const command = manifest.hasBuild ? 'npm run build' : null;
  const because = manifest.hasBuild
    ? 'package.json has a script "build"'
    : framework !== undefined
      ? `it uses ${framework.name}`
      : pageNeedsBuild(root)
        ? 'index.html loads TypeScript or JSX'
        : null;
  return {
    framework: framework?.name ?? null,
    out: framework?.out ?? [],
    build: because === null ? null : (command ?? 'npm run build'),
    because,
  };
}

/**
 * Whether a file is what the browser starts at, and no worker: the page in the root loads it, or its framework has it
 * there.
 */
export function isBrowserEntry(root: string, path: string): boolean {
  if (path.startsWith('src/') && detect(root).framework === 'Create React App') return true;
  return scriptsOf(root).some((source) => source.replace(/^(?:\.?\/)+/, '') === path);
}

function pageNeedsBuild(root: string): boolean {
  return scriptsOf(root).some((source) => /\.(?:[cm]?tsx?|jsx|vue|svelte)$/.test(source));
}

/** Scripts of the page are within its first part; a bound, for it is not ours. */
const PAGE_BYTES_MAX = 200_000;
/** One that is larger says nothing. */
const MANIFEST_BYTES_MAX = 5_000_000;

function scriptsOf(root: string): string[] {
  const file = join(root, 'index.html');
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return [];
  const text = startOf(file, PAGE_BYTES_MAX);
  return [...text.matchAll(/<script\b[^>]{0,500}?\bsrc\s{0,9}=\s{0,9}["']?([^"'\s>]{1,300})/gi)].map(
    ([, source]) => source!.split(/[?#]/)[0]!,
  );
}

function readManifest(root: string): { readonly packages: ReadonlySet<string>; readonly hasBuild: boolean } {
  try {
    const parsed = JSON.parse(startOf(join(root, 'package.json'), MANIFEST_BYTES_MAX).replace(/^\ufeff/, '')) as Record<
      string,
      unknown
    >;
    const names = ['dependencies', 'devDependencies'].flatMap((key) => Object.keys((parsed[key] ?? {}) as object));
    const scripts = parsed['scripts'] as { readonly build?: unknown } | null | undefined;
    return { packages: new Set(names), hasBuild: typeof scripts?.build === 'string' && scripts.build.trim() !== '' };
  } catch {
    return { packages: new Set(), hasBuild: false };
  }
}

/** The first part of a file, however large it is. */
export function startOf(file: string, bytesMax: number): string {
  const descriptor = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(Math.min(statSync(file).size, bytesMax));
    return bytes.toString('utf8', 0, readSync(descriptor, bytes));
  } finally {
    closeSync(descriptor);
  }
}
