// Refuses a server for Node that the platform of this machine could not isolate. Called by `platform deploy`, before a
// build.
import { noServersHere } from '#core/process/confinement/servers-here.ts';
import { settleProject } from '../project/settled.ts';
import type { Project } from '../project/project.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';

/** @throws {CliError} for a server for Node, if this machine has nothing to isolate it. */
export async function refuseServer(shell: Shell, project: Project): Promise<void> {
  if (settleProject(project).config.kind !== 'ssr') return;
  const why = await noServersHere(shell.env);
  if (why !== null)
    throw new CliError(why, {
      code: 'servers_refused',
      advice: 'docs/builds.md#what-a-build-can-reach says what a fence takes.',
    });
}
