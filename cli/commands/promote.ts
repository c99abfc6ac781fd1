// `platform promote <deployment>`: makes an existing deployment production. Also used by `rollback`.
import { defineCommand } from 'citty';
import { deploymentOf } from '../api/deployment-text.ts';
import { projectOf, targetFlags } from '../api/project.ts';
import { release, tellReleased } from '../api/released.ts';
import { findApi } from '../api/target.ts';
import { promoteRoute } from '../routes/route-production.ts';
import { yesFlag } from '../terminal/confirm.ts';
import type { Shell } from '../terminal/shell.ts';

export const command = defineCommand({
  meta: { name: 'promote', description: 'Promote a deployment to production' },
  args: {
    deployment: {
      type: 'positional',
      required: true,
      description: 'ID of a deployment, or a branch for its current deployment',
    },
    ...yesFlag,
    ...targetFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const api = await findApi(shell, args);
    if (api === null) return promoteRoute(shell, args, args.deployment);
    const project = await projectOf(shell, api, args);
    const { id } = await deploymentOf(api, project, args.deployment);
    const released = await release(shell, api, `/deployments/${id}/promote`, {}, args.yes);
    await tellReleased(shell, api, project, { done: 'Promoted', released, json: args.json });
  },
});
