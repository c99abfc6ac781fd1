// What the API says of a promote or a rollback, as the user is told it; and the question where something may break.
import type { Api } from '../account/api.ts';
import { confirm } from '../terminal/confirm.ts';
import { CliError } from '../terminal/failure.ts';
import { plain } from '../terminal/plain.ts';
import type { Shell } from '../terminal/shell.ts';
import { print } from '../terminal/table.ts';
import { urlsOf } from './deployment-text.ts';
import type { Deployment, Project } from './records.ts';
import { ask } from './requests.ts';

interface Ran {
  readonly resource: string;
  readonly files: readonly string[];
}

/** What production leads to now. */
interface Released {
  readonly productionDeploymentId: string | null;
  readonly previousDeploymentId: string | null;
  /** That ran for it. */
  readonly migrations: readonly Ran[];
  readonly warnings: readonly string[];
  /** Of a rollback: those that ran since, and stay. */
  readonly migrationsSince?: readonly (Ran & { readonly deploymentId: string })[];
  /** Databases that were put back. */
  readonly restored?: readonly string[];
}

/** Asks for it; where the platform wants a yes, the user is asked. @throws {CliError} */
export async function release(
  shell: Shell,
  api: Api,
  path: string,
  body: object,
  yes: boolean | undefined,
): Promise<Released> {
  try {
    return await ask<Released>(api, 'POST', path, { body: { ...body, ...(yes === true && { confirm: true }) } });
  } catch (error) {
    if (!(error instanceof CliError) || error.code !== 'confirmation_needed') throw error;
    await confirm(shell, false, `${error.message.replace(/[.]$/, '')}.`);
    return ask<Released>(api, 'POST', path, { body: { ...body, confirm: true } });
  }
}

/** Says what production is now, and which migrations ran. */
export async function tellReleased(
  shell: Shell,
  api: Api,
  project: Project,
  { done, released, json }: { readonly done: string; readonly released: Released; readonly json: boolean | undefined },
): Promise<void> {
  const id = released.productionDeploymentId;
  if (id === null) throw new CliError(`${project.name} has no production now`);
  const { productionDeploymentId: _, ...more } = released;
  const deployment = await ask<Deployment>(api, 'GET', `/deployments/${id}`);
  const urls = urlsOf(deployment);
  print(shell, json, { project: project.name, production: id, branch: deployment.branch, urls, ...more }, () => {
    shell.out(`${shell.paint('green', done)} ${id} (${deployment.branch}) is production of ${project.name}`);
    for (const url of urls) shell.out(`  ${shell.paint('cyan', url)}`);
    for (const { resource, files } of released.migrations)
      shell.out(`  migrations of ${resource} that ran: ${files.join(', ')}`);
    for (const { resource, files, deploymentId } of released.migrationsSince ?? [])
      shell.err(
        shell.paint('yellow', `Migrations of ${resource} since stay, from ${deploymentId}: ${files.join(', ')}`),
      );
    for (const resource of released.restored ?? []) shell.out(`  ${resource} is as it was before`);
    for (const warning of released.warnings) shell.err(shell.paint('yellow', plain(warning)));
  });
}
