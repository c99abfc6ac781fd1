// Changes production in a project's route record, for a local platform without a control plane. Called by promote and
// rollback.
import type { RouteRecord } from '#core/manifest.ts';
import { openArtifact } from '#artifacts/artifact-source.ts';
import { asProduction, rolledBack } from '#artifacts/publish.ts';
import { changeRoute } from '#artifacts/route-records.ts';
import { deleteClasses, refuseForgottenClasses } from './object-classes.ts';
import { findDeployed, urlsOf } from '../project/target.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';
import type { LocalPlatform } from '../local/local-platform.ts';
import { untilRouted } from './served.ts';

/** Project and output format. */
interface Flags {
  readonly name?: string | undefined;
  readonly config?: string | undefined;
  readonly json?: boolean | undefined;
}

/** Makes a deployment production. @param word its ID, or a branch. */
export async function promoteRoute(shell: Shell, flags: Flags, word: string): Promise<void> {
  const { platform, route } = await findDeployed(shell, flags);
  const { artifact } = route.deployments[idOf(route, word)]!;
  await refuseForgottenClasses(platform, route, openArtifact(platform.folder, artifact).manifest, route.project);
  const led = changeRoute(platform.folder, route.project, (before) => {
    const id = idOf(before, word);
    return before.production === id ? before : asProduction(before, id);
  });
  await tellProduction(shell, platform, led, 'Promoted', flags.json === true);
  for (const line of await deleteClasses(platform, led)) if (flags.json !== true) shell.out(line);
}

/** Restores the previous production deployment. */
export async function rollBackRoute(shell: Shell, flags: Flags): Promise<void> {
  const { platform, route } = await findDeployed(shell, flags);
  const changed = changeRoute(platform.folder, route.project, (before) => {
    const earlier = earlierOf(before);
    if (earlier === null)
      throw new CliError(`${before.project} has no previous production deployment`, {
        advice: '`platform deployments` lists the deployments, `platform promote <deployment>` promotes one.',
      });
    return rolledBack(before, earlier);
  });
  await tellProduction(shell, platform, changed, 'Rolled back:', flags.json === true);
}

/** Finds a deployment by ID or branch. @throws {CliError} */
function idOf({ project, branches, deployments }: RouteRecord, word: string): string {
  if (Object.hasOwn(deployments, word)) return word;
  if (Object.hasOwn(branches, word)) return branches[word]!;
  throw new CliError(`${project} has no deployment and no branch "${word}"`, {
    exitCode: 2,
    advice: `\`platform deployments --name ${project}\` lists the deployments.`,
  });
}

/**
 * The previous production deployment; for records without a history, the newest earlier production deployment.
 */
function earlierOf({ productionHistory, production, deployments }: RouteRecord): string | null {
  if (productionHistory !== undefined) return productionHistory.at(-1) ?? null;
  const now = deployments[production ?? ''];
  const before = Object.values(deployments).filter(
    ({ id, target, createdAt }) => id !== production && target === 'production' && createdAt < (now?.createdAt ?? ''),
  );
  return before.toSorted((a, b) => a.createdAt.localeCompare(b.createdAt)).at(-1)?.id ?? null;
}

/** Waits until the deployment is served, and prints it. */
async function tellProduction(
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
