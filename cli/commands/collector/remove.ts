// `platform collector rm`: sends the spans of a project nowhere any more.
import { defineCommand } from 'citty';
import { needProject, targetFlags } from '../../api/project.ts';
import { ask } from '../../api/requests.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'rm', description: 'Send the spans of a project nowhere' },
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
