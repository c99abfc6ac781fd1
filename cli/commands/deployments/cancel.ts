// `platform deployments cancel [deployment]`: cancels a deployment in progress.
import { defineCommand } from 'citty';
import { deploymentOf, newestDeployment } from '../../api/deployment-text.ts';
import { needProject, targetFlags } from '../../api/project.ts';
import { ask } from '../../api/requests.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'cancel', description: 'Cancel a deployment in progress' },
  args: {
    deployment: { type: 'positional', required: false, description: 'ID or branch (default: the newest)' },
    ...targetFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, project } = await needProject(shell, args, 'platform deployments cancel');
    const { id } =
      args.deployment === undefined
        ? await newestDeployment(api, project, undefined)
        : await deploymentOf(api, project, args.deployment);
    await ask(api, 'POST', `/deployments/${id}/cancel`);
    print(shell, args.json, { deployment: id, canceled: true }, () =>
      shell.out(`${shell.paint('green', 'Canceled')} ${id} of ${project.name}`),
    );
  },
});
