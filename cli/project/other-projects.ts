// The other projects of a workspace, by name. Called by `platform dev` and `platform types`.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { entryCandidates } from '#builder/frameworks/table.ts';
import type { WorkerSources } from '#core/config/environment-types.ts';
import type { Shell } from '../terminal/shell.ts';
import { loadProject, nameOf, type Project } from './project.ts';
import { placeOf, readRepository } from './repository.ts';

/** Loads the project in a folder without its warnings; throws configuration errors. */
export type LoadOther = (folder: string) => Project;

/** Loads the other projects of a workspace. */
export function loaderOfOthers(shell: Shell): LoadOther {
  return (folder) => loadProject({ ...shell, err: () => {} }, folder, null);
}

/** Names of the workspace's other projects, and their folders. */
export function foldersOf(project: Project, load: LoadOther): ReadonlyMap<string, string> {
  const { repository } = placeOf(project.folder);
  const found = new Map<string, string>();
  for (const file of readRepository(repository).projectFiles) {
    const folder = path.join(repository, path.dirname(file));
    if (folder !== project.folder) found.set(nameOf(load(folder)), folder);
  }
  return found;
}

/** Import paths, relative to a folder, of the worker's source and, if requested, of the workspace's other workers. */
export function workerSources(shell: Shell, project: Project, from: string, workspace: boolean): WorkerSources {
  const others = new Map<string, string>();
  const load = loaderOfOthers(shell);
  for (const [name, folder] of workspace ? foldersOf(project, load) : []) {
    const source = sourceOf(load(folder), from);
    if (source !== null) others.set(name, source);
  }
  return { own: sourceOf(project, from), others };
}

/** Import path, relative to a folder, of the file with a worker's exports; null if the file is not TypeScript. */
function sourceOf({ config, root }: Project, from: string): string | null {
  const main = config.main ?? entryCandidates.find((name) => existsSync(path.join(root, name)));
  if (main === undefined || !/\.tsx?$/.test(main)) return null;
  const file = path.relative(from, path.join(root, main)).split(path.sep).join('/');
  const source = (file.startsWith('.') ? file : `./${file}`).replace(/\.tsx?$/, '');
  // The path becomes part of generated TypeScript.
  return /^[\w ./@+~-]+$/.test(source) ? source : null;
}
