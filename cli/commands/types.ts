// `platform types`: writes the types of `env` from platform.yaml, and adds them to tsconfig.json.
import { existsSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { defineCommand } from 'citty';
import { readTextSync } from '#core/text-file.ts';
import { setAgentSdk } from '#core/config/project-config-edit.ts';
import { addToTsconfig, namedFiles } from '#core/config/tsconfig.ts';
import { CliError } from '../terminal/failure.ts';
import { agentPackage, lacksAgentFlag, loadProject, toCliError } from '../project/project.ts';
import { isGenerated, writeTypes } from '../project/types-file.ts';
import type { Shell } from '../terminal/shell.ts';

/** The peer dependency of the platform's packages. */
const ORM = 'drizzle-orm';

export const command = defineCommand({
  meta: { name: 'types', description: 'Generate the types of env from platform.yaml' },
  args: {
    output: { type: 'string', alias: 'o', default: 'env.d.ts', valueHint: 'path', description: 'File to write' },
    config: {
      type: 'string',
      alias: 'c',
      valueHint: 'path',
      description: 'Configuration file (default: platform.yaml)',
    },
    workspace: {
      type: 'boolean',
      description: 'Also generate types for the methods and objects of called workspace projects',
    },
  },
  run({ args, data }) {
    const shell = data as Shell;
    let project = loadProject(shell, shell.cwd, args.config ?? null);
    if (project.configFile !== null && lacksAgentFlag(project)) {
      writeFileSync(project.configFile, setAgentSdk(readTextSync(project.configFile)));
      shell.out(`${shell.paint('green', 'Set')} agentSDK: true, because ${agentPackage} is a dependency`);
      project = loadProject(shell, shell.cwd, args.config ?? null);
    }
    if (!args.output.endsWith('.d.ts'))
      throw new CliError(`${args.output} does not end with .d.ts`, {
        exitCode: 2,
        advice: 'For example: -o env.d.ts',
      });
    const output = path.resolve(shell.cwd, args.output);
    const changed = writeTypes(shell, project, output, args.workspace === true);
    shell.out(`${changed ? shell.paint('green', 'Wrote') : 'Unchanged:'} ${args.output}`);
    if (updateTsconfig(shell, output)) shell.out(`${shell.paint('green', 'Updated')} tsconfig.json`);
  },
});

/** Whether the tsconfig.json in the shell's folder had to be changed or created. */
function updateTsconfig(shell: Shell, output: string): boolean {
  const { cwd } = shell;
  const file = path.join(cwd, 'tsconfig.json');
  const before = existsSync(file) ? readTextSync(file) : null;
  const environmentFile = path.relative(cwd, output).split(path.sep).join('/');
  const edit = addToTsconfig(before, { environmentFile, file: 'tsconfig.json', paths: linkedPeers(cwd) });
  if ('problem' in edit) throw toCliError(edit.problem, before ?? '');
  if (edit.changed) writeFileSync(file, edit.text);
  for (const name of namedFiles(edit.text))
    if (name !== environmentFile && isGenerated(path.join(cwd, name)))
      shell.err(
        shell.paint('yellow', `${name} is an earlier output of this command: delete it and its entry in tsconfig.json`),
      );
  return edit.changed;
}

/**
 * Maps peer dependencies of linked packages to the project's own copies. TypeScript follows the link of a package, and
 * classes of two copies are incompatible.
 */
function linkedPeers(cwd: string): Record<string, string> {
  const modules = path.join(cwd, 'node_modules');
  const isLinked = ['worker', 'agent'].some((name) => {
    const folder = path.join(modules, '@platform-run', name);
    return existsSync(folder) && !realpathSync(folder).split(path.sep).includes('node_modules');
  });
  return isLinked && existsSync(path.join(modules, ORM))
    ? { [ORM]: `./node_modules/${ORM}`, [`${ORM}/*`]: `./node_modules/${ORM}/*` }
    : {};
}
