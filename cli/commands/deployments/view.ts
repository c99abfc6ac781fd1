// `platform deployments view [deployment]`: shows a deployment.
import { defineCommand } from 'citty';
import { deploymentOf, describeDeployment, newestDeployment } from '../../api/deployment-text.ts';
import { needProject, targetFlags } from '../../api/project.ts';
import type { Shell } from '../../terminal/shell.ts';
import { print } from '../../terminal/table.ts';

export const command = defineCommand({
  meta: { name: 'view', description: 'Show a deployment' },
  args: {
    deployment: { type: 'positional', required: false, description: 'ID or branch (default: the newest)' },
    ...targetFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, project } = await needProject(shell, args, 'platform deployments view');
    const deployment =
      args.deployment === undefined
        ? await newestDeployment(api, project, undefined)
        : await deploymentOf(api, project, args.deployment);
    print(shell, args.json, deployment, () => describeDeployment(shell, project, deployment));
  },
});
