// `npm run bench replica`: the cost of replication: CPU of the shards and of the replicator for each write, bytes in
// the bucket, and memory and descriptors with many idle databases. The bucket is an S3 server from npm on this machine.
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { startDatabases, query, type TestDatabases } from '../test/setup/databases.ts';
import { createTestDatabase } from '../test/setup/postgres.ts';
import { startTestPostgres } from '../test/setup/postgres-server.ts';
import { replicated, startReplicated } from '../test/setup/replicas.ts';
import { startS3Server } from '../test/setup/s3-server.ts';
import { formatTable } from './statistics.ts';

const WRITES = 20_000;
const AT_ONCE = 16;
const IDLE_DATABASES = 1000;

/** CPU ms of processes so far. */
function cpuMs(pids: readonly number[]): number {
  let ticks = 0;
  for (const pid of pids) {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks * 10;
}

async function write({ client, service }: TestDatabases, count: number): Promise<{ shardsMs: number; wallMs: number }> {
  await query(client, 'CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, n)');
  const before = cpuMs(service.pids());
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let i = 0; i < count / AT_ONCE; i++)
        await query(client, 'INSERT INTO t (a, n) VALUES (?, ?)', [randomBytes(60).toString('hex'), i]);
    }),
  );
  return { shardsMs: cpuMs(service.pids()) - before, wallMs: performance.now() - startedAt };
}

const s3 = await startS3Server();
const server = await startTestPostgres();
const postgres = await createTestDatabase();
const plain = await startDatabases();
const without = await write(plain, WRITES);
await plain.close();

const busy = await startReplicated(s3, postgres.url, 'busy', { intervalMs: 500 });
const [replicator] = busy.service.replicatorPids() as [number];
const before = cpuMs([replicator]);
const with_ = await write(busy, WRITES);
await replicated(busy);
// Figures come once a second.
await new Promise((resolve) => setTimeout(resolve, 2000));
const replicatorMs = cpuMs([replicator]) - before;
const bytes = busy.service.replica()?.bytes ?? 0;
await busy.close();

const many = await startReplicated(s3, postgres.url, 'many', { intervalMs: 500 });
for (let index = 0; index < IDLE_DATABASES; index++)
  await query(many.client, 'CREATE TABLE t (a)', [], { namespace: 'shop', resource: `d${index}` });
await replicated(many, { namespace: 'shop', resource: `d${IDLE_DATABASES - 1}` });
const [idle] = many.service.replicatorPids() as [number];
// Files that rest are closed after ten seconds, and looked at once more by the next sweep.
await new Promise((resolve) => setTimeout(resolve, 90_000));
const idleBefore = cpuMs([idle]);
await new Promise((resolve) => setTimeout(resolve, 20_000));
const idleMs = cpuMs([idle]) - idleBefore;
const resident = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${idle}/status`, 'utf8'))?.[1];
const descriptors = readdirSync(`/proc/${idle}/fd`).length;
await many.close();

const us = (ms: number): string => ((ms * 1000) / WRITES).toFixed(1);
process.stdout.write(
  `${formatTable(
    ['', 'without', 'replicated'],
    [
      ['writes a second', ((WRITES / without.wallMs) * 1000).toFixed(0), ((WRITES / with_.wallMs) * 1000).toFixed(0)],
      ['CPU us of the shard for a write', us(without.shardsMs), us(with_.shardsMs)],
      ['CPU us of the replicator for a write', '', us(replicatorMs)],
      ['bytes in the bucket for a write', '', (bytes / WRITES).toFixed(0)],
      [`replicator with ${IDLE_DATABASES} idle databases: MB resident`, '', (Number(resident) / 1024).toFixed(0)],
      ['  descriptors', '', String(descriptors)],
      ['  CPU ms a second', '', (idleMs / 20).toFixed(1)],
    ],
  )}\n`,
);
await s3.close();
await postgres.close();
await server.stop();
