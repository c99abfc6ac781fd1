// `npm run bench websocket`: CPU time of a WebSocket server per echoed message of 64 bytes, with one message at a time
// on each connection.
import { both, cpu, latencies, measureTables, wantsConnections, type Column, type Table } from './requests.ts';
import { loadSockets, openSocket } from './websocket-load.ts';

const columns: Column[] = [cpu, ['messages/s', ({ perSecond }) => perSecond], ...latencies];
const tables = [64, 8].filter(wantsConnections).map((connections): Table => ({
  title: `${connections} connections`,
  columns,
  aims: [...both(cpu, 'workerd', { atMost: 0.7 }), ...both(cpu, 'bare')],
  load: { connections },
}));

await measureTables('websocket', '/', tables, {
  check: async (server) => void (await openSocket(server)).destroy(),
  measure: (server, { connections }) => loadSockets(server, connections),
});
