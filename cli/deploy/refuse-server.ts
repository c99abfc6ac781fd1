// Whether the platform of this machine would run what is about to be built. Called by `platform deploy` before a build.
import { noServersHere } from '#core/process/confinement/servers-here.ts';
import { settleProject } from '../project/settled.ts';
import type { Project } from '../project/project.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';

/** @throws {CliError} where it is a server for Node and nothing here could fence it. */
export async function refuseServer(shell: Shell, project: Project): Promise<void> {
  if (settleProject(project).config.kind !== 'ssr') return;
  const why = await noServersHere(shell.env);
  if (why !== null)
    throw new CliError(why, {
      code: 'servers_refused',
      advice: 'docs/builds.md#what-a-build-can-reach says what a fence takes.',
    });
}
