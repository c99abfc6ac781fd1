// `platform deploy [dir]`: builds a project and publishes it, on the platform that is meant; with --remote it is built
// there.
import path from 'node:path';
import { defineCommand } from 'citty';
import { targetFlags } from '../api/project.ts';
import { findApi, platformFlags } from '../api/target.ts';
import { deployByApi } from '../deploy/deploy-by-api.ts';
import { deployLocally } from '../deploy/deploy-local.ts';
import { deployRemotely } from '../deploy/deploy-remote.ts';
import { chooseProjects, choiceFlags } from '../project/choose-projects.ts';
import { folderOf, projectFlags } from '../project/target.ts';
import { loadProject } from '../project/project.ts';
import { readVariableFile } from '../project/variables.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';

export const command = defineCommand({
  meta: { name: 'deploy', description: 'Build this project and publish it' },
  args: {
    dir: { type: 'positional', required: false, description: 'Folder of the project (default: the current one)' },
    ...projectFlags,
    ...choiceFlags,
    branch: {
      type: 'string',
      alias: 'b',
      valueHint: 'name',
      description: "Branch to deploy as (default: Git's current one; outside Git: main)",
    },
    prod: { type: 'boolean', description: 'Make it production (a deployment of the default branch always is)' },
    'env-file': {
      type: 'string',
      valueHint: 'path',
      description: 'Replace the variables of what it becomes by those of this file: of production, or of the branch',
    },
    prebuilt: {
      type: 'string',
      valueHint: 'folder',
      description: 'Publish an artifact of `platform build`, build nothing',
    },
    remote: { type: 'boolean', description: 'Have the platform build the branch of the connected repository' },
    force: { type: 'boolean', description: 'Publish it also when its worker does not start (without a control plane)' },
    org: targetFlags.org,
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    if (args.remote === true) return deployRemotely(shell, { ...args, ref: args.dir });
    const folders = chooseProjects('platform deploy', { ...args, folder: folderOf(shell, args.dir) }, true);
    if (folders.length > 1 && (args.name !== undefined || args.prebuilt !== undefined))
      throw new CliError(`--${args.name === undefined ? 'prebuilt' : 'name'} names one project, --all means several`, {
        exitCode: 2,
        advice: 'Give each a `name` in its platform.yaml.',
      });
    const file = args['env-file'];
    const flags = { ...args, vars: file === undefined ? null : variablesIn(shell, path.resolve(shell.cwd, file)) };
    for (const folder of folders) {
      // What is wrong with the project is told before anything that is wrong elsewhere.
      loadProject(shell, folder, args.config ?? null);
      const api = await findApi(shell, args, { folder });
      if (api === null) await deployLocally(shell, folder, flags);
      else await deployByApi(shell, api, folder, flags);
    }
  },
});

function variablesIn(shell: Shell, file: string): Record<string, string> {
  const variables = readVariableFile(file, (text) => shell.err(shell.paint('yellow', text)));
  if (variables === null)
    throw new CliError(`There is no file ${file}`, {
      exitCode: 2,
      advice: '--env-file names a file of NAME=value lines.',
    });
  return variables;
}
