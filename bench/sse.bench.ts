// `npm run bench sse`: server-sent events per second of CPU time, with 1,000 events per response. Each event is a chunk
// that is created when the previous one has been taken.
import { get, type Server } from './servers.ts';
import { both, latencies, measureTables, type Column } from './requests.ts';

const EVENTS = 1000;
const perCpu: Column = ['k events/CPU s', ({ cpuUs }) => (EVENTS * 1e3) / cpuUs];
const table = {
  title: '1,000 events, 8 connections',
  columns: [perCpu, ['k events/s', ({ perSecond }) => (perSecond * EVENTS) / 1e3] satisfies Column, ...latencies],
  aims: [
    ...['ours, node:http', 'ours, uWebSockets.js'].map((ours) => ({ figure: perCpu, ours, atLeast: 500 })),
    ...both(perCpu, 'workerd'),
    ...both(perCpu, 'bare'),
  ],
  load: { connections: 8 },
};

/** @throws {Error} when a server sends other events: the rows would not compare. */
async function check(server: Server): Promise<void> {
  const text = (await get(server.url, server.host)).body.toString();
  const count = text.split('\n\n').length - 1;
  if (count !== EVENTS || !text.startsWith('data: {"number":0,'))
    throw new Error(`it sends ${count} events: ${text.slice(0, 60)}`);
}

await measureTables('sse', '/', [table], { check });
