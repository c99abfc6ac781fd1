// `platform plan [plan]`: shows or sets the plan, which sets CPU limits: of the organization, or of the project without
// a control plane.
import { defineCommand } from 'citty';
import { defaultLimits } from '#core/limits.ts';
import { type Plan, plans } from '#core/plans.ts';
import { nearestWord } from '#core/spelling.ts';
import { changeRoute } from '#artifacts/route-records.ts';
import { CliError } from '../terminal/failure.ts';
import { untilRouted } from '../routes/served.ts';
import type { Shell } from '../terminal/shell.ts';
import { projectOf, targetFlags } from '../api/project.ts';
import type { Organization } from '../api/records.ts';
import { ask } from '../api/requests.ts';
import { findApi } from '../api/target.ts';
import { findDeployed } from '../project/target.ts';

export const command = defineCommand({
  meta: { name: 'plan', description: 'Show or set the plan of this project' },
  args: {
    plan: { type: 'positional', required: false, description: `${plans.join(', ')} (default: show it)` },
    ...targetFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const wanted = args.plan;
    if (wanted !== undefined && !isPlan(wanted)) {
      const near = nearestWord(wanted, plans);
      throw new CliError(`Unknown plan "${wanted}"${near === undefined ? '' : `. Did you mean ${near}?`}`, {
        exitCode: 2,
        advice: `Plans: ${plans.join(', ')}.`,
      });
    }
    const api = await findApi(shell, args);
    if (api !== null) {
      const { organizationId } = await projectOf(shell, api, args);
      const path = `/orgs/${encodeURIComponent(organizationId)}`;
      if (wanted !== undefined) await ask(api, 'PUT', `${path}/plan`, { body: { plan: wanted } });
      const { plan, slug } = await ask<Organization>(api, 'GET', path);
      if (args.json) return shell.out(JSON.stringify({ organization: slug, plan }));
      return shell.out(
        `${slug} is on the plan ${shell.paint('bold', plan)}: ${cpuOf(plan)} ms of CPU per request by default`,
      );
    }
    const { platform, route } = await findDeployed(shell, args);
    const changed =
      wanted === undefined || wanted === route.plan
        ? route
        : changeRoute(platform.folder, route.project, (before) => ({ ...before, plan: wanted }));
    await untilRouted(platform, route.project);
    if (args.json) return shell.out(JSON.stringify({ project: changed.project, plan: changed.plan }));
    shell.out(
      `${changed.project} is on the plan ${shell.paint('bold', changed.plan)}: ${defaultLimits.cpu.http[changed.plan]} ms of CPU per request by default`,
    );
  },
});

function cpuOf(plan: string): number | string {
  return isPlan(plan) ? defaultLimits.cpu.http[plan] : 'other';
}

function isPlan(word: string): word is Plan {
  return (plans as readonly string[]).includes(word);
}
