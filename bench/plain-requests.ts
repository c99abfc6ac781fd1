// The scenario of hello and json: GET requests at 64, 8 and 1 connections, with their common targets.
import { both, cpu, measureTables, p50, p99, perRequest, wantsConnections, type Aim, type Table } from './requests.ts';
import type { Scenario } from './servers.ts';

/** What uWebSockets.js at 64 connections may cost of Deno, which is one tenant without an isolate. */
const OF_DENO: Readonly<Record<string, number>> = { hello: 1.8, json: 1.6 };

/** Aims by connections, for CPU those of each listener. */
function aimsOf(scenario: Scenario): Readonly<Record<number, readonly Aim[]>> {
  const perListener = (figures: readonly [node: number, uws: number]): Aim[] =>
    both(cpu, 'workerd').map((aim, at) => ({ ...aim, atMost: figures[at]! }));
  const bare = [...both(cpu, 'bare'), ...both(p99, 'bare', { atMost: 3 })];
  const deno: Aim = { figure: cpu, ours: 'ours, uWebSockets.js', than: 'Deno', atMost: OF_DENO[scenario]! };
  return {
    64: [...perListener([0.42, 0.3]), deno, ...bare],
    8: [...perListener([0.3, 0.3]), ...bare],
    1: [...perListener([0.5, 0.4]), ...both(p50, 'workerd', { atMost: 0.5 }), ...bare],
  };
}

/** Runs it and prints the tables. @param target path and query of every request. */
export function measurePlain(scenario: Scenario, target: string): Promise<void> {
  const aims = aimsOf(scenario);
  const tables = [64, 8, 1].filter(wantsConnections).map((connections): Table => {
    const title = `${connections} connection${connections === 1 ? '' : 's'}`;
    return { title, columns: perRequest, aims: aims[connections]!, load: { connections } };
  });
  return measureTables(scenario, target, tables);
}
