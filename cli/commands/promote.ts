// `platform promote <deployment>`: makes an existing deployment production, or starts its guarded release.
import { defineCommand } from 'citty';
import { deploymentOf } from '../api/deployment-text.ts';
import { projectOf, targetFlags } from '../api/project.ts';
import { release, tellGuarded, tellReleased } from '../api/released.ts';
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
    now: { type: 'boolean', description: 'Skip the guarded release: send all visitors to the deployment at once' },
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
    const body = args.now === true ? { now: true } : {};
    const released = await release(shell, api, `/deployments/${id}/promote`, body, args.yes);
    if (released.guarded === true) return tellGuarded(shell, api, project, { id, released, json: args.json });
    await tellReleased(shell, api, project, { done: 'Promoted', released, json: args.json });
  },
});
