// `platform logs [-f]`: what the workers of a project wrote, and what of them failed, from the platform on this
// machine.
import { defineCommand } from 'citty';
import { wholeNumber } from '../terminal/arguments.ts';
import { CliError } from '../terminal/failure.ts';
import { askPlatform } from '../local/local-platform.ts';
import type { Shell, Style } from '../terminal/shell.ts';
import { findDeployed, projectFlags } from '../project/target.ts';

interface Line {
  readonly time: number;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly deployment: string;
  readonly invocation: string | null;
  readonly text: string;
}

interface Answer {
  readonly lines: readonly Line[];
  readonly next: string;
  readonly error?: string;
}

const FOLLOW_MS = 400;
const styles: Readonly<Record<Line['level'], Style>> = { debug: 'dim', info: 'cyan', warn: 'yellow', error: 'red' };

export const command = defineCommand({
  meta: { name: 'logs', description: 'Show the log of this project' },
  args: {
    follow: { type: 'boolean', alias: 'f', description: 'Go on with what comes, until Ctrl-C' },
    lines: { type: 'string', valueHint: 'n', default: '100', description: 'Lines of what has been' },
    branch: { type: 'string', alias: 'b', valueHint: 'name', description: 'Only deployments of a branch' },
    deployment: { type: 'string', alias: 'd', valueHint: 'id', description: 'Only one deployment' },
    ...projectFlags,
    json: { type: 'boolean', description: 'Print JSON, one object a line' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const count = wholeNumber('platform logs', '--lines', args.lines, 0, 100_000);
    const found = await findDeployed(shell, args);
    let { route } = found;
    let next = '';
    const read = async (): Promise<readonly Line[]> => {
      const query = `project=${route.project}&after=${next}`;
      const { status, body } = await askPlatform<Answer>(found.platform, `/_platform/logs?${query}`);
      if (status !== 200) throw new CliError(`The platform does not tell its log: ${body.error ?? `HTTP ${status}`}`);
      ({ next } = body);
      if (args.branch !== undefined && body.lines.some(({ deployment }) => route.deployments[deployment] === undefined))
        ({ route } = await findDeployed(shell, args));
      return body.lines.filter(
        ({ deployment }) =>
          (args.deployment === undefined || deployment === args.deployment) &&
          (args.branch === undefined || route.deployments[deployment]?.branch === args.branch),
      );
    };
    const show = (line: Line): void => shell.out(args.json ? JSON.stringify(line) : formatted(shell, line));
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

function formatted(shell: Shell, { time, level, deployment, text }: Line): string {
  const at = new Date(time).toISOString().slice(11, 23);
  return `${shell.paint('dim', `${at} ${deployment}`)} ${shell.paint(styles[level], level.padEnd(5))} ${text}`;
}
