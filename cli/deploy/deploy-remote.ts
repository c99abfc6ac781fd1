// `platform deploy --remote [ref]`: has the platform build a branch or a commit of the connected repository, and
// follows it.
import { urlsOf } from '../api/deployment-text.ts';
import { failureOfDeployment, followDeployment, formatBuildLine } from '../api/follow.ts';
import { needProject, type TargetFlags } from '../api/project.ts';
import type { BuildLine } from '../api/records.ts';
import { ask } from '../api/requests.ts';
import { gitPlace } from '../project/git-branch.ts';
import type { Shell } from '../terminal/shell.ts';

/** The flags that mean something here. */
interface Flags extends TargetFlags {
  /** Default: the branch of the folder, else the project's default branch. */
  readonly ref?: string | undefined;
  readonly branch?: string | undefined;
  readonly json?: boolean | undefined;
}

/** @throws {CliError} when it does not become live. */
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
      `It goes on without you: \`platform deployments logs ${id} -f\`, or \`platform deployments cancel ${id}\``,
    );
    stopped.abort();
  });
  const onLine = (line: BuildLine): void => {
    if (!isQuiet) shell.out(formatBuildLine(shell, line));
    // With --json too: the log of a script shows standard error.
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
