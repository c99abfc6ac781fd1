// `npm run bench postgres-drivers`: the CPU that a statement costs this process through `pg`, which engines use, and
// through `postgres`, which the control plane uses, alternately on one server, with one and with 16 statements at once.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openPostgres } from '../postgres/connection.ts';
import { startEmbeddedPostgres } from '../postgres/embedded.ts';
import { openSql } from '../postgres/sql.ts';
import { rounds } from './load.ts';
import { formatTable, median } from './statistics.ts';

const COUNT = 4000;
const folder = mkdtempSync(path.join(tmpdir(), 'platform-bench-'));
const server = await startEmbeddedPostgres({ folder, durable: false });
const pg = openPostgres({ url: server.url, name: 'bench pg', connectionsMax: 8 });
const sql = openSql({ url: server.url, name: 'bench postgres', connectionsMax: 8 });
await sql`CREATE TABLE item (id bigint PRIMARY KEY, text text NOT NULL, at timestamptz NOT NULL DEFAULT now())`;
await sql`INSERT INTO item (id, text) SELECT n, 'a text of some length' FROM generate_series(1, 1000) n`;

let next = 10_000;
const ways: Readonly<Record<string, Readonly<Record<string, (index: number) => Promise<unknown>>>>> = {
  select: {
    pg: (index) => pg.all('SELECT id, text, at FROM item WHERE id = $1', (index % 1000) + 1),
    postgres: (index) => sql`SELECT id, text, at FROM item WHERE id = ${(index % 1000) + 1}`,
  },
  insert: {
    pg: () => pg.all('INSERT INTO item (id, text) VALUES ($1, $2)', next++, 'another text'),
    postgres: () => sql`INSERT INTO item (id, text) VALUES (${next++}, ${'another text'})`,
  },
};

async function measure(work: (index: number) => Promise<unknown>, atOnce: number): Promise<number> {
  const before = process.cpuUsage();
  const lane = async (first: number): Promise<void> => {
    for (let index = first; index < COUNT; index += atOnce) await work(index);
  };
  await Promise.all(Array.from({ length: atOnce }, (_, first) => lane(first)));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / COUNT;
}

const rows: string[][] = [];
for (const [what, drivers] of Object.entries(ways)) {
  for (const atOnce of [1, 16]) {
    const readings: Record<string, number[]> = { pg: [], postgres: [] };
    for (let round = 0; round <= rounds; round++)
      for (const [driver, work] of Object.entries(drivers)) {
        const us = await measure(work, atOnce);
        if (round > 0) readings[driver]!.push(us);
      }
    const [ours, theirs] = [median(readings['pg']!), median(readings['postgres']!)];
    rows.push([`${what}, ${atOnce} at once`, ours.toFixed(0), theirs.toFixed(0), (theirs / ours).toFixed(2)]);
  }
}
await pg.close();
await sql.end();
await server.stop();
rmSync(folder, { recursive: true, force: true });
process.stdout.write(`${formatTable(['statement', 'pg, CPU us', 'postgres, CPU us', 'ratio'], rows)}\n`);
