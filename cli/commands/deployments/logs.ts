// `platform deployments logs [deployment]`: shows the build and release log of a deployment.
import { defineCommand } from 'citty';
import type { Api } from '../../account/api.ts';
import { deploymentOf, isEnded, newestDeployment } from '../../api/deployment-text.ts';
import { failureOfDeployment, followDeployment, formatBuildLine } from '../../api/follow.ts';
import { needProject, targetFlags } from '../../api/project.ts';
import type { BuildLine, Deployment } from '../../api/records.ts';
import { ask } from '../../api/requests.ts';
import type { Shell } from '../../terminal/shell.ts';

const LINES_TOGETHER = 1000;
const PAGES_MAX = 10_000;

export const command = defineCommand({
  meta: { name: 'logs', description: 'Show build logs' },
  args: {
    deployment: { type: 'positional', required: false, description: 'ID or branch (default: the newest)' },
    follow: { type: 'boolean', alias: 'f', description: 'Follow the log until it ends or Ctrl-C' },
    ...targetFlags,
    json: { type: 'boolean', description: 'Print JSON, one object per line' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const { api, project } = await needProject(shell, args, 'platform deployments logs');
    const { id } = await (args.deployment === undefined
      ? newestDeployment(api, project, undefined)
      : deploymentOf(api, project, args.deployment));
    return showBuildLog(shell, api, id, args);
  },
});

/** Prints the log of a deployment; with `follow`, until it ends. @throws {CliError} if the deployment then fails. */
export async function showBuildLog(
  shell: Shell,
  api: Api,
  id: string,
  { follow, json }: { readonly follow?: boolean | undefined; readonly json?: boolean | undefined },
): Promise<number> {
  const onLine = (line: BuildLine): void =>
    shell.out(json === true ? JSON.stringify(line) : formatBuildLine(shell, line));
  const deployment = await ask<Deployment>(api, 'GET', `/deployments/${id}`);
  if (follow !== true || isEnded(deployment.status)) {
    let after = 0;
    for (let page = 0; page < PAGES_MAX; page++) {
      const { items, nextAfter } = await ask<{ items: BuildLine[]; nextAfter: number }>(
        api,
        'GET',
        `/deployments/${id}/logs`,
        { query: { after, limit: LINES_TOGETHER, follow: false } },
      );
      for (const line of items) onLine(line);
      if (items.length < LINES_TOGETHER || nextAfter <= after) break;
      after = nextAfter;
    }
    return 0;
  }
  const stopped = new AbortController();
  void shell.untilStopped().then(() => stopped.abort());
  const ended = await followDeployment(shell, api, id, { onLine, signal: stopped.signal });
  if (stopped.signal.aborted) return 0;
  const failure = failureOfDeployment(ended);
  if (failure !== null) throw failure;
  return 0;
}
