// `platform projects delete <name>`: deletes a project. The data of its bindings is kept for a while.
import { defineCommand } from 'citty';
import { projectOf, targetFlags } from '../../api/project.ts';
import { ask } from '../../api/requests.ts';
import { needApi, platformFlags } from '../../api/target.ts';
import { confirm, yesFlag } from '../../terminal/confirm.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'delete', description: 'Delete a project' },
  args: {
    name: { type: 'positional', required: true, description: 'Name or ID' },
    ...yesFlag,
    org: targetFlags.org,
    ...platformFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const api = await needApi(shell, args, 'platform projects delete');
    const { id, name } = await projectOf(shell, api, args);
    const what = `The project ${name} on ${api.origin} will be deleted, with its deployments and variables. Its data is removed after 30 days.`;
    await confirm(shell, args.yes, what, name);
    await ask(api, 'DELETE', `/projects/${encodeURIComponent(id)}`, { query: { name } });
    print(shell, args.json, { deleted: id, name }, () => {
      shell.out(`${shell.paint('green', 'Deleted')} ${name}`);
      shell.out(
        `Data of the project is removed after 30 days. Remove the data now: platform org storage delete ${name}`,
      );
    });
  },
});
