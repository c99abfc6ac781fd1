// The scenario that hello and json share: GET requests at 64, 8 and 1 connections, and the aims they have in common.
import { both, cpu, measureTables, p99, perRequest, wantsConnections, type Aim, type Table } from './requests.ts';
import type { Scenario } from './servers.ts';

/** Aims by connections: at 64 each listener has one of its own. */
const aims: Readonly<Record<number, readonly Aim[]>> = {
  64: [
    { figure: cpu, ours: 'ours, node:http', than: 'workerd', atMost: 0.42 },
    { figure: cpu, ours: 'ours, uWebSockets.js', than: 'workerd', atMost: 0.3 },
    { figure: cpu, ours: 'ours, uWebSockets.js', than: 'Deno', atMost: 1.35 },
    ...both(cpu, 'bare'),
    ...both(p99, 'bare', { atMost: 3 }),
  ],
  8: [...both(cpu, 'workerd', { atMost: 0.5 }), ...both(cpu, 'bare'), ...both(p99, 'bare', { atMost: 3 })],
  1: [...both(cpu, 'workerd', { atMost: 0.7 }), ...both(cpu, 'bare')],
};

/** Runs it and prints the tables. @param target path and query of every request. */
export function measurePlain(scenario: Scenario, target: string): Promise<void> {
  const tables = [64, 8, 1].filter(wantsConnections).map((connections): Table => {
    const title = `${connections} connection${connections === 1 ? '' : 's'}`;
    return { title, columns: perRequest, aims: aims[connections]!, load: { connections } };
  });
  return measureTables(scenario, target, tables);
}
