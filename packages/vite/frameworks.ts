// Which module a worker starts at, and in which of Vite's environments: the project's own, or that of a framework it
// depends on.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Where a worker starts. */
export interface WorkerEntry {
  /** As an import statement names it: a file, absolute, or a module of a package. */
  readonly main: string;
  /** Names of the environments: its own, and those that run in the same isolate. */
  readonly environment: string;
  readonly childEnvironments: readonly string[];
}

/** A framework over Vite that gives its server as a module. */
interface Framework {
  /** The package that a project depends on. */
  readonly dependency: string;
  readonly main: string;
  readonly environment: string;
  readonly childEnvironments: readonly string[];
}

const frameworks: readonly Framework[] = [
  { dependency: 'vinext', main: 'vinext/server/fetch-handler', environment: 'rsc', childEnvironments: ['ssr'] },
  {
    dependency: '@tanstack/react-start',
    main: '@tanstack/react-start/server-entry',
    environment: 'ssr',
    childEnvironments: [],
  },
];

const OWN_ENTRIES = ['worker/index.ts', 'worker/index.js', 'worker/index.mjs'];

/** What the options of `platform()` say of environments. */
export interface EnvironmentNames {
  readonly name?: string | undefined;
  readonly childEnvironments?: readonly string[] | undefined;
}

/**
 * @param root Vite's root.
 * @param main of platform.yaml; goes before everything else.
 * @throws where there is no entry, saying what was looked for.
 */
export function findWorkerEntry(root: string, main: string | null, names: EnvironmentNames): WorkerEntry {
  const own = main === null ? OWN_ENTRIES.find((name) => existsSync(path.join(root, name))) : main;
  const framework = frameworks.find(({ dependency }) => dependenciesOf(root).has(dependency));
  if (main !== null && !existsSync(path.resolve(root, main)))
    throw new Error(
      `main: ${main} of platform.yaml does not exist in ${root}: name the file that the worker starts at`,
    );
  if (own === undefined && framework === undefined)
    throw new Error(
      `platform() found no worker in ${root}: create one of ${OWN_ENTRIES.join(', ')}, or name its file as "main" in platform.yaml`,
    );
  return {
    main: own === undefined ? framework!.main : path.resolve(root, own),
    environment: names.name ?? framework?.environment ?? 'worker',
    childEnvironments: names.childEnvironments ?? framework?.childEnvironments ?? [],
  };
}

function dependenciesOf(root: string): Set<string> {
  try {
    const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as Record<string, object>;
    return new Set([...Object.keys(manifest['dependencies'] ?? {}), ...Object.keys(manifest['devDependencies'] ?? {})]);
  } catch {
    return new Set();
  }
}
