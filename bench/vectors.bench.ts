// `npm run bench vectors`: the cost of a vector search in the database service, compared with plain SQL over blobs:
// latency and CPU of a query, and memory of the process. BENCH_VECTORS and BENCH_DIMENSIONS reduce the size.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toWire } from '../core/database-request.ts';
import { ops } from '../runtime/databases/protocol/frames.ts';
import { startDatabases } from '../test/setup/databases.ts';
import { cpuMs, residentBytes } from './load.ts';
import { formatTable, median } from './statistics.ts';

const vectors = Number(process.env['BENCH_VECTORS'] ?? 100_000);
const dimensions = Number(process.env['BENCH_DIMENSIONS'] ?? 768);
const QUERIES = 21;
const ROWS_A_BATCH = 500;
const PARTITIONS = 10;
/** Chunks of the default 1,024 are longer than the cache of a database: each insert reads all before its place. */
const CHUNK = 128;

const directory = await mkdtemp(join(tmpdir(), 'platform-bench-'));
let databases = await startDatabases({}, { directory });
const place = (resource: string) => ({ namespace: 'shop', resource });

function vector(): Uint8Array {
  const numbers = Float32Array.from({ length: dimensions }, () => Math.random() - 0.5);
  const length = Math.hypot(...numbers);
  return new Uint8Array(numbers.map((number) => number / length).buffer);
}

async function ask(resource: string, op: number, args: unknown): Promise<{ r: unknown[][] }> {
  const answer = JSON.parse((await databases.client.run(place(resource), op, 0, JSON.stringify(args))) as string) as {
    e?: unknown;
    r: unknown[][];
  };
  if (answer.e !== undefined) throw new Error(JSON.stringify(answer.e));
  return answer;
}

/** Each way to store vectors, in a database of its own, and to find the ten nearest. */
const ways = [
  {
    name: 'vec0, float',
    make: `CREATE VIRTUAL TABLE t USING vec0(e float[${dimensions}], chunk_size=${CHUNK})`,
    insert: 'INSERT INTO t (rowid, e) VALUES (?, ?)',
    find: 'SELECT rowid, distance FROM t WHERE e MATCH ? AND k = 10',
  },
  {
    name: `vec0, float, one of ${PARTITIONS} partitions`,
    make: `CREATE VIRTUAL TABLE t USING vec0(part INTEGER PARTITION KEY, e float[${dimensions}], chunk_size=${CHUNK})`,
    insert: `INSERT INTO t (rowid, part, e) SELECT n, n % ${PARTITIONS}, ? FROM (SELECT CAST(? AS INTEGER) AS n)`,
    find: 'SELECT rowid, distance FROM t WHERE e MATCH ? AND k = 10 AND part = 3',
    isSwapped: true,
  },
  {
    name: 'vec0, int8',
    make: `CREATE VIRTUAL TABLE t USING vec0(e int8[${dimensions}])`,
    insert: "INSERT INTO t (rowid, e) VALUES (?, vec_quantize_int8(?, 'unit'))",
    find: "SELECT rowid, distance FROM t WHERE e MATCH vec_quantize_int8(?, 'unit') AND k = 10",
  },
  {
    name: 'vec0, bit',
    make: `CREATE VIRTUAL TABLE t USING vec0(e bit[${dimensions}])`,
    insert: 'INSERT INTO t (rowid, e) VALUES (?, vec_quantize_binary(?))',
    find: 'SELECT rowid, distance FROM t WHERE e MATCH vec_quantize_binary(?) AND k = 10',
  },
  {
    name: 'plain SQL over blobs',
    make: 'CREATE TABLE t (id INTEGER PRIMARY KEY, e BLOB)',
    insert: 'INSERT INTO t (id, e) VALUES (?, ?)',
    find: 'SELECT id, vec_distance_L2(e, ?) AS distance FROM t ORDER BY distance LIMIT 10',
  },
];

/** A process that has run nothing yet. */
async function startAgain(): Promise<void> {
  databases.client.close();
  await databases.service.close();
  databases = await startDatabases({}, { directory });
}

/** Of the process that runs SQL: CPU ms so far, and MB that it holds. */
function shard(): { cpuMs: number; heldMb: number } {
  const pids = databases.service.pids();
  return {
    cpuMs: pids.reduce((sum, pid) => sum + cpuMs(pid), 0),
    heldMb: pids.reduce((sum, pid) => sum + residentBytes(pid), 0) / 1_048_576,
  };
}

process.stdout.write(`${vectors} vectors of ${dimensions} numbers; the database service with 1 shard\n\n`);
const rows: string[][] = [];
for (const [index, { name, make, insert, find, isSwapped = false }] of ways.entries()) {
  const resource = `way${index}`;
  await ask(resource, ops.query, [make, []]);
  const fillAt = performance.now();
  for (let at = 0; at < vectors; at += ROWS_A_BATCH) {
    const batch = Array.from({ length: Math.min(ROWS_A_BATCH, vectors - at) }, (_, place) => {
      const values = [{ i: String(at + place + 1) }, toWire(vector())];
      return [insert, isSwapped ? values.toReversed() : values];
    });
    await ask(resource, ops.batch, batch);
  }
  const fillUs = ((performance.now() - fillAt) * 1000) / vectors;
  await startAgain();
  const [[pages]] = (await ask(resource, ops.query, ['PRAGMA page_count', []])).r as [[number]];
  const before = shard();
  const took: number[] = [];
  for (let query = 0; query < QUERIES; query++) {
    const value = toWire(vector());
    const startedAt = performance.now();
    const { r } = await ask(resource, ops.query, [find, [value]]);
    took.push(performance.now() - startedAt);
    if (r.length !== Math.min(10, vectors)) throw new Error(`${name} found ${r.length}`);
  }
  const after = shard();
  rows.push([
    name,
    median(took).toFixed(1),
    Math.max(...took).toFixed(1),
    ((after.cpuMs - before.cpuMs) / QUERIES).toFixed(1),
    before.heldMb.toFixed(0),
    after.heldMb.toFixed(0),
    ((pages * 4096) / 1_048_576).toFixed(0),
    fillUs.toFixed(0),
  ]);
}
const head = ['ten nearest of', 'p50 ms', 'max ms', 'CPU ms', 'MB before', 'MB after', 'file MB', 'insert us'];
process.stdout.write(`${formatTable(head, rows)}\n`);
databases.client.close();
await databases.service.close();
await rm(directory, { recursive: true, force: true });
