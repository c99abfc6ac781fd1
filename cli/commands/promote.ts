// `platform promote <deployment>`: makes a deployment that is there what the project serves. `rollback` goes back with
// it.
import { defineCommand } from 'citty';
import type { RouteRecord } from '#core/manifest.ts';
import { CliError } from '../terminal/failure.ts';
import type { LocalPlatform } from '../local/local-platform.ts';
import { asProduction } from '#deployments/publish.ts';
import { changeRoute } from '#deployments/route-records.ts';
import { untilRouted } from '../local/served.ts';
import type { Shell } from '../terminal/shell.ts';
import { findDeployed, projectFlags, urlsOf } from '../project/target.ts';

export const command = defineCommand({
  meta: { name: 'promote', description: 'Make a deployment production' },
  args: {
    deployment: {
      type: 'positional',
      required: true,
      description: 'Id of the deployment, or a branch: then what its URL leads to',
    },
    ...projectFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { platform, route } = await findDeployed(shell, args);
    const led = changeRoute(platform.folder, route.project, (before) => {
      const id = idOf(before, args.deployment);
      return before.production === id ? before : asProduction(before, id);
    });
    await tellProduction(shell, platform, led, 'Promoted', args.json === true);
  },
});

/** The deployment that a word means. @throws {CliError} */
function idOf({ project, branches, deployments }: RouteRecord, word: string): string {
  if (Object.hasOwn(deployments, word)) return word;
  if (Object.hasOwn(branches, word)) return branches[word]!;
  throw new CliError(`${project} has no deployment and no branch "${word}"`, {
    exitCode: 2,
    advice: `\`platform deployments --name ${project}\` lists what there is.`,
  });
}

/** Waits until it is served, and says what production is now. */
export async function tellProduction(
  shell: Shell,
  platform: LocalPlatform,
  route: RouteRecord,
  done: string,
  json: boolean,
): Promise<void> {
  const id = route.production!;
  await untilRouted(platform, route.project);
  const { branch } = route.deployments[id]!;
  const urls = urlsOf(platform, route, id);
  if (json) {
    shell.out(JSON.stringify({ project: route.project, production: id, branch, urls }));
    return;
  }
  shell.out(`${shell.paint('green', done)} ${id} (${branch}) is production of ${route.project}`);
  for (const url of urls) shell.out(`  ${shell.paint('cyan', url)}`);
}
