// The platform's framework adapters (packages/astro, nitro, sveltekit, vite): how a build command is made to use them,
// and where they write their output. Called by build-step.ts before and after the command, and by build.ts, entry.ts
// and output-folder.ts. The variables that this file sets only contain the path of a file of the platform.
import { lstatSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BuildConfig, EntryConfig } from '../project/project.ts';
import { detect, usesVitePlugin } from './detect.ts';
import { filesIn } from './project-files.ts';
import { adaptedOutput } from './table.ts';

/** Output of an adapter, relative to the project's root. */
interface Adapted {
  readonly entry: string;
  /** Null if the build has no files to serve. */
  readonly assets: string | null;
}

/**
 * Whether the platform decides how to use a project's build, because it names no file or folder. With the Vite plugin,
 * `main` is a source that the plugin builds.
 */
function leavesItToUs(root: string, { kind, main, out, build }: EntryConfig): boolean {
  if (build === null || out !== null || kind === 'static' || kind === 'ssr') return false;
  return main === null || usesVitePlugin(filesIn(root));
}

/** Frameworks whose adapter is a package imported by the app: command/adapter-stand-ins.mjs replaces it with ours. */
const HOOKED: ReadonlySet<string> = new Set(['sveltekit', 'astro']);

/** Variables by which frameworks find our adapters; the project's own values are kept. */
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

/** Deletes the output of an earlier build, so that it is not mistaken for the output of the next build. */
export function clearAdapted(root: string): void {
  if (isOwnFolder(root)) rmSync(join(root, adaptedOutput), { recursive: true, force: true });
}

/** Output of an adapter in a project's build; null means no adapter ran. */
export function findAdapted(root: string, config: EntryConfig): Adapted | null {
  const entry = `${adaptedOutput}/server/index.mjs`;
  if (!leavesItToUs(root, config) || !isOwnFolder(root) || !isThere(root, entry)?.isFile()) return null;
  const assets = `${adaptedOutput}/public`;
  return { entry, assets: isThere(root, assets)?.isDirectory() ? assets : null };
}

/** Default binding name of the files of an adapter's worker. */
const ASSETS_BINDING = 'ASSETS';

/** The binding name of a worker's files: an adapter's worker can read them without platform.yaml. */
export function assetsBinding(root: string, config: BuildConfig): string | null {
  return findAdapted(root, config)?.assets == null ? (config.assets?.binding ?? null) : adaptedAssetsBinding(config);
}

/** The binding name for an adapter's worker; null means that platform.yaml uses it for something else. */
export function adaptedAssetsBinding(config: BuildConfig): string | null {
  const isTaken = [...Object.values(config.bindings), { [config.auth?.binding ?? '']: '' }].some((declared) =>
    Object.hasOwn(declared, ASSETS_BINDING),
  );
  return config.assets?.binding ?? (isTaken ? null : ASSETS_BINDING);
}

/** Links are not followed when deleting or reading, since they may lead outside. */
function isOwnFolder(root: string): boolean {
  return lstatSync(join(root, '.platform'), { throwIfNoEntry: false })?.isDirectory() === true;
}

function isThere(root: string, path: string) {
  return statSync(join(root, path), { throwIfNoEntry: false });
}
