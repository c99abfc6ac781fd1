// `platform rollback`: what was production before is production again.
import { defineCommand } from 'citty';
import type { RouteRecord } from '#core/manifest.ts';
import { CliError } from '../terminal/failure.ts';
import { asProduction } from '#deployments/publish.ts';
import { changeRoute } from '#deployments/route-records.ts';
import type { Shell } from '../terminal/shell.ts';
import { findDeployed, projectFlags } from '../project/target.ts';
import { tellProduction } from './promote.ts';

export const command = defineCommand({
  meta: { name: 'rollback', description: 'Go back to the production deployment before this one' },
  args: { ...projectFlags, json: { type: 'boolean', description: 'Print JSON' } },
  async run({ args, data }) {
    const shell = data as Shell;
    const { platform, route } = await findDeployed(shell, args);
    const changed = changeRoute(platform.folder, route.project, (before) => {
      const earlier = earlierOf(before);
      if (earlier === null)
        throw new CliError(`${before.project} has no production deployment before this one`, {
          advice:
            '`platform deployments` lists what there is, `platform promote <deployment>` makes one of it production.',
        });
      const led = asProduction(before, earlier);
      // What is left is not gone back to a second time.
      return { ...led, productionHistory: (led.productionHistory ?? []).filter((id) => id !== before.production) };
    });
    await tellProduction(shell, platform, changed, 'Rolled back:', args.json === true);
  },
});

/**
 * What was production last; of records that do not remember it, the newest one before that was deployed as production.
 */
function earlierOf({ productionHistory, production, deployments }: RouteRecord): string | null {
  if (productionHistory !== undefined) return productionHistory.at(-1) ?? null;
  const now = deployments[production ?? ''];
  const before = Object.values(deployments).filter(
    ({ id, target, createdAt }) => id !== production && target === 'production' && createdAt < (now?.createdAt ?? ''),
  );
  return before.toSorted((a, b) => a.createdAt.localeCompare(b.createdAt)).at(-1)?.id ?? null;
}
