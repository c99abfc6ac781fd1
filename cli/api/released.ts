// Sends and prints a promotion or rollback, after a confirmation if it is risky.
import type { Api } from '../account/api.ts';
import { confirm } from '../terminal/confirm.ts';
import { CliError } from '../terminal/failure.ts';
import { plain } from '../terminal/plain.ts';
import type { Shell } from '../terminal/shell.ts';
import { print } from '../terminal/table.ts';
import { stepsText, urlsOf } from './deployment-text.ts';
import type { Deployment, Project } from './records.ts';
import { ask } from './requests.ts';

interface Ran {
  readonly resource: string;
  readonly files: readonly string[];
}

/** The new production deployment. */
interface Released {
  readonly productionDeploymentId: string | null;
  readonly previousDeploymentId: string | null;
  /** Whether a guarded release runs. An older platform does not send this field. */
  readonly guarded?: boolean;
  /** Migrations applied by the promotion. */
  readonly migrations: readonly Ran[];
  readonly warnings: readonly string[];
  /** For a rollback, the later migrations, which stay applied. */
  readonly migrationsSince?: readonly (Ran & { readonly deploymentId: string })[];
  /** Restored databases. */
  readonly restored?: readonly string[];
}

/**
 * Sends the request for a promotion or rollback; asks the user if the platform requires a confirmation. @throws
 * {CliError}
 */
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

/** Prints that a guarded release of a deployment runs, and its steps. */
export async function tellGuarded(
  shell: Shell,
  api: Api,
  project: Project,
  { id, released, json }: { readonly id: string; readonly released: Released; readonly json: boolean | undefined },
): Promise<void> {
  const deployment = await ask<Deployment>(api, 'GET', `/deployments/${id}`);
  const { productionDeploymentId: production, ...more } = released;
  const guarded = deployment.guardedRelease;
  print(shell, json, { project: project.name, production, deployment: id, guardedRelease: guarded, ...more }, () => {
    shell.out(
      `${shell.paint('green', 'Started')} ${id} (${deployment.branch}) gets ${guarded?.percent} % of the visitors of ${project.name}, then ${stepsText(deployment)}`,
    );
    shell.out(`  \`platform deployments view ${id}\` shows its figures, \`platform rollback\` ends it`);
    tellMigrations(shell, released);
  });
}

/** Prints the new production deployment and the applied migrations. */
export async function tellReleased(
  shell: Shell,
  api: Api,
  project: Project,
  { done, released, json }: { readonly done: string; readonly released: Released; readonly json: boolean | undefined },
): Promise<void> {
  const id = released.productionDeploymentId;
  if (id === null) throw new CliError(`${project.name} has no production deployment`);
  const { productionDeploymentId: _, ...more } = released;
  const deployment = await ask<Deployment>(api, 'GET', `/deployments/${id}`);
  const urls = urlsOf(deployment);
  print(shell, json, { project: project.name, production: id, branch: deployment.branch, urls, ...more }, () => {
    shell.out(`${shell.paint('green', done)} ${id} (${deployment.branch}) is production of ${project.name}`);
    for (const url of urls) shell.out(`  ${shell.paint('cyan', url)}`);
    tellMigrations(shell, released);
    for (const { resource, files, deploymentId } of released.migrationsSince ?? [])
      shell.err(
        shell.paint(
          'yellow',
          `Later migrations of ${resource} are not reverted, from ${deploymentId}: ${files.join(', ')}`,
        ),
      );
    for (const resource of released.restored ?? []) shell.out(`  ${resource} was restored`);
  });
}

function tellMigrations(shell: Shell, { migrations, warnings }: Released): void {
  for (const { resource, files } of migrations) shell.out(`  applied migrations of ${resource}: ${files.join(', ')}`);
  for (const warning of warnings) shell.err(shell.paint('yellow', plain(warning)));
}
