// `platform analytics`: shows requests, failures, latency and CPU of a project by route, and of two deployments side by
// side.
import { defineCommand } from 'citty';
import { projectOf, targetFlags } from '../api/project.ts';
import { ask, type Query } from '../api/requests.ts';
import { needApi } from '../api/target.ts';
import { CliError } from '../terminal/failure.ts';
import { parseTimeFlag } from '../terminal/time-flag.ts';
import type { Shell } from '../terminal/shell.ts';
import { formatTime, print, printTable } from '../terminal/table.ts';

const orders = ['requests', 'errors', 'latency', 'cpu'] as const;

interface Latency {
  readonly p50: number;
  readonly p99: number;
}

interface Counts {
  readonly requests: number;
  readonly failures: number;
  readonly status: Readonly<Record<string, number>>;
  readonly cpuMs: number;
  readonly firstByteMs: Latency | null;
}

interface Measured {
  readonly totals: Counts;
  readonly routes: readonly (Counts & { readonly route: string })[];
}

/** The response of `GET /projects/{id}/analytics`, in part. */
interface Analytics extends Measured {
  readonly from: string;
  readonly to: string;
  readonly compared: (Measured & { readonly deploymentId: string }) | null;
}

export const command = defineCommand({
  meta: { name: 'analytics', description: 'Show requests, failures and latency of this project' },
  args: {
    since: {
      type: 'string',
      valueHint: 'time',
      default: '1h',
      description: 'Start time: 15m, 24h, 7d, or an ISO time',
    },
    until: { type: 'string', valueHint: 'time', description: 'End time (default: now)' },
    route: { type: 'string', valueHint: 'route', description: 'Only this route, for example /api/users/*' },
    deployment: { type: 'string', alias: 'd', valueHint: 'id', description: 'Only this deployment' },
    compare: { type: 'string', valueHint: 'id', description: 'Also show this deployment' },
    order: { type: 'string', valueHint: 'order', default: 'requests', description: `Sort by: ${orders.join(', ')}` },
    ...targetFlags,
    json: { type: 'boolean', description: 'Print JSON' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    if (!orders.some((order) => order === args.order))
      throw new CliError(`--order must be one of ${orders.join(', ')}`, { exitCode: 2 });
    const api = await needApi(shell, args, 'platform analytics');
    const { id } = await projectOf(shell, api, args);
    const query: Query = {
      from: parseTimeFlag('--since', args.since).toISOString(),
      to: args.until === undefined ? undefined : parseTimeFlag('--until', args.until).toISOString(),
      route: args.route,
      deploymentId: args.deployment,
      compareTo: args.compare,
      order: args.order,
    };
    const found = await ask<Analytics>(api, 'GET', `/projects/${encodeURIComponent(id)}/analytics`, { query });
    print(shell, args.json, found, () => {
      shell.out(shell.paint('dim', `${formatTime(found.from)} to ${formatTime(found.to)}`));
      show(shell, args.deployment ?? 'All deployments', found);
      if (found.compared !== null) show(shell, found.compared.deploymentId, found.compared);
    });
  },
});

function show(shell: Shell, title: string, { totals, routes }: Measured): void {
  const classes = Object.entries(totals.status).flatMap(([name, count]) => (count === 0 ? [] : `${count} ${name}`));
  const counted = [`${totals.requests} requests`, ...classes, `${totals.failures} failed`, ...latencyText(totals)];
  shell.out(`${shell.paint('bold', title)}: ${counted.join(', ')}`);
  printTable(shell, {
    columns: ['route', 'requests', 'failed', 'p50 ms', 'p99 ms', 'cpu ms'],
    rows: routes.map(({ route, requests, failures, firstByteMs, cpuMs }) => [
      route,
      requests,
      failures,
      firstByteMs === null ? null : rounded(firstByteMs.p50),
      firstByteMs === null ? null : rounded(firstByteMs.p99),
      rounded(cpuMs),
    ]),
    empty: 'No requests',
  });
}

function latencyText({ firstByteMs }: Counts): string[] {
  if (firstByteMs === null) return [];
  return [`time to first byte p50 ${rounded(firstByteMs.p50)} ms, p99 ${rounded(firstByteMs.p99)} ms`];
}

const rounded = (ms: number): number => (ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms));
