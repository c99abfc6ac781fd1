// `platform rollback`: restores the previous production deployment, and lists migrations applied since.
import { defineCommand } from 'citty';
import { deploymentOf } from '../api/deployment-text.ts';
import { projectOf, targetFlags } from '../api/project.ts';
import { release, tellReleased } from '../api/released.ts';
import { findApi } from '../api/target.ts';
import { rollBackRoute } from '../routes/route-production.ts';
import { yesFlag } from '../terminal/confirm.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';

export const command = defineCommand({
  meta: { name: 'rollback', description: 'Roll back to the previous production deployment' },
  args: {
    to: {
      type: 'string',
      valueHint: 'deployment',
      description: 'Deployment to roll back to (default: the previous one)',
    },
    'restore-databases': {
      type: 'boolean',
      description: 'Also restore the databases to before the current deployment; later rows are lost',
    },
    ...yesFlag,
    ...targetFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const api = await findApi(shell, args);
    if (api === null) {
      if (args.to !== undefined || args['restore-databases'] === true)
        throw new CliError('--to and --restore-databases require a control plane', {
          exitCode: 2,
          advice: 'Use `platform promote <deployment>`.',
        });
      return rollBackRoute(shell, args);
    }
    const project = await projectOf(shell, api, args);
    const deploymentId = args.to === undefined ? undefined : (await deploymentOf(api, project, args.to)).id;
    const body = {
      ...(deploymentId !== undefined && { deploymentId }),
      ...(args['restore-databases'] === true && { restoreDatabase: true }),
    };
    const released = await release(shell, api, `/projects/${encodeURIComponent(project.id)}/rollback`, body, args.yes);
    await tellReleased(shell, api, project, { done: 'Rolled back:', released, json: args.json });
  },
});
