// `platform logs [-f]`: what the workers of a project wrote, and what of them failed; with --build the log of a build.
import { defineCommand } from 'citty';
import type { Api } from '../account/api.ts';
import { deploymentOf, newestDeployment } from '../api/deployment-text.ts';
import { projectOf, targetFlags } from '../api/project.ts';
import type { Query } from '../api/requests.ts';
import { followStoredLines, readStoredLines } from '../api/stored-lines.ts';
import { followStoredRequests, readStoredRequests, type StoredRequest } from '../api/stored-requests.ts';
import { findApi } from '../api/target.ts';
import { routeLog } from '../routes/route-log.ts';
import type { LogLine } from '../project/log-line.ts';
import { wholeNumber } from '../terminal/arguments.ts';
import { CliError } from '../terminal/failure.ts';
import { toMoment } from '../terminal/moment.ts';
import { plain } from '../terminal/plain.ts';
import type { Shell, Style } from '../terminal/shell.ts';
import { showBuildLog } from './deployments/logs.ts';

const FOLLOW_MS = 400;
const levels = ['debug', 'info', 'warn', 'error'] as const;
const styles: Readonly<Record<LogLine['level'], Style>> = { debug: 'dim', info: 'cyan', warn: 'yellow', error: 'red' };

export const command = defineCommand({
  meta: { name: 'logs', description: 'Show the log of this project' },
  args: {
    follow: { type: 'boolean', alias: 'f', description: 'Go on with what comes, until Ctrl-C' },
    requests: {
      type: 'boolean',
      description: 'With a line for each request and event that has ended (default: with --follow on a terminal)',
    },
    build: { type: 'boolean', description: 'The log of the newest build, or of that of --deployment' },
    lines: { type: 'string', valueHint: 'n', default: '100', description: 'Lines of what has been' },
    level: {
      type: 'string',
      valueHint: 'level',
      default: 'debug',
      description: `${levels.join(', ')}: and those above it`,
    },
    since: { type: 'string', valueHint: 'time', description: 'Not before: 10m, 2h, 7d, or an ISO time' },
    until: { type: 'string', valueHint: 'time', description: 'Not after' },
    search: { type: 'string', valueHint: 'text', description: 'Only lines with this text' },
    route: { type: 'string', valueHint: 'route', description: 'Only of a route, such as /api/users/*' },
    invocation: { type: 'string', valueHint: 'id', description: "Only of one request: its response's x-request-id" },
    trace: { type: 'string', valueHint: 'id', description: 'Only of one trace' },
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
    const show = (line: LogLine): void => {
      if (levels.indexOf(line.level) >= least) shell.out(args.json ? JSON.stringify(line) : formatted(shell, line));
    };
    if (api !== null) return showStored(shell, api, (await projectOf(shell, api, args)).id, args, { count, show });
    const stored = storedFlags.find((name) => args[name] !== undefined && args[name] !== false);
    if (stored !== undefined) throw new CliError(`--${stored} asks for stored lines, which a control plane keeps`);
    const read = await routeLog(shell, args);
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

/** What only stored lines are found by. */
const storedFlags = ['since', 'until', 'search', 'route', 'invocation', 'trace', 'requests'] as const;
/** What lines alone have. */
const lineFlags = ['search', 'invocation'] as const;

interface Flags extends Partial<
  Readonly<Record<Exclude<(typeof storedFlags)[number], 'requests'>, string | undefined>>
> {
  readonly level: string;
  readonly requests?: boolean | undefined;
  readonly json?: boolean | undefined;
  readonly branch?: string | undefined;
  readonly deployment?: string | undefined;
  readonly follow?: boolean | undefined;
}

/** What comes is followed from the last line that was. */
async function showStored(
  shell: Shell,
  api: Api,
  project: string,
  flags: Flags,
  { count, show }: { readonly count: number; readonly show: (line: LogLine) => void },
): Promise<number> {
  const filters: Query = {
    level: flags.level,
    branch: flags.branch,
    deploymentId: flags.deployment,
    search: flags.search,
    route: flags.route,
    invocation: flags.invocation,
    traceId: flags.trace,
  };
  const isOfLines = flags.level !== 'debug' || lineFlags.some((name) => flags[name] !== undefined);
  const refused = flags.level === 'debug' ? lineFlags.find((name) => flags[name] !== undefined) : 'level';
  if (flags.requests === true && refused !== undefined)
    throw new CliError(`--${refused} finds lines, and --requests shows requests`, {
      exitCode: 2,
      advice: '--route, --trace, --branch, --deployment, --since and --until find both.',
    });
  const withRequests =
    flags.requests ?? (flags.follow === true && shell.isTerminal && flags.json !== true && !isOfLines);
  const from = flags.since === undefined ? undefined : toMoment('--since', flags.since).toISOString();
  const to = flags.until === undefined ? undefined : toMoment('--until', flags.until).toISOString();
  // One at least: it says from where to follow.
  const { lines, last } = await readStoredLines(api, project, { ...filters, from, to }, Math.max(count, 1));
  const requestFilters: Query = {
    branch: flags.branch,
    deploymentId: flags.deployment,
    route: flags.route,
    traceId: flags.trace,
  };
  const requests = withRequests
    ? await readStoredRequests(api, project, { ...requestFilters, from, to }, Math.max(count, 1))
    : [];
  const showRequest = (request: StoredRequest): void =>
    shell.out(flags.json === true ? JSON.stringify(request) : formattedRequest(shell, request));
  const been = [
    ...lines.map((line) => ({ time: line.time, show: () => show(line) })),
    ...requests.map((request) => ({ time: Date.parse(request.at), show: () => showRequest(request) })),
  ].toSorted((one, other) => one.time - other.time);
  if (count > 0) for (const entry of been.slice(-count)) entry.show();
  if (flags.follow !== true) return 0;
  const stopped = new AbortController();
  void shell.untilStopped().then(() => stopped.abort());
  const follow = async <Entry>(entries: AsyncIterable<Entry>, showOne: (entry: Entry) => void): Promise<void> => {
    for await (const entry of entries) showOne(entry);
  };
  const { signal } = stopped;
  await Promise.all([
    follow(followStoredLines(api, project, filters, last, signal), show),
    withRequests && follow(followStoredRequests(api, project, requestFilters, requests, signal), showRequest),
  ]).finally(() => stopped.abort());
  return 0;
}

/** `12:00:00.123 d0123 GET   /path 200 in 12 ms, 3.1 ms of CPU` */
function formattedRequest(shell: Shell, request: StoredRequest): string {
  const { at, deploymentId, kind, method, path, status, outcome, wallMs, cpuMs } = request;
  const what = method === '' ? `${kind} ${path}` : `${method} ${path}`;
  const ended = method === '' || status === 0 ? outcome : outcome === 'ok' ? String(status) : `${status} ${outcome}`;
  const style = outcome !== 'ok' || status >= 500 ? 'red' : status >= 400 ? 'yellow' : 'green';
  const figures = shell.paint('dim', `in ${wallMs.toFixed(0)} ms, ${cpuMs.toFixed(1)} ms of CPU`);
  return `${shell.paint('dim', `${at.slice(11, 23)} ${deploymentId}`)} ${plain(what.trim())} ${shell.paint(style, ended)} ${figures}`;
}

function formatted(shell: Shell, { time, level, deployment, text }: LogLine): string {
  const at = new Date(time).toISOString().slice(11, 23);
  // Colours are stripped: they could imitate the program's own.
  return `${shell.paint('dim', `${at} ${deployment}`)} ${shell.paint(styles[level], level.padEnd(5))} ${plain(text)}`;
}
