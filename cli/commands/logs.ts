// `platform logs [-f]`: shows the logs of a project's workers; with --build, the log of a build.
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
import { formatMoment } from '../terminal/table.ts';
import { parseTimeFlag } from '../terminal/time-flag.ts';
import { plain } from '../terminal/plain.ts';
import type { Shell, Style } from '../terminal/shell.ts';
import { showBuildLog } from './deployments/logs.ts';

const FOLLOW_MS = 400;
const levels = ['debug', 'info', 'warn', 'error'] as const;
const styles: Readonly<Record<LogLine['level'], Style>> = { debug: 'dim', info: 'cyan', warn: 'yellow', error: 'red' };

export const command = defineCommand({
  meta: { name: 'logs', description: 'Show the logs of this project' },
  args: {
    follow: { type: 'boolean', alias: 'f', description: 'Follow the logs until Ctrl-C' },
    requests: {
      type: 'boolean',
      description: 'Also show finished requests and events (default: with --follow on a terminal)',
    },
    build: { type: 'boolean', description: 'Show the log of the newest build, or of --deployment' },
    lines: { type: 'string', valueHint: 'n', default: '100', description: 'Number of past lines' },
    level: {
      type: 'string',
      valueHint: 'level',
      default: 'debug',
      description: `Minimum level: ${levels.join(', ')}`,
    },
    since: { type: 'string', valueHint: 'time', description: 'Start time: 10m, 2h, 7d, or an ISO time' },
    until: { type: 'string', valueHint: 'time', description: 'End time' },
    search: { type: 'string', valueHint: 'text', description: 'Only lines with this text' },
    regex: { type: 'string', valueHint: 'pattern', description: 'Only lines that match this regular expression' },
    route: { type: 'string', valueHint: 'route', description: 'Only this route, for example /api/users/*' },
    invocation: {
      type: 'string',
      valueHint: 'id',
      description: 'Only this request, by the x-request-id of its response',
    },
    trace: { type: 'string', valueHint: 'id', description: 'Only this trace' },
    branch: { type: 'string', alias: 'b', valueHint: 'name', description: 'Only this branch' },
    deployment: { type: 'string', alias: 'd', valueHint: 'id', description: 'Only this deployment' },
    ...targetFlags,
    json: { type: 'boolean', description: 'Print JSON, one object per line' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const count = wholeNumber('platform logs', '--lines', args.lines, 0, 100_000);
    const least = levels.indexOf(args.level as LogLine['level']);
    if (least === -1)
      throw new CliError(`--level must be one of ${levels.join(', ')}`, {
        exitCode: 2,
        advice: 'debug shows all lines.',
      });
    const api = await findApi(shell, args);
    if (args.build === true) {
      if (api === null) throw new CliError('Build logs require a control plane');
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
    if (stored !== undefined) throw new CliError(`--${stored} requires a control plane, which stores log lines`);
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

/** Flags that only a control plane supports, because they search stored lines. */
const storedFlags = ['since', 'until', 'search', 'regex', 'route', 'invocation', 'trace', 'requests'] as const;
/** Flags that apply to lines and not to requests. */
const lineFlags = ['search', 'regex', 'invocation'] as const;

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

/** Prints stored lines; with `follow`, continues after the last one. */
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
    regex: flags.regex,
    route: flags.route,
    invocation: flags.invocation,
    traceId: flags.trace,
  };
  const isOfLines = flags.level !== 'debug' || lineFlags.some((name) => flags[name] !== undefined);
  const refused = flags.level === 'debug' ? lineFlags.find((name) => flags[name] !== undefined) : 'level';
  if (flags.requests === true && refused !== undefined)
    throw new CliError(`--${refused} cannot be combined with --requests`, {
      exitCode: 2,
      advice: 'Supported with --requests: --route, --trace, --branch, --deployment, --since and --until.',
    });
  const withRequests =
    flags.requests ?? (flags.follow === true && shell.isTerminal && flags.json !== true && !isOfLines);
  const from = flags.since === undefined ? undefined : parseTimeFlag('--since', flags.since).toISOString();
  const to = flags.until === undefined ? undefined : parseTimeFlag('--until', flags.until).toISOString();
  // Reads at least one line, because following starts after the last one.
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
  if (flags.follow !== true) {
    if (been.length === 0) shell.err(nothingFound(filters, from ?? to));
    return 0;
  }
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

/** The message for an empty result, which is written to standard error, so that scripts do not read it. */
function nothingFound({ level, ...filters }: Query, period: string | undefined): string {
  const isFiltered = level !== 'debug' || [...Object.values(filters), period].some((value) => value !== undefined);
  return isFiltered
    ? 'No log lines match'
    : 'No log lines yet: `console.log` in a worker writes them, and --requests shows its requests';
}

/** `2026-11-23 12:00:00.123 d0123 GET   /path 200 in 12 ms, 3.1 ms of CPU` */
function formattedRequest(shell: Shell, request: StoredRequest): string {
  const { at, deploymentId, kind, method, path, status, outcome, wallMs, cpuMs } = request;
  const what = method === '' ? `${kind} ${path}` : `${method} ${path}`;
  const ended = method === '' || status === 0 ? outcome : outcome === 'ok' ? String(status) : `${status} ${outcome}`;
  const style = outcome !== 'ok' || status >= 500 ? 'red' : status >= 400 ? 'yellow' : 'green';
  const figures = shell.paint('dim', `in ${wallMs.toFixed(0)} ms, ${cpuMs.toFixed(1)} ms of CPU`);
  return `${shell.paint('dim', `${formatMoment(at)} ${deploymentId}`)} ${plain(what.trim())} ${shell.paint(style, ended)} ${figures}`;
}

function formatted(shell: Shell, { time, level, deployment, text }: LogLine): string {
  const at = formatMoment(new Date(time).toISOString());
  // Strip colours: a worker could imitate the CLI's output.
  return `${shell.paint('dim', `${at} ${deployment}`)} ${shell.paint(styles[level], level.padEnd(5))} ${plain(text)}`;
}
