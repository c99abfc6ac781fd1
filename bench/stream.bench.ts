// `npm run bench stream`: megabytes per second of CPU time of a 10 MB download, which the worker creates in chunks of
// 64 KB.
import { get, type Server } from './servers.ts';
import { both, latencies, measureTables, type Column } from './requests.ts';

const BYTES = 10 * 1024 * 1024;
const throughput: Column = ['MB/CPU s', ({ mbPerCpuSecond }) => mbPerCpuSecond];
const table = {
  title: '10 MB, 8 connections',
  columns: [throughput, ['downloads/s', ({ perSecond }) => perSecond] satisfies Column, ...latencies],
  aims: [...both(throughput, 'workerd', { atLeast: 1 }), ...both(throughput, 'bare')],
  load: { connections: 8 },
};

/** @throws {Error} when a server gives another body: the rows would not compare. */
async function check(server: Server): Promise<void> {
  const { byteLength } = (await get(server.url, server.host)).body;
  if (byteLength !== BYTES) throw new Error(`it answers ${byteLength} bytes instead of ${BYTES}`);
}

await measureTables('stream', '/', [table], { check });
