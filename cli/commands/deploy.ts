// `platform deploy [dir]`: builds a project and publishes it to the handler on this machine.
import path from 'node:path';
import { defineCommand } from 'citty';
import { branchSlug } from '#core/names.ts';
import { CliError } from '../failure.ts';
import { dataFolder, handlerAddress, projectUrl } from '../locations.ts';
import { buildProject, loadProject } from '../project.ts';
import { publish } from '../publish.ts';
import type { Shell } from '../shell.ts';
import { readVariableFile } from '../variables.ts';
import { describe } from './build.ts';
import { projectNameFrom } from './init.ts';

export const command = defineCommand({
  meta: { name: 'deploy', description: 'Build and publish to a handler on this machine' },
  args: {
    dir: { type: 'positional', required: false, description: 'Folder of the project (default: the current one)' },
    name: { type: 'string', alias: 'n', description: 'Name of the project (default: `name` of platform.yaml, else the folder)' },
    branch: { type: 'string', alias: 'b', default: 'main', description: 'Branch of the deployment' },
    prod: { type: 'boolean', description: 'Make it the production deployment (that of main always is)' },
    config: { type: 'string', alias: 'c', valueHint: 'path', description: 'Configuration file (default: platform.yaml)' },
    'env-file': { type: 'string', valueHint: 'path', description: "Replace the project's variables by those of this file" },
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const project = loadProject(shell, path.resolve(shell.cwd, args.dir ?? '.'), args.config ?? null);
    const name = args.name ?? project.config.name ?? projectNameFrom(project.folder);
    const folder = dataFolder(shell);
    const vars = args['env-file'] === undefined ? null : variablesOf(path.resolve(shell.cwd, args['env-file']));
    const built = await buildProject(project, path.join(folder, 'artifacts'), { onOutput: (text) => shell.err(text.trimEnd()) });
    const { deployment, route } = publish({
      dataFolder: folder,
      project: name,
      branch: args.branch,
      production: args.prod === true || args.branch === 'main',
      artifactFolder: built.folder,
      artifactId: built.id,
      ...(vars !== null && { vars }),
    });
    const address = handlerAddress(shell);
    const production = route.production === deployment.id;
    const urls = [
      ...(production ? [projectUrl(address, name, null)] : []),
      projectUrl(address, name, branchSlug(args.branch, name)),
      projectUrl(address, name, deployment.id),
    ];
    if (args.json) {
      shell.out(JSON.stringify({ project: name, deployment: deployment.id, artifact: built.id, branch: args.branch, production, urls }));
      return;
    }
    shell.out(`${shell.paint('green', 'Built')} ${describe(built)}`);
    shell.out(`${shell.paint('green', 'Deployed')} ${name} as ${deployment.id}${production ? ' (production)' : ''}`);
    for (const url of urls) shell.out(`  ${shell.paint('cyan', url)}`);
  },
});

function variablesOf(file: string): Record<string, string> {
  const variables = readVariableFile(file);
  if (variables === null) throw new CliError(`There is no file ${file}`, { exitCode: 2 });
  return variables;
}
