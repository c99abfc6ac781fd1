// Formats deployments for the terminal, and finds a deployment by ID or branch.
import type { Api } from '../account/api.ts';
import { isDeploymentId } from '#core/names.ts';
import { CliError } from '../terminal/failure.ts';
import { plain } from '../terminal/plain.ts';
import type { Shell, Style } from '../terminal/shell.ts';
import type { Deployment, DeploymentStatus, Project } from './records.ts';
import { allOf, ask } from './requests.ts';

const styles: Readonly<Record<DeploymentStatus, Style>> = {
  queued: 'dim',
  building: 'cyan',
  uploading: 'cyan',
  migrating: 'cyan',
  success: 'green',
  failure: 'red',
  timeout: 'red',
  canceled: 'yellow',
};

/** Whether a deployment has finished. */
export function isEnded(status: DeploymentStatus): boolean {
  return status === 'success' || status === 'failure' || status === 'timeout' || status === 'canceled';
}

/** @example statusText({ status: 'canceled', reason: 'superseded' }) // 'canceled (superseded)' */
export function statusText({ status, reason }: Pick<Deployment, 'status' | 'reason'>): string {
  return reason === null ? status : `${status} (${reason})`;
}

/**
 * The state of a guarded release that runs or did not succeed, else null.
 *
 * @example guardedText(deployment) // '5 % of visitors'
 */
export function guardedText({ guardedRelease: guarded }: Pick<Deployment, 'guardedRelease'>): string | null {
  if (guarded === undefined || guarded === null || guarded.state === 'promoted') return null;
  return guarded.state === 'running' ? `${guarded.percent} % of visitors` : guarded.state.replace('_', ' ');
}

/** The steps that follow the current one, in words: '25 %, then 100 %; 5 min each'. */
export function stepsText({ guardedRelease: guarded }: Deployment): string {
  const { settings, percent } = guarded!;
  const later = settings.steps.filter((step) => step > percent).map((step) => `${step} %`);
  return `${later.join(', then ')}; ${settings.minutes} min each`;
}

/** URLs of a deployment, production first. */
export function urlsOf({ aliasUrls, url }: Deployment): string[] {
  return [...aliasUrls, ...(url === null ? [] : [url])];
}

/** Prints a deployment. */
export function describeDeployment(shell: Shell, project: Project, deployment: Deployment): void {
  const { id, branch, status, createdAt, commitSha, commitMessage, author, pullRequest, errorMessage } = deployment;
  const isProduction = project.productionDeploymentId === id;
  shell.out(
    `${shell.paint('bold', id)} of ${project.name}${isProduction ? ` ${shell.paint('green', 'production')}` : ''}`,
  );
  shell.out(`  status   ${shell.paint(styles[status] ?? 'dim', statusText(deployment))}`);
  describeGuarded(shell, deployment);
  if (errorMessage !== null) shell.out(`  error    ${errorMessage}`);
  shell.out(`  branch   ${branch}${pullRequest === null ? '' : ` (pull request ${pullRequest})`}`);
  if (commitSha !== null)
    shell.out(`  commit   ${commitSha.slice(0, 12)} ${(commitMessage ?? '').split('\n')[0]}`.trimEnd());
  if (author !== null) shell.out(`  author   ${author}`);
  shell.out(`  created  ${createdAt}`);
  if (status === 'success') for (const url of urlsOf(deployment)) shell.out(`  ${shell.paint('cyan', url)}`);
}

/** Prints the metrics of each step of a guarded release. */
function describeGuarded(shell: Shell, deployment: Deployment): void {
  const { guardedRelease: guarded } = deployment;
  if (guarded === undefined || guarded === null) return;
  const isRunning = guarded.state === 'running';
  const then = isRunning ? `, then ${stepsText(deployment)}` : guarded.reason === null ? '' : `: ${guarded.reason}`;
  shell.out(`  release  ${guardedText(deployment) ?? 'promoted'}${plain(then)}`);
  for (const { percent, verdict } of guarded.steps)
    shell.out(`  ${`${percent} %`.padStart(7)}  ${plain(verdict ?? 'not judged yet')}`);
}

/**
 * Finds a deployment by ID, or the newest successful one of a branch.
 *
 * @throws {CliError} if not found.
 */
export async function deploymentOf(api: Api, project: Project, word: string): Promise<Deployment> {
  if (isDeploymentId(word)) {
    const found = await ask<Deployment>(api, 'GET', `/deployments/${word}`).catch((error: unknown) => {
      if (error instanceof CliError && error.code === 'not_found') return null;
      throw error;
    });
    if (found?.projectId === project.id) return found;
  }
  const query = { projectId: project.id, branch: word, status: 'success', limit: 20 };
  const [newest] = (await allOf<Deployment>(api, '/deployments', query, 20)).filter(
    ({ status, branch }) => status === 'success' && branch === word,
  );
  if (newest !== undefined) return newest;
  throw new CliError(`${project.name} has no deployment and no branch "${word}"`, {
    exitCode: 2,
    advice: `\`platform deployments --name ${project.name}\` lists the deployments.`,
  });
}

/** The newest deployment, optionally of a branch. @throws {CliError} if there is no such deployment. */
export async function newestDeployment(api: Api, project: Project, branch: string | undefined): Promise<Deployment> {
  const [newest] = await allOf<Deployment>(api, '/deployments', { projectId: project.id, branch, limit: 1 }, 1);
  if (newest !== undefined) return newest;
  throw new CliError(`${project.name} has no deployments${branch === undefined ? '' : ` of ${branch}`} yet`, {
    advice: 'Create a deployment with `platform deploy`.',
  });
}
