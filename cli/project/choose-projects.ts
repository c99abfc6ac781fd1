// Chooses the projects of a command in a monorepo: the project in the folder, --project, or --all. Called by dev, build
// and deploy.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { readTextSync } from '#core/text-file.ts';
import { entryCandidates } from '#builder/frameworks/table.ts';
import { parseProjectConfig } from '#core/config/project-config.ts';
import { nearestWord } from '#core/spelling.ts';
import { projectNameFrom } from '#packages/create/project.ts';
import { CliError } from '../terminal/failure.ts';
import { checkWorkspaceFile, configIn } from './project.ts';
import { placeOf, readRepository } from './repository.ts';

/** Choice of the user. */
interface Choice {
  /** Absolute. */
  readonly folder: string;
  readonly config?: string | undefined;
  readonly project?: string | undefined;
  readonly all?: boolean | undefined;
}

/** Flags of commands for one project of a monorepo, or for all. */
export const choiceFlags = {
  project: { type: 'string', valueHint: 'name', description: 'Name or folder of a project of this monorepo' },
  all: { type: 'boolean', description: 'All projects of this monorepo' },
} as const;

interface Found {
  readonly name: string;
  /** Absolute. */
  readonly folder: string;
  /** Path of the folder, relative to the repository. */
  readonly path: string;
}

/**
 * Folders of the chosen projects, sorted.
 *
 * @param command name for messages: `platform build`.
 * @throws {CliError} with exit code 2 and a list of the projects, if the user has to choose.
 */
export function chooseProjects(command: string, choice: Choice, takesAll: boolean): string[] {
  const { folder, config, project, all } = choice;
  if (project === undefined && all !== true) {
    if (config !== undefined || isProject(folder)) return [folder];
    const found = projectsIn(folder, folder);
    // A project in a subfolder is not chosen; the build reports problems with this folder.
    if (found.length === 0) return [folder];
    throw new CliError(
      `${found.length === 1 ? 'There is a project' : `There are ${found.length} projects`} in subfolders: choose one`,
      {
        exitCode: 2,
        advice: `${listed(found)}\nRun \`${command} --project ${found[0]!.name}\`${takesAll ? `, or \`${command} --all\` for each` : ''}.`,
      },
    );
  }
  if (config !== undefined)
    throw new CliError('--config cannot be combined with --project and --all', {
      exitCode: 2,
      advice: 'Omit --project and --all.',
    });
  if (project !== undefined && all === true)
    throw new CliError('--project and --all cannot be combined', {
      exitCode: 2,
      advice: 'Omit one of the two options.',
    });
  const { repository, workspace } = placeOf(folder);
  const found = projectsIn(workspace ?? repository, repository);
  if (found.length === 0)
    throw new CliError(`There is no platform.yaml in ${workspace ?? repository}`, {
      exitCode: 2,
      advice: 'Every project needs a platform.yaml in its folder.',
    });
  if (all === true) return found.map((one) => one.folder);
  const wanted = project!.replace(/\/+$/, '');
  const fitting = found.filter(
    (one) => one.name === wanted || one.path === wanted || one.folder === path.resolve(folder, wanted),
  );
  if (fitting.length === 1) return [fitting[0]!.folder];
  const near = nearestWord(
    wanted,
    found.map(({ name }) => name),
  );
  throw new CliError(
    fitting.length > 1
      ? `${fitting.length} projects are named ${wanted}: pass the folder`
      : near === undefined
        ? `No project in this repository is named ${wanted}; --name deploys a project under another name`
        : `There is no project ${wanted}. Did you mean ${near}?`,
    { exitCode: 2, advice: listed(found) },
  );
}

/** Whether a folder is a project: it has a configuration, a worker or a page. */
function isProject(folder: string): boolean {
  return (
    configIn(folder) !== undefined ||
    [...entryCandidates, 'index.html'].some((name) => existsSync(path.join(folder, name)))
  );
}

function projectsIn(root: string, repository: string): Found[] {
  checkWorkspaceFile(root);
  return readRepository(root).projectFiles.map((file) => {
    const absolute = path.join(root, file);
    const folder = path.dirname(absolute);
    const { config } = parseProjectConfig(readTextSync(absolute), { file });
    return { name: config?.name ?? projectNameFrom(folder), folder, path: path.relative(repository, folder) || '.' };
  });
}

function listed(found: readonly Found[]): string {
  const width = Math.max(...found.map(({ name }) => name.length));
  return found.map(({ name, path: folder }) => `  ${name.padEnd(width)}  ${folder}`).join('\n');
}
