// Shared by the scenarios of a single worker: tables of all servers under a load, and below each table the ratio of our
// cost to another server's, with the target if there is one. Called by hello, json, echo, stream, sse and websocket.
import { loadInTurn, missingWrk, plannedSeconds, rounds, seconds, type Load, type Reading } from './load.ts';
import { startAll } from './line-up.ts';
import type { Scenario, Server } from './servers.ts';
import { formatTable, digits } from './statistics.ts';

/** A column: its head and the figure. */
export type Column = readonly [head: string, figure: (reading: Reading) => number];

/** What a row is to be at most (or at least) of another row; without `than` of nothing, the figure by itself. */
export interface Aim {
  readonly figure: Column;
  readonly ours: string;
  readonly than?: string;
  /** None: the ratio is printed without judgement. */
  readonly atMost?: number;
  readonly atLeast?: number;
}

/** One table. */
export interface Table {
  readonly title: string;
  readonly columns: readonly Column[];
  readonly aims: readonly Aim[];
  readonly load: Load;
}

/** A way to measure one round of a server. */
type Measure = (server: Server, load: Load) => Promise<Reading>;

export const cpu: Column = ['CPU us', ({ cpuUs }) => cpuUs];
export const p99: Column = ['p99 ms', ({ p99Ms }) => p99Ms];
const joined: Column = ['entered together', (reading) => reading.joined];
const bad: Column = ['failed', (reading) => reading.bad];
export const p50: Column = ['p50 ms', ({ p50Ms }) => p50Ms];
export const latencies: readonly Column[] = [p50, p99, bad, joined];
export const perRequest: readonly Column[] = [cpu, ['requests/s', ({ perSecond }) => perSecond], ...latencies];

const listeners = ['node:http', 'uWebSockets.js'];

/** An aim for ours over both listeners. @param than `bare`: the same listener without us. */
export function both(figure: Column, than: string, bound: Pick<Aim, 'atMost' | 'atLeast'> = {}): Aim[] {
  return listeners.map((listener) => ({
    figure,
    ours: `ours, ${listener}`,
    than: than === 'bare' ? `bare ${listener}` : than,
    ...bound,
  }));
}

/** Whether the environment wants tables of so many connections. */
export function wantsConnections(connections: number): boolean {
  const wanted = process.env['BENCH_CONNECTIONS']?.split(',').map(Number);
  return wanted === undefined || wanted.includes(connections);
}

/**
 * Starts all servers, measures table by table and prints them.
 *
 * @param target path and query of the first request to each server.
 */
export async function measureTables(
  scenario: Scenario,
  target: string,
  tables: readonly Table[],
  options: { readonly check?: (server: Server) => Promise<void>; readonly measure?: Measure } = {},
): Promise<void> {
  const missing = options.measure === undefined ? missingWrk() : null;
  if (missing !== null) {
    process.stderr.write(`${missing}\n`);
    process.exitCode = 1;
    return;
  }
  const { servers, left, stop } = await startAll(scenario, target, options.check);
  try {
    const planned = plannedSeconds(servers.length, tables.length);
    process.stdout.write(`CPU time of all processes of a server; medians of ${rounds} rounds of ${seconds} s, in turn`);
    process.stdout.write(`; about ${planned} s\n${left.map((line) => `${line}\n`).join('')}`);
    for (const table of tables) {
      const { measure } = options;
      const readings = await loadInTurn(
        servers,
        measure === undefined ? table.load : (server) => measure(server, table.load),
      );
      const rows = [...readings].map(([name, reading]) => [
        name,
        ...table.columns.map(([, figure]) => figure(reading)),
      ]);
      const head = [table.title, ...table.columns.map(([name]) => name)];
      const aims = table.aims.map((aim) => aimLine(readings, aim)).filter((line) => line !== null);
      process.stdout.write(`\n${formatTable(head, rows)}\n${aims.map((line) => `  ${line}\n`).join('')}`);
    }
  } finally {
    await stop();
  }
}

/** One line that says how ours stands; null where a row is missing. */
export function aimLine(readings: ReadonlyMap<string, Reading>, aim: Aim): string | null {
  const [head, figure] = aim.figure;
  const [above, below] = [readings.get(aim.ours), aim.than === undefined ? null : readings.get(aim.than)];
  if (above === undefined || below === undefined) return null;
  const value = figure(above) / (below === null ? 1 : figure(below));
  // What could not be measured has not met its aim.
  const missed = !(value <= (aim.atMost ?? Infinity) && value >= (aim.atLeast ?? -Infinity));
  const bound = aim.atMost === undefined ? aim.atLeast : aim.atMost;
  const verdict =
    bound === undefined
      ? ''
      : ` (aim: at ${aim.atMost === undefined ? 'least' : 'most'} ${bound}${missed ? ', missed' : ''})`;
  return `${head}: ${aim.ours}${aim.than === undefined ? '' : ` / ${aim.than}`} = ${digits(value)}${verdict}`;
}
