// `platform deploy --remote [ref]`: builds a branch or commit of the connected repository on the platform, and follows
// the build.
import { urlsOf } from '../api/deployment-text.ts';
import { failureOfDeployment, followDeployment, formatBuildLine } from '../api/follow.ts';
import { needProject, type TargetFlags } from '../api/project.ts';
import type { BuildLine } from '../api/records.ts';
import { ask } from '../api/requests.ts';
import { gitPlace } from '../project/git-branch.ts';
import type { Shell } from '../terminal/shell.ts';

/** Supported flags. */
interface Flags extends TargetFlags {
  /** The branch or commit to build; by default, the branch of the folder, or else the project's default branch. */
  readonly ref?: string | undefined;
  readonly branch?: string | undefined;
  readonly json?: boolean | undefined;
}

/** @throws {CliError} if the deployment fails. */
export async function deployRemotely(shell: Shell, flags: Flags): Promise<void> {
  const { api, project } = await needProject(shell, flags, 'platform deploy --remote');
  const ref = flags.ref ?? flags.branch ?? gitPlace(shell.cwd)?.branch ?? project.defaultBranch;
  const path = `/projects/${encodeURIComponent(project.id)}/deploy`;
  const { deploymentId: id } = await ask<{ deploymentId: string }>(api, 'POST', path, { body: { ref } });
  const isQuiet = flags.json === true;
  if (!isQuiet) shell.out(shell.paint('dim', `Building ${ref} of ${project.name} on ${api.origin} as ${id}`));
  const stopped = new AbortController();
  void shell.untilStopped().then(() => {
    shell.err(
      `The deployment continues: \`platform deployments logs ${id} -f\` follows it, \`platform deployments cancel ${id}\` cancels it`,
    );
    stopped.abort();
  });
  const onLine = (line: BuildLine): void => {
    if (!isQuiet) shell.out(formatBuildLine(shell, line));
    // Warnings are also printed with --json, to standard error, for the logs of scripts.
    else if (line.level === 'warn') shell.err(formatBuildLine(shell, line));
  };
  const deployment = await followDeployment(shell, api, id, { onLine, signal: stopped.signal });
  if (stopped.signal.aborted) return;
  const failure = failureOfDeployment(deployment);
  if (failure !== null) throw failure;
  const urls = urlsOf(deployment);
  if (isQuiet) {
    shell.out(JSON.stringify({ project: project.name, deployment: id, branch: deployment.branch, urls }));
    return;
  }
  shell.out(
    `${shell.paint('green', 'Deployed')} ${project.name} as ${id} (${deployment.target} of ${deployment.branch})`,
  );
  for (const url of urls) shell.out(`  ${shell.paint('cyan', url)}`);
}
