// `npm run bench sockets`: the cost of a Postgres select in a worker, over a pool of the engine and over a connection
// of its own, compared with the same driver in plain Node and in miniflare, which emulates Hyperdrive: latency, and CPU
// of all processes except Postgres.
import path from 'node:path';
import { startPostgresOnTcp } from '../test/setup/client-servers.ts';
import { openSql } from '../postgres/sql.ts';
import { loadInTurn, missingWrk, rounds, seconds } from './load.ts';
import { cpuLimitOff, publishFolder, startEngine, startServer, type Server } from './servers.ts';
import { formatTable } from './statistics.ts';

const missing = missingWrk();
if (missing !== null) throw new Error(missing);
const here = import.meta.dirname;
const postgres = await startPostgresOnTcp();
const { user, password, database, port: portOfPostgres } = postgres;
const url = `postgres://${user}:${encodeURIComponent(password)}@127.0.0.1:${portOfPostgres}/${database}?sslmode=disable`;
const sql = openSql({ url, name: 'bench', connectionsMax: 1 });
await sql`CREATE TABLE item (id bigint PRIMARY KEY, text text NOT NULL)`;
await sql`INSERT INTO item (id, text) SELECT n, 'a text of some length' FROM generate_series(1, 1000) n`;
await sql.end();

const vars = { DATABASE_URL: url };
const settings = { ...cpuLimitOff, WORKER_EGRESS_ALLOW: 'loopback', WORKER_SUBREQUESTS_MAX: '1000' };
const ours = async (name: string, yaml: string): Promise<Server> => {
  const folder = await publishFolder(path.join(here, 'workers'), `main: sockets.js\n${yaml}`, ['sockets'], vars);
  return startEngine(name, folder, 'node', 'sockets', '/', settings);
};
const peer = (name: string, file: string): Promise<Server> =>
  startServer(name, '127.0.0.1', '/', (port) => ({
    words: [process.execPath, path.join(here, 'peers', file), url, String(port)],
  }));
const starts: Readonly<Record<string, (name: string) => Promise<Server>>> = {
  'worker, pool': (name) => ours(name, 'hyperdrive: { PG: DATABASE_URL }\n'),
  'worker, connects': (name) => ours(name, ''),
  'plain Node, pg.Pool': (name) => peer(name, 'sockets-node.mjs'),
  'miniflare, Hyperdrive': (name) => peer(name, 'sockets-miniflare.mjs'),
};
const servers: Server[] = [];
try {
  for (const [name, start] of Object.entries(starts)) {
    try {
      servers.push(await start(name));
    } catch (error) {
      process.stdout.write(`${name} is left out: ${(error as Error).message}\n`);
    }
  }
  process.stdout.write(`Medians of ${rounds} rounds of ${seconds} s, in turn.\n`);
  for (const connections of [1, 16]) {
    const readings = await loadInTurn(servers, connections);
    const rows = [...readings].map(([name, { cpuUs, p50Ms, p99Ms, perSecond, bad }]) => [
      name,
      cpuUs.toFixed(0),
      p50Ms.toFixed(2),
      p99Ms.toFixed(1),
      perSecond.toFixed(0),
      String(bad),
    ]);
    process.stdout.write(
      `\n${connections} at a time\n\n${formatTable(['server', 'CPU us', 'p50 ms', 'p99 ms', 'a second', 'bad'], rows)}\n`,
    );
  }
} finally {
  await Promise.all(servers.map((server) => server.stop()));
  await postgres.close();
}
