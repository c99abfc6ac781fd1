// `platform logs [-f]`: what the workers of a project wrote, and what of them failed; with --build the log of a build.
import { defineCommand } from 'citty';
import type { Api } from '../account/api.ts';
import { deploymentOf, newestDeployment } from '../api/deployment-text.ts';
import { projectOf, targetFlags } from '../api/project.ts';
import type { Project } from '../api/records.ts';
import { ask } from '../api/requests.ts';
import { findApi } from '../api/target.ts';
import { routeLog } from '../local/route-log.ts';
import { wholeNumber } from '../terminal/arguments.ts';
import { CliError } from '../terminal/failure.ts';
import { plain } from '../terminal/plain.ts';
import type { Shell, Style } from '../terminal/shell.ts';
import { showBuildLog } from './deployments/logs.ts';

/** A line that a worker wrote. */
export interface LogLine {
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly deployment: string;
  readonly invocation: string | null;
  readonly text: string;
}

/** Reads the lines that came since it was called last. */
export type ReadLog = () => Promise<readonly LogLine[]>;

const FOLLOW_MS = 400;
const levels = ['debug', 'info', 'warn', 'error'] as const;
const styles: Readonly<Record<LogLine['level'], Style>> = { debug: 'dim', info: 'cyan', warn: 'yellow', error: 'red' };

export const command = defineCommand({
  meta: { name: 'logs', description: 'Show the log of this project' },
  args: {
    follow: { type: 'boolean', alias: 'f', description: 'Go on with what comes, until Ctrl-C' },
    build: { type: 'boolean', description: 'The log of the newest build, or of that of --deployment' },
    lines: { type: 'string', valueHint: 'n', default: '100', description: 'Lines of what has been' },
    level: {
      type: 'string',
      valueHint: 'level',
      default: 'debug',
      description: `${levels.join(', ')}: and those above it`,
    },
    branch: { type: 'string', alias: 'b', valueHint: 'name', description: 'Only deployments of a branch' },
    deployment: { type: 'string', alias: 'd', valueHint: 'id', description: 'Only one deployment' },
    ...targetFlags,
    json: { type: 'boolean', description: 'Print JSON, one object a line' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const count = wholeNumber('platform logs', '--lines', args.lines, 0, 100_000);
    const least = levels.indexOf(args.level as LogLine['level']);
    if (least === -1)
      throw new CliError(`--level is one of ${levels.join(', ')}`, { exitCode: 2, advice: 'debug shows all.' });
    const api = await findApi(shell, args);
    if (args.build === true) {
      if (api === null)
        throw new CliError('Without a control plane there are no builds but those of `platform deploy`');
      const project = await projectOf(shell, api, args);
      const { id } = await (args.deployment === undefined
        ? newestDeployment(api, project, args.branch)
        : deploymentOf(api, project, args.deployment));
      return showBuildLog(shell, api, id, args);
    }
    const read = api === null ? await routeLog(shell, args) : apiLog(api, await projectOf(shell, api, args), args);
    const show = (line: LogLine): void => {
      if (levels.indexOf(line.level) >= least) shell.out(args.json ? JSON.stringify(line) : formatted(shell, line));
    };
    const been = await read();
    for (const line of count === 0 ? [] : been.slice(-count)) show(line);
    if (args.follow !== true) return 0;
    let stopped = false;
    const end = shell.untilStopped().then(() => (stopped = true));
    while (!stopped) {
      await Promise.race([end, new Promise((resolve) => setTimeout(resolve, FOLLOW_MS))]);
      if (!stopped) for (const line of await read()) show(line);
    }
    return 0;
  },
});

function apiLog(
  api: Api,
  { id }: Project,
  { branch, deployment }: { branch?: string | undefined; deployment?: string | undefined },
): ReadLog {
  let after = '';
  return async () => {
    const answer = await ask<{ lines: readonly LogLine[]; next: string }>(
      api,
      'GET',
      `/projects/${encodeURIComponent(id)}/live-logs`,
      {
        query: { after, branch, deploymentId: deployment, limit: 1000 },
      },
    );
    after = answer.next;
    return answer.lines;
  };
}

function formatted(shell: Shell, { time, level, deployment, text }: LogLine): string {
  const at = new Date(time).toISOString().slice(11, 23);
  const said = plain(text, shell.isTerminal);
  return `${shell.paint('dim', `${at} ${deployment}`)} ${shell.paint(styles[level], level.padEnd(5))} ${said}`;
}
