// The migrator of a whole platform is killed while it migrates, once a round and a little later each time: every
// deployment ends as it should, each migration is in the database once and in the audit once. `npm test -- durability`
// asks for twenty rounds (DURABILITY_ROUNDS).
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { eventually, startWholePlatform, type Json } from '#test/setup/whole-platform.ts';

const rounds = Number(process.env['DURABILITY_ROUNDS'] ?? 3);
const PER_ROUND = 8;
/** When the kill comes: so many migrations of the round have been begun. */
const MOMENTS = [1, 4, 8, 2, 7, 3];

const worker = `export default {
  async fetch(request, env) {
    const { results } = await env.DB.prepare('SELECT file, count(*) AS n FROM applied GROUP BY file').all();
    return Response.json(results);
  },
};
`;

/** Takes a moment, so that there is something to interrupt, and would show if it ran twice. */
const migration = (file: string): string => `
CREATE TABLE IF NOT EXISTS applied (file TEXT);
WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < 200000)
INSERT INTO applied SELECT '${file}' FROM counted WHERE n = 200000;
`;

test(
  `each migration is applied once and audited once after ${rounds} rounds of kill -9 of the migrator`,
  { timeout: 120_000 + rounds * 60_000 },
  async (t) => {
    const platform = await startWholePlatform({
      HANDLER_PROCESSES: '1',
      DB_MIGRATIONS_EXECUTOR: 'migrator',
      MIGRATOR_LEASE_MS: '1500',
    });
    t.after(() => platform.close());
    const source = path.join(platform.folder, 'source');
    mkdirSync(path.join(source, 'src'), { recursive: true });
    mkdirSync(path.join(source, 'migrations'));
    writeFileSync(path.join(source, 'platform.yaml'), 'name: shop\nkind: worker\ndb: { DB: main }\n');
    writeFileSync(path.join(source, 'src/index.ts'), worker);
    const files: string[] = [];
    for (let round = 0; round < rounds; round++) {
      for (let at = 0; at < PER_ROUND; at++) {
        const file = `${String(files.length + 1).padStart(4, '0')}.sql`;
        files.push(file);
        writeFileSync(path.join(source, 'migrations', file), migration(file));
      }
      const before = files.at(-1 - PER_ROUND) ?? '';
      const deploying = platform.cli(source, 'deploy', '--prod', '--json');
      deploying.catch(() => {});
      const pid = await eventually('Migrations that are under way', async () => {
        const { items } = await migrations();
        const begun = items.filter(({ file }: Json) => file > before).length;
        return begun < MOMENTS[round % MOMENTS.length]! ? null : migratorOf(await platform.status());
      });
      process.kill(pid, 'SIGKILL');
      await deploying;
      await eventually('What is live', async () => (await applied()).length === files.length);
    }
    assert.deepEqual(
      await applied(),
      files.map((file) => ({ file, n: 1 })),
    );
    const audited: Json[] = [];
    for (let cursor = ''; ;) {
      const page = await migrations(cursor);
      audited.push(...page.items);
      if (page.nextCursor === null) break;
      cursor = `&cursor=${page.nextCursor}`;
    }
    assert.deepEqual(
      audited.map(({ file, result }) => `${file} ${result}`).toSorted(),
      files.map((file) => `${file} applied`),
    );
    const interrupted = audited.filter(({ attempt }) => attempt > 1).length;
    t.diagnostic(`${rounds} kills, ${files.length} migrations, ${interrupted} of them by an attempt after the first`);

    async function migrations(cursor = ''): Promise<Json> {
      const [{ projectId }] = (await platform.call('GET', '/deployments?limit=1')).items;
      return platform.call('GET', `/projects/${projectId}/migrations?limit=100${cursor}`);
    }

    async function applied(): Promise<Json[]> {
      const { text } = await platform.open('shop');
      return (JSON.parse(text) as Json[]).toSorted((one, other) => (one.file < other.file ? -1 : 1));
    }
  },
);

function migratorOf({ services }: Json): number | null {
  return services.find(({ name }: Json) => name === 'migrator')?.pid ?? null;
}
