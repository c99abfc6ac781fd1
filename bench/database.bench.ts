// `npm run bench database`: the cost of an operation on a database in a worker, with one and with eight requests at
// once: latency, and CPU of the engine and of the database service's processes together.
import { readFileSync } from 'node:fs';
import { noStores } from '../test/setup/no-stores.ts';
import { startDatabases } from '../test/setup/databases.ts';
import { startHandler } from '../test/setup/handler.ts';
import { rounds } from './load.ts';
import { formatTable, median } from './statistics.ts';

/** CPU us an operation of miniflare's D1 took on two cores like these: what the aim, a fifth, is of. */
const peer: Readonly<Record<string, number>> = { select: 448, insert: 477, batch: 755 };

const worker = `
const ops = {
  select: (db, i) => db.prepare('SELECT * FROM t WHERE id = ?').bind((i % 1000) + 1).first(),
  insert: (db, i) => db.prepare('INSERT INTO t (a, n) VALUES (?, ?)').bind('hello', i).run(),
  batch: (db, i) => db.batch(Array.from({ length: 10 }, () => db.prepare('INSERT INTO t (a, n) VALUES (?, ?)').bind('hello', i))),
};
export default {
  async fetch(request, { DB }) {
    const { searchParams } = new URL(request.url);
    const op = ops[searchParams.get('op')];
    for (let i = Number(searchParams.get('n')); i > 0; i--) await op(DB, i);
    return new Response('done');
  },
};`;

process.stdout.write(
  `The engine with 1 isolate, the database service with 2 shards, WAL, synchronous=NORMAL; medians of ${rounds} rounds\n\n`,
);
const databases = await startDatabases({}, { shards: 2 });
const handler = await startHandler(
  { shop: { files: worker, yaml: 'db:\n  DB: main\n', plan: 'enterprise' } },
  { subrequestsMax: 1_000_000 },
  { stores: { ...noStores, database: databases.client } },
);
const place = { namespace: 'shop', resource: 'main' };
await databases.client.migrate(place, [['1.sql', 'CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, n)']]);

/** CPU us of the shards so far; the parent lives in this process. */
function shardsUs(): number {
  let ticks = 0;
  for (const pid of databases.service.pids()) {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks * 10_000;
}

async function measure(op: string, count: number, requests: number): Promise<{ cpuUs: number; wallUs: number }> {
  const before = shardsUs();
  const own = process.cpuUsage();
  const startedAt = performance.now();
  const answers = Array.from({ length: requests }, () => handler.fetch('shop', `/?op=${op}&n=${count / requests}`));
  for (const { text } of await Promise.all(answers)) if (text !== 'done') throw new Error(text);
  const { user, system } = process.cpuUsage(own);
  const wallUs = ((performance.now() - startedAt) * 1000 * requests) / count;
  return { cpuUs: (user + system + shardsUs() - before) / count, wallUs };
}

const rows: string[][] = [];
await measure('insert', 2000, 1);
for (const op of ['select', 'insert', 'batch']) {
  for (const requests of [1, 8]) {
    const readings = [];
    for (let round = 0; round <= rounds; round++)
      readings.push(await measure(op, op === 'batch' ? 800 : 4000, requests));
    const cpuUs = median(readings.slice(1).map((reading) => reading.cpuUs));
    const share = cpuUs / (peer[op] as number);
    const wallUs = median(readings.slice(1).map((reading) => reading.wallUs));
    rows.push([
      `${op === 'batch' ? 'batch of ten' : op}, ${requests} at once`,
      cpuUs.toFixed(0),
      wallUs.toFixed(0),
      share.toFixed(2),
      share <= 0.2 ? '' : 'missed',
    ]);
  }
}
process.stdout.write(`${formatTable(['operation', 'CPU us', 'latency us', 'of D1 in miniflare', 'aim 0.20'], rows)}\n`);
await handler.close();
await databases.close();
