// The parts of a project that the plugin reads: the keys of platform.yaml that Vite needs before the engine runs, and
// the entry of the worker. The program validates everything and reports problems.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';

/** A project, as Vite needs it. */
export interface PluginProject {
  /** Folder of platform.yaml, or Vite's root if there is none. */
  readonly folder: string;
  /** Absolute path of the configuration file, or null if there is none. */
  readonly configFile: string | null;
  readonly main: string | null;
  readonly port: number;
  readonly host: string;
  readonly assets: ProjectAssets;
}

/** `assets` of platform.yaml. */
export interface ProjectAssets {
  readonly notFoundHandling: 'none' | '404-page' | 'single-page-application';
  /** Requests that go to the worker even if there is a file; patterns, of which `!` excludes. */
  readonly runWorkerFirst: boolean | readonly string[];
}

const CONFIG_NAMES = ['platform.yaml', 'platform.yml'];
/** As in docs/platform-yaml.md. */
const PORT = 3000;
const HOST = 'localhost';

/** @param config absolute path of the configuration file; null looks for it in `root`. */
export function readProject(root: string, config: string | null): PluginProject {
  const configFile =
    config ?? CONFIG_NAMES.map((name) => path.join(root, name)).find((file) => existsSync(file)) ?? null;
  const keys = configFile === null ? {} : readKeys(configFile);
  const dev = objectIn(keys, 'dev');
  return {
    folder: configFile === null ? root : path.dirname(configFile),
    configFile,
    main: typeof keys['main'] === 'string' ? keys['main'] : null,
    port: typeof dev['port'] === 'number' ? dev['port'] : PORT,
    assets: assetsIn(keys),
    host: typeof dev['host'] === 'string' ? dev['host'] : HOST,
  };
}

function assetsIn(keys: Record<string, unknown>): ProjectAssets {
  const { not_found_handling: handling, run_worker_first: first } = objectIn(keys, 'assets');
  const patterns = Array.isArray(first) ? first.filter((pattern) => typeof pattern === 'string') : [];
  return {
    notFoundHandling: handling === '404-page' || handling === 'single-page-application' ? handling : 'none',
    runWorkerFirst: first === true || patterns,
  };
}

function readKeys(file: string): Record<string, unknown> {
  try {
    const value: unknown = parse(textOf(readFileSync(file)));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    // The engine reports the problem with its position.
    return {};
  }
}

/** UTF-8, or UTF-16 as marked by Windows editors. */
function textOf(bytes: Uint8Array): string {
  const label = bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : bytes[0] === 0xfe ? 'utf-16be' : 'utf-8';
  return new TextDecoder(label).decode(bytes);
}

function objectIn(keys: Record<string, unknown>, name: string): Record<string, unknown> {
  const value = keys[name];
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
