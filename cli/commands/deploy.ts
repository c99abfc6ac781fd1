// `platform deploy [dir]`: builds a project and publishes it on the chosen platform; with --remote the platform builds
// it.
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
    prod: { type: 'boolean', description: 'Deploy to production (the default branch always is)' },
    'env-file': {
      type: 'string',
      valueHint: 'path',
      description: 'Replace the variables of production or the branch with those of this file',
    },
    prebuilt: {
      type: 'string',
      valueHint: 'folder',
      description: 'Publish an artifact of `platform build` without a build',
    },
    remote: { type: 'boolean', description: 'Build the branch of the connected repository on the platform' },
    force: { type: 'boolean', description: 'Publish even if the worker does not start (without a control plane)' },
    org: targetFlags.org,
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    if (args.remote === true) return deployRemotely(shell, { ...args, ref: args.dir });
    const folders = chooseProjects('platform deploy', { ...args, folder: folderOf(shell, args.dir) }, true);
    if (folders.length > 1 && (args.name !== undefined || args.prebuilt !== undefined))
      throw new CliError(`--${args.name === undefined ? 'prebuilt' : 'name'} cannot be combined with --all`, {
        exitCode: 2,
        advice: 'Give each project a `name` in its platform.yaml.',
      });
    const file = args['env-file'];
    const flags = { ...args, vars: file === undefined ? null : variablesIn(shell, path.resolve(shell.cwd, file)) };
    for (const folder of folders) {
      // Loading the project first reports its errors before the platform is searched.
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
      advice: '--env-file takes a file with NAME=value lines.',
    });
  return variables;
}
