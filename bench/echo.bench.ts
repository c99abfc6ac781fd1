// `npm run bench echo`: a POST that returns its body, 1 KB and 1 MB, read completely by the worker or forwarded as a
// stream.
import {
  both,
  cpu,
  latencies,
  measureTables,
  perRequest,
  wantsConnections,
  type Column,
  type Table,
} from './requests.ts';

const mb = 1024 * 1024;
const throughput: Column = ['MB/CPU s', ({ mbPerCpuSecond }) => mbPerCpuSecond];

const small = (connections: number, path: string, how: string): Table => ({
  title: `1 KB, ${how}, ${connections} connections`,
  columns: perRequest,
  aims: [...both(cpu, 'workerd', { atMost: 0.5 }), ...both(cpu, 'bare')],
  load: { connections, path, postBytes: 1024 },
});
const large = (path: string, how: string): Table => ({
  title: `1 MB, ${how}, 8 connections`,
  columns: [cpu, throughput, ...latencies],
  aims: [...both(cpu, 'workerd', { atMost: 1 }), ...both(cpu, 'bare')],
  load: { connections: 8, path, postBytes: mb },
});

const tables = [
  small(64, '/whole', 'whole'),
  small(8, '/whole', 'whole'),
  small(64, '/stream', 'stream'),
  large('/whole', 'whole'),
];
await measureTables(
  'echo',
  '/whole',
  [...tables, large('/stream', 'stream')].filter(({ load }) => wantsConnections(load.connections)),
);
