// What a project's files say of how it is built, behind one interface: our own rules (builder/frameworks/) first, then
// the library @netlify/build-info, which knows more frameworks and is asked only where the rules say too little. It
// runs in a confined process (child.ts), never in this one. Called by plan.ts.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ProjectConfig } from '#core/config/project-config.ts';
import { entryCandidates } from '../frameworks/entry.ts';
import { detect, isBrowserEntry, startOf } from '../frameworks/frameworks.ts';
import { runCommand, type Manager } from './package-tools.ts';
import { BuildFailure } from './types.ts';

/** What was found out. */
export interface DetectedProject {
  /** Name of the framework; null: none. */
  readonly framework: string | null;
  /** What shows it. */
  readonly because: string;
  /** Command that builds it; null: none is needed, or known. */
  readonly build: string | null;
  /** Why it is that command, for the log. */
  readonly buildBecause: string;
  /** Output folder, where only the library knows it; null: builder/frameworks/ finds it after the build. */
  readonly out: string | null;
  /** Said where a script of the project is not run; null: nothing. */
  readonly skipped: string | null;
}

/** A framework as the library names it. */
export interface LibraryFramework {
  readonly name: string;
  readonly build: string | null;
  readonly out: string | null;
}

/** Asks the library about the project's folder. */
export type AskLibrary = (root: string) => Promise<readonly LibraryFramework[]>;

const CONFIG_BYTES_MAX = 200_000;
const MANIFEST_BYTES_MAX = 5_000_000;

/** The bundler does what this script would. */
const OWN_BUILD = /^(?:exec )?(?:npx )?platform build\b/;

/**
 * What frameworks that answer requests on a server need, and what works instead. By the names of
 * builder/frameworks/frameworks.ts and of the library.
 */
const serverFrameworks: Readonly<Record<string, string>> = {
  'Next.js': `set output: 'export' in next.config and say "kind: static", "build: next build", "out: out" in platform.yaml`,
  Nuxt: 'say "kind: static", "build: nuxt generate", "out: .output/public"; or build with NITRO_PRESET=cloudflare_module and say "kind: dynamic", "main: .output/server/index.mjs", "out: .output/public"',
  SvelteKit:
    'use @sveltejs/adapter-static and say "kind: static", "out: build"; or @sveltejs/adapter-cloudflare and say "kind: dynamic", "main: .svelte-kit/cloudflare/_worker.js", "out: .svelte-kit/cloudflare"',
  Astro: `leave out "output: 'server'" and say "kind: static", "build: astro build", "out: dist"; or use @astrojs/cloudflare and name its worker as "main"`,
  'React Router':
    'set ssr: false in react-router.config and say "kind: static", "out: build/client"; or name the worker it makes as "main"',
  Remix: 'use its single-page mode and say "kind: static", "out: build/client"',
  Angular: 'set outputMode to "static" and say "kind: static", "out: dist/<name>/browser"',
  'TanStack Start':
    'prerender it and say "kind: static"; or build with its preset for workers and name the worker as "main"',
  'Solid Start': 'build with its preset cloudflare_module and name the worker as "main"',
  Qwik: 'use its adapter for static sites and say "kind: static", "out: dist"',
  'Analog.js': 'prerender it and say "kind: static", "out: dist/analog/public"',
};

/**
 * Looks at a project.
 *
 * @param ask the library; null: a command is known already.
 * @throws {BuildFailure} `not_supported` for what cannot be built at all.
 */
export async function detectProject(
  root: string,
  config: ProjectConfig,
  manager: Manager,
  ask: AskLibrary | null,
): Promise<DetectedProject> {
  const own = detect(root);
  const script = scriptOf(root, 'build');
  const isWorker = config.kind !== 'static' && hasEntry(root, config);
  let { framework } = own;
  let because = framework === null ? '' : 'from its package.json and files';
  if (config.kind === 'ssr') throw serverOnly(framework ?? 'The project', 'kind: ssr is not built yet');
  if (framework === 'Next.js' && config.kind === null && !isNextExport(root))
    throw serverOnly(framework, 'Next.js renders pages on a server of its own, which is not built yet');
  const isPlatformBuild = script !== null && OWN_BUILD.test(script.trim());
  let build: string | null = null;
  let buildBecause = '';
  let out: string | null = null;
  if (script !== null && !isPlatformBuild && (!isWorker || framework !== null)) {
    build = runCommand(manager, 'build');
    buildBecause = 'package.json has a script "build"';
  }
  const needsLibrary = !isWorker && (build === null || framework === null) && existsSync(join(root, 'package.json'));
  const [found] = ask !== null && needsLibrary && !isPlatformBuild ? await ask(root) : [];
  if (found !== undefined) {
    if (framework === null) {
      framework = found.name;
      because = 'by @netlify/build-info';
      out = build === null && found.build === null ? null : found.out;
    }
    if (build === null && found.build !== null) {
      build = found.build;
      buildBecause = `what ${found.name} is built with`;
    }
  }
  const skipped =
    isWorker && build === null && script !== null && !isPlatformBuild
      ? 'The script "build" of package.json is not run, since the worker is bundled from its sources: add "build" to platform.yaml if it has to'
      : null;
  return { framework, because, build, buildBecause, out, skipped };
}

/** The failure to tell in place of one that is about missing files: what a framework's server output needs. */
export function adapterFailure(framework: string | null): BuildFailure | null {
  if (framework === null || serverFrameworks[framework] === undefined) return null;
  return serverOnly(framework, `${framework} made no site that can be served as files, and no worker`);
}

function serverOnly(framework: string, what: string): BuildFailure {
  const advice = serverFrameworks[framework];
  const works =
    advice === undefined
      ? 'say "kind: static" with the build command and "out" for a site that is generated whole, or "kind: dynamic" with "main" for a worker'
      : advice;
  return new BuildFailure('not_supported', `${what}. What works: ${works}`);
}

function hasEntry(root: string, { main }: ProjectConfig): boolean {
  if (main !== null) return true;
  return entryCandidates.some((path) => existsSync(join(root, path)) && !isBrowserEntry(root, path));
}

function isNextExport(root: string): boolean {
  return ['js', 'mjs', 'ts', 'cjs', 'mts']
    .map((ending) => join(root, `next.config.${ending}`))
    .some((file) => existsSync(file) && /\boutput\s*:\s*['"`]export['"`]/.test(startOf(file, CONFIG_BYTES_MAX)));
}

function scriptOf(root: string, name: string): string | null {
  try {
    const manifest = JSON.parse(startOf(join(root, 'package.json'), MANIFEST_BYTES_MAX).replace(/^\ufeff/, '')) as {
      scripts?: Record<string, unknown>;
    };
    const script = manifest.scripts?.[name];
    return typeof script === 'string' && script.trim() !== '' ? script : null;
  } catch {
    // A broken package.json is the package manager's to report.
    return null;
  }
}
