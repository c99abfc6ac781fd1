// `platform drains rm <drain>`: deletes a log drain of a project.
import { defineCommand } from 'citty';
import { needProject, targetFlags } from '../../api/project.ts';
import { ask } from '../../api/requests.ts';
import { confirm, yesFlag } from '../../terminal/confirm.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';
import { drainOf, drainsPath, targetOf } from './find.ts';

export const command = defineCommand({
  meta: { name: 'rm', description: 'Delete a log drain' },
  args: {
    drain: { type: 'positional', required: true, description: 'Name or ID' },
    ...yesFlag,
    ...targetFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, project } = await needProject(shell, args, 'platform drains rm');
    const drain = await drainOf(api, project, args.drain);
    await confirm(shell, args.yes, `Logs of ${project.name} will no longer be sent to ${targetOf(drain)}.`);
    await ask(api, 'DELETE', `${drainsPath(project)}/${encodeURIComponent(drain.id)}`);
    print(shell, args.json, { removed: drain.id }, () => shell.out(`${shell.paint('green', 'Removed')} ${drain.name}`));
  },
});
