// Output of a build of Vite's environments for the platform: the worker and the files for browsers, in the folder
// where `platform build` and builds of pushes look for them (builder/frameworks/adapters.ts).
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { ViteBuilder } from 'vite';
import type { WorkerEntry } from './frameworks.ts';

/** The output folder, relative to the folder of the project. */
const OUTPUT_FOLDER = '.platform/output';

/** Files written by a worker environment, relative to the folder. */
export interface WrittenEnvironment {
  readonly folder: string;
  /** Its entry file. */
  readonly entry: string | null;
  /** Non-code files: images of the worker that browsers request. */
  readonly assets: readonly string[];
}

/** Builds the environments that no framework has built: the worker's environment, and the page's if there is one. */
export async function buildEnvironments(builder: ViteBuilder, entry: WorkerEntry): Promise<void> {
  const { root } = builder.config;
  const client = builder.environments['client'];
  const hasPage = client?.config.build.rolldownOptions.input !== undefined || existsSync(path.join(root, 'index.html'));
  if (client !== undefined && hasPage && !client.isBuilt) await builder.build(client);
  for (const name of [...entry.childEnvironments, entry.environment]) {
    const environment = builder.environments[name];
    if (environment !== undefined && !environment.isBuilt) await builder.build(environment);
  }
}

/**
 * Copies the files for browsers, and writes the location of the worker.
 *
 * @param folder the project's @param environments environments of the worker, beginning with the one of the entry;
 * undefined if it was not built.
 * @throws {Error} if no worker was built.
 */
export function writeBuildOutput(
  builder: ViteBuilder,
  folder: string,
  environments: readonly (WrittenEnvironment | undefined)[],
): void {
  const output = path.join(folder, OUTPUT_FOLDER);
  rmSync(output, { recursive: true, force: true });
  const [main] = environments;
  if (main === undefined || main.entry === null)
    throw new Error('The build wrote no worker: the environment of platform() has no output for its entry');
  const server = path.join(output, 'server');
  const assets = path.join(output, 'public');
  mkdirSync(server, { recursive: true });
  // The worker is not copied but re-exported, because environments refer to each other's files.
  const built = path.relative(server, path.join(main.folder, main.entry)).split(path.sep).join('/');
  const from = JSON.stringify(built.startsWith('.') ? built : `./${built}`);
  writeFileSync(path.join(server, 'index.mjs'), `export * from ${from};\nexport { default } from ${from};\n`);
  const { publicDir } = builder.config;
  const client = builder.environments['client'];
  const made = client?.isBuilt === true ? path.resolve(builder.config.root, client.config.build.outDir) : publicDir;
  if (made !== '' && existsSync(made)) cpSync(made, assets, { recursive: true });
  for (const written of environments)
    for (const file of written?.assets ?? []) {
      // React Router has already moved its files.
      if (!existsSync(path.join(written!.folder, file))) continue;
      mkdirSync(path.dirname(path.join(assets, file)), { recursive: true });
      cpSync(path.join(written!.folder, file), path.join(assets, file), { force: false });
    }
}
