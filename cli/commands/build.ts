// `platform build`: builds the project into an artifact and prints a summary.
import path from 'node:path';
import { defineCommand } from 'citty';
import { chooseProjects, choiceFlags } from '../project/choose-projects.ts';
import { describe } from '../project/built.ts';
import { buildHere, loadProject } from '../project/project.ts';
import type { Shell } from '../terminal/shell.ts';

export const command = defineCommand({
  meta: { name: 'build', description: 'Build this project into an artifact' },
  args: {
    dir: { type: 'positional', required: false, description: 'Folder of the project (default: the current one)' },
    config: {
      type: 'string',
      alias: 'c',
      valueHint: 'path',
      description: 'Configuration file (default: platform.yaml)',
    },
    ...choiceFlags,
    output: {
      type: 'string',
      alias: 'o',
      valueHint: 'folder',
      description: 'Folder that artifacts are written into (default: .platform/artifacts)',
    },
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const choice = { ...args, folder: path.resolve(shell.cwd, args.dir ?? '.') };
    for (const folder of chooseProjects('platform build', choice, true)) await buildOne(shell, folder, args);
  },
});

/** The flags of `platform build`. */
interface BuildFlags {
  readonly config?: string | undefined;
  readonly output?: string | undefined;
  readonly json?: boolean | undefined;
}

async function buildOne(shell: Shell, folder: string, args: BuildFlags): Promise<void> {
  const project = loadProject(shell, folder, args.config ?? null);
  const artifacts =
    args.output === undefined
      ? path.join(project.folder, '.platform', 'artifacts')
      : path.resolve(shell.cwd, args.output);
  const built = await buildHere(shell, project, artifacts);
  if (args.json) {
    const { id, folder: written, files, bytes, buildMs } = built;
    shell.out(
      JSON.stringify({ id, folder: written, kind: built.manifest.kind, files, bytes, buildMs: Math.round(buildMs) }),
    );
    return;
  }
  shell.out(`${shell.paint('green', 'Built')} ${describe(built)}`);
  shell.out(shell.paint('dim', path.relative(shell.cwd, built.folder)));
}
