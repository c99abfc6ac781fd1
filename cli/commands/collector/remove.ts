// `platform collector rm`: removes the collector of a project.
import { defineCommand } from 'citty';
import { needProject, targetFlags } from '../../api/project.ts';
import { ask } from '../../api/requests.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'rm', description: 'Remove the collector of a project' },
  args: { ...targetFlags, json: { type: 'boolean', description: 'Print JSON' } },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, project } = await needProject(shell, args, 'platform collector rm');
    await ask(api, 'DELETE', `/projects/${encodeURIComponent(project.id)}/collector`);
    print(shell, args.json, { project: project.name, collector: null }, () =>
      shell.out(`${shell.paint('green', 'Removed')} the collector of ${project.name}`),
    );
  },
});
