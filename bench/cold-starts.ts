// Sends the first request to each of some unused deployments, at an interval in milliseconds, and measures time and
// cost. Used by cold-start.bench.ts and ssr-page.bench.ts.
import { cpuMs } from './load.ts';
import type { Server } from './servers.ts';
import { percentile } from './statistics.ts';
import { tally, visit } from './visits.ts';

/** How long an engine gets before the visits, to compile what it has. */
export const settleMs = Number(process.env['BENCH_SETTLE_MS'] ?? 10_000);

/** Of the figures of {@link coldStarts}. */
export const coldHead = ['p50 ms', 'p99 ms', 'worst ms', 'CPU ms', 'warm p50 ms'];

/** @throws {Error} when a deployment does not answer. */
export async function coldStarts(
  server: Server,
  projects: Readonly<Record<'warm' | 'fresh', readonly string[]>>,
  everyMs: number,
): Promise<number[]> {
  await visit(server.url, projects.warm, { everyMs });
  const before = cpuMs(server.pid);
  const { times, failures } = await visit(server.url, projects.fresh, { everyMs });
  const usedMs = cpuMs(server.pid) - before;
  if (failures.length > 0) throw new Error(`${server.name}: ${tally(failures)}`);
  const again = await visit(server.url, projects.fresh, { everyMs: 2 });
  return [
    percentile(times, 0.5),
    percentile(times, 0.99),
    Math.max(...times),
    usedMs / projects.fresh.length,
    percentile(again.times, 0.5),
  ];
}
