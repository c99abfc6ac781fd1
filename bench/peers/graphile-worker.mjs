// graphile-worker, a queue that lies in Postgres and wakes its workers by NOTIFY, behind the routes that
// bindings.bench.ts asks: `node graphile-worker.mjs <folder> <port>`. No isolates: its tasks run in this process.
import { createServer } from 'node:http';
import { run } from 'graphile-worker';
import { startEmbeddedPostgres } from '../../postgres/embedded.ts';

const AN_HOUR_MS = 3_600_000;
const [, , folder, port] = process.argv;
const postgres = await startEmbeddedPostgres({ folder });
let delivered = 0;
const runner = await run({
  connectionString: postgres.url,
  concurrency: 10,
  noHandleSignals: true,
  taskList: { jobs: () => void delivered++, later: () => {} },
});
const operations = {
  'queue send': (n) => runner.addJob('later', { n }, { runAt: new Date(Date.now() + AN_HOUR_MS) }),
  'queue send and delivery': (n) => runner.addJob('jobs', { n }),
};
const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  if (pathname === '/delivered') return void response.end(String(delivered));
  const operation = operations[searchParams.get('op') ?? ''];
  for (let n = Number(searchParams.get('n')); operation !== undefined && n > 0; n--) await operation(n);
  response.end('done');
});
server.listen(Number(port), '127.0.0.1');
process.on('SIGTERM', async () => {
  await runner.stop();
  await postgres.stop();
  process.exit(0);
});
