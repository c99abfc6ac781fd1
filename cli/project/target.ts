// Local platform, project and branch of a command. Shared by deploy and the commands that show or change deployments.
import path from 'node:path';
import { branchSlug } from '#core/names.ts';
import type { RouteRecord } from '#core/manifest.ts';
import { readRoute, readRoutes } from '#artifacts/route-records.ts';
import { CliError } from '../terminal/failure.ts';
import { findPlatform, type LocalPlatform } from '../local/local-platform.ts';
import { handlerAddress, projectUrl } from '../local/locations.ts';
import type { Shell } from '../terminal/shell.ts';
import { gitPlace } from './git-branch.ts';
import { loadProject, nameOf } from './project.ts';

/** Flags that choose the project. */
export const projectFlags = {
  name: {
    type: 'string',
    alias: 'n',
    valueHint: 'name',
    description: 'Name of the project (default: `name` of platform.yaml, else the folder)',
  },
  config: { type: 'string', alias: 'c', valueHint: 'path', description: 'Configuration file (default: platform.yaml)' },
} as const;

/** A project deployed on the local platform. */
interface Deployed {
  readonly platform: LocalPlatform;
  readonly route: RouteRecord;
}

/** @throws {CliError} if no platform is running, or the project is not deployed there. */
export async function findDeployed(
  shell: Shell,
  flags: { readonly name?: string | undefined; readonly config?: string | undefined },
): Promise<Deployed> {
  const platform = await findPlatform(shell, () => handlerAddress(shell));
  const name = flags.name ?? nameOf(loadProject(shell, shell.cwd, flags.config ?? null));
  const route = readRoute(platform.folder, name);
  if (route !== null) return { platform, route };
  const others = readRoutes(platform.folder).map(({ project }) => project);
  throw new CliError(`There is no project "${name}" on the platform whose data is in ${platform.folder}`, {
    advice: `Deploy it with \`platform deploy\`${others.length === 0 ? '' : `, or name one with --name: ${others.join(', ')}`}.`,
  });
}

/**
 * The branch to deploy as, and whether it is the production branch: Git's default branch, else the branch of the
 * current production deployment, else the first deployed branch.
 *
 * @throws {CliError} without a branch.
 */
export function branchOf(
  folder: string,
  flag: string | undefined,
  route: RouteRecord | null,
): { branch: string; isDefault: boolean } {
  const place = gitPlace(folder);
  const branch = flag ?? (place === null ? 'main' : place.branch);
  if (branch === null)
    throw new CliError('No branch is checked out (detached HEAD)', {
      advice: 'Pass the branch to deploy as: --branch <name>',
    });
  if (!/^[^\s\p{Cc}]{1,200}$/u.test(branch))
    throw new CliError(`Invalid branch name "${branch}"`, {
      exitCode: 2,
      advice: 'Use a name without spaces: --branch <name>',
    });
  const served = route === null || route.production === null ? branch : route.deployments[route.production]!.branch;
  return { branch, isDefault: branch === (place === null ? 'main' : (place.defaultBranch ?? served)) };
}

/** URLs of a deployment, production first. */
export function urlsOf(platform: LocalPlatform, route: RouteRecord, id: string): string[] {
  const { branch } = route.deployments[id]!;
  return [
    ...(route.production === id ? [projectUrl(platform, route.project, null)] : []),
    ...(route.branches[branch] === id ? [projectUrl(platform, route.project, branchSlug(branch, route.project))] : []),
    projectUrl(platform, route.project, id),
  ];
}

/** Resolves a folder argument against the current folder. */
export function folderOf(shell: Shell, dir: string | undefined): string {
  return path.resolve(shell.cwd, dir ?? '.');
}
