// `platform deployments retry [deployment]` (`redeploy`): redeploys a commit or artifact with the current variables.
import { defineCommand } from 'citty';
import { deploymentOf, newestDeployment, urlsOf } from '../../api/deployment-text.ts';
import { failureOfDeployment, followDeployment, formatBuildLine } from '../../api/follow.ts';
import { needProject, targetFlags } from '../../api/project.ts';
import { ask } from '../../api/requests.ts';
import type { Shell } from '../../terminal/shell.ts';

export const command = defineCommand({
  meta: { name: 'retry', description: 'Redeploy a commit or artifact' },
  args: {
    deployment: { type: 'positional', required: false, description: 'ID or branch (default: the newest)' },
    follow: { type: 'boolean', alias: 'f', description: 'Follow the log until it ends' },
    'clear-cache': {
      type: 'boolean',
      description: 'Delete the build cache and the build sandbox of the branch first',
    },
    ...targetFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, project } = await needProject(shell, args, 'platform deployments retry');
    const { id } = await (args.deployment === undefined
      ? newestDeployment(api, project, undefined)
      : deploymentOf(api, project, args.deployment));
    const { newDeploymentId } = await ask<{ newDeploymentId: string }>(api, 'POST', `/deployments/${id}/retry`, {
      query: { clearCache: args['clear-cache'] },
    });
    if (args.json !== true) shell.out(`${shell.paint('green', 'Redeploying')} ${id} as ${newDeploymentId}`);
    if (args.follow === true) {
      const onLine =
        args.json === true
          ? null
          : (line: Parameters<typeof formatBuildLine>[1]) => shell.out(formatBuildLine(shell, line));
      const ended = await followDeployment(shell, api, newDeploymentId, { onLine });
      const failure = failureOfDeployment(ended);
      if (failure !== null) throw failure;
      if (args.json !== true) for (const url of urlsOf(ended)) shell.out(`  ${shell.paint('cyan', url)}`);
    }
    if (args.json) shell.out(JSON.stringify({ deployment: newDeploymentId, of: id }));
  },
});
