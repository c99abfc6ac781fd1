// The scenario that hello and json share: one worker at 64, 8 and 1 connections, all servers in turn, a table and what ours
// costs beside the others. Called by hello.bench.ts and json.bench.ts.
import { loadInTurn, missingWrk, rounds, seconds } from './load.ts';
import { startAll, type Scenario } from './servers.ts';
import { formatTable, machineLine, ratio } from './statistics.ts';

/** Ours, and what it is compared with. */
const comparisons = [
  ['ours, node:http', 'workerd'],
  ['ours, uWebSockets.js', 'workerd'],
  ['ours, node:http', 'bare node:http'],
  ['ours, uWebSockets.js', 'bare uWebSockets.js'],
] as const;

/** Runs it and prints the tables. @param target path and query of every request. */
export async function measureRequests(scenario: Scenario, target: string): Promise<void> {
  const missing = missingWrk();
  if (missing !== null) {
    process.stderr.write(`${missing}\n`);
    process.exitCode = 1;
    return;
  }
  const { servers, left, stop } = await startAll(scenario, target);
  try {
    process.stdout.write(`${machineLine()}\nCPU time of the server per request; medians of ${rounds} rounds of ${seconds} s, in turn\n`);
    for (const line of left) process.stdout.write(`${line}\n`);
    for (const connections of (process.env['BENCH_CONNECTIONS'] ?? '64,8,1').split(',').map(Number)) {
      const readings = await loadInTurn(servers, connections);
      const rows = [...readings].map(([name, { cpuUs, perSecond, p50Ms, p99Ms, bad }]) => [name, cpuUs, perSecond, p50Ms, p99Ms, bad]);
      const head = [`${connections} connection${connections === 1 ? '' : 's'}`, 'CPU us', 'requests/s', 'p50 ms', 'p99 ms', 'non-2xx'];
      const cpu = new Map([...readings].map(([name, { cpuUs }]) => [name, cpuUs]));
      const ratios = comparisons.map(([ours, other]) => ratio(cpu, ours, other)).filter((line) => line !== null);
      process.stdout.write(`\n${formatTable(head, rows)}\n${ratios.map((line) => `  ${line}`).join('\n')}\n`);
    }
  } finally {
    await stop();
  }
}
