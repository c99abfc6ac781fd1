// `platform deployments retry [deployment]` (`redeploy`): deploys the same commit or artifact again, with the variables
// of now.
import { defineCommand } from 'citty';
import { deploymentOf, newestDeployment, urlsOf } from '../../api/deployment-text.ts';
import { failureOfDeployment, followDeployment, formatBuildLine } from '../../api/follow.ts';
import { needProject, targetFlags } from '../../api/project.ts';
import { ask } from '../../api/requests.ts';
import type { Shell } from '../../terminal/shell.ts';

export const command = defineCommand({
  meta: { name: 'retry', description: 'Deploy the same again' },
  args: {
    deployment: { type: 'positional', required: false, description: 'Id or branch (default: the newest)' },
    follow: { type: 'boolean', alias: 'f', description: 'Show its log until it ends' },
    'clear-cache': {
      type: 'boolean',
      description: 'Delete what earlier builds of the branch kept, its build sandbox too',
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
    if (args.json !== true) shell.out(`${shell.paint('green', 'Deploying')} ${id} again as ${newDeploymentId}`);
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
