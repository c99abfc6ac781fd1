// The platform's own adapters of frameworks (packages/astro, nitro, sveltekit, vite): how a build command is told to
// use them, and where they put what they make. Called by build-step.ts before and after the command, and by build.ts,
// entry.ts and output-folder.ts. The variables that it sets say where a file of the platform lies, and nothing else.
import { lstatSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BuildConfig, EntryConfig } from '../project/project.ts';
import { detect, usesVitePlugin } from './detect.ts';
import { filesIn } from './project-files.ts';
import { adaptedOutput } from './table.ts';

/** What an adapter made, relative to the project's root. */
interface Adapted {
  readonly entry: string;
  /** Null: there are no files to serve. */
  readonly assets: string | null;
}

/**
 * Whether a project leaves it to the platform what becomes of its build: it names no file or folder of its own. With
 * the Vite plugin `main` is a source, which the plugin builds.
 */
function leavesItToUs(root: string, { kind, main, out, build }: EntryConfig): boolean {
  if (build === null || out !== null || kind === 'static' || kind === 'ssr') return false;
  return main === null || usesVitePlugin(filesIn(root));
}

/** Frameworks whose adapter is a package that the app names: command/adapter-stand-ins.mjs gives them ours. */
const HOOKED: ReadonlySet<string> = new Set(['sveltekit', 'astro']);

/** Variables with which frameworks find our adapters; those of the project are kept beside them. */
export function adapterVariables(
  root: string,
  config: EntryConfig,
  own: Readonly<Record<string, string>> = {},
): Record<string, string> {
  if (!leavesItToUs(root, config)) return { ...own };
  const preset = { NITRO_PRESET: fileURLToPath(new URL('../../packages/nitro', import.meta.url)), ...own };
  if (!HOOKED.has(detect(filesIn(root)).framework?.id ?? '')) return preset;
  const hook = `--import=${new URL('../command/adapter-hook.mjs', import.meta.url).href}`;
  const { NODE_OPTIONS: options } = own;
  return { ...preset, NODE_OPTIONS: options === undefined ? hook : `${hook} ${options}` };
}

/** Takes away what an earlier build left, so that it is never taken for the result of the next one. */
export function clearAdapted(root: string): void {
  if (isOwnFolder(root)) rmSync(join(root, adaptedOutput), { recursive: true, force: true });
}

/** What an adapter made in the build of a project; null: none took part. */
export function findAdapted(root: string, config: EntryConfig): Adapted | null {
  const entry = `${adaptedOutput}/server/index.mjs`;
  if (!leavesItToUs(root, config) || !isOwnFolder(root) || !isThere(root, entry)?.isFile()) return null;
  const assets = `${adaptedOutput}/public`;
  return { entry, assets: isThere(root, assets)?.isDirectory() ? assets : null };
}

/** The name under which a worker of an adapter finds its files, where platform.yaml gives it none. */
const ASSETS_BINDING = 'ASSETS';

/** The name under which a worker sees its files: one that an adapter made can read them without platform.yaml. */
export function assetsBinding(root: string, config: BuildConfig): string | null {
  return findAdapted(root, config)?.assets == null ? (config.assets?.binding ?? null) : adaptedAssetsBinding(config);
}

/** The name for a worker that an adapter makes; null: platform.yaml has given it to something else. */
export function adaptedAssetsBinding(config: BuildConfig): string | null {
  const isTaken = [...Object.values(config.bindings), { [config.auth?.binding ?? '']: '' }].some((declared) =>
    Object.hasOwn(declared, ASSETS_BINDING),
  );
  return config.assets?.binding ?? (isTaken ? null : ASSETS_BINDING);
}

/** A link may lead anywhere: nothing is deleted or read behind it. */
function isOwnFolder(root: string): boolean {
  return lstatSync(join(root, '.platform'), { throwIfNoEntry: false })?.isDirectory() === true;
}

function isThere(root: string, path: string) {
  return statSync(join(root, path), { throwIfNoEntry: false });
}
