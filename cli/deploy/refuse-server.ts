// Refuses a server for Node that cannot be isolated on this machine. Called by `platform deploy` before a build.
import { noServersHere } from '#core/process/confinement/servers-here.ts';
import { resolveProject } from '../project/resolved-config.ts';
import type { Project } from '../project/project.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';

/** @throws {CliError} for a server for Node, if it cannot be isolated here. */
export async function refuseServer(shell: Shell, project: Project): Promise<void> {
  if (resolveProject(project).config.kind !== 'ssr') return;
  const why = await noServersHere(shell.env);
  if (why !== null)
    throw new CliError(why, {
      code: 'servers_refused',
      advice: 'See docs/builds.md#what-a-build-can-reach for the requirements.',
    });
}
