// A build outlives a restart of Postgres: it goes on, and no line of its log that was acknowledged is lost or doubled.
// Where connections alone are cut: test/integration/builder/builds.test.ts.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { openPostgres } from '#postgres/connection.ts';
import { startEmbeddedPostgres } from '#postgres/embedded.ts';
import { migrate } from '#postgres/migrate.ts';
import { openBuilds } from '#test/setup/builds.ts';
import { shellSteps } from '#test/setup/shell-steps.ts';
import { until } from '#test/setup/until.ts';

test('a build goes on while Postgres is killed twice, with each line of its log once', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-pg-'));
  const postgres = await startEmbeddedPostgres({ folder });
  t.after(async () => {
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const owner = openPostgres({ url: postgres.url, name: 'test', connectionsMax: 1 });
  await migrate(owner);
  await owner.close();
  const builds = await openBuilds(shellSteps, postgres.url);
  t.after(() => builds.close());
  await builds.start();
  const gate = path.join(builds.folder, 'gate');
  writeFileSync(gate, '');
  const { push } = await builds.project('steady');
  const { id } = await push({
    'build.sh': `n=0; while [ -e ${gate} ]; do n=$((n+1)); echo "line $n"; sleep 0.01; done; echo "last $n"; mkdir out; echo x > out/index.html\n`,
  });
  await builds.logged(id, 'line 5');
  let acknowledged = 0;
  for (let round = 0; round < 2; round++) {
    const before = await builds.log(id);
    acknowledged = before.length;
    const { pid } = postgres;
    process.kill(pid, 'SIGKILL');
    await until(() => postgres.pid !== pid);
    // The first statements fail: then it is back.
    await until(async () => (await builds.log(id).catch(() => [])).length > acknowledged);
  }
  rmSync(gate);
  // A connection may learn only now that its server is gone.
  const { reason, artifact } = await until(() => builds.ended(id).catch(() => null));
  assert.deepEqual([reason, artifact === null], [null, false]);
  const lines = await builds.log(id);
  assert.deepEqual(
    lines.map(({ seq }) => seq),
    lines.map((_, index) => index + 1),
  );
  const texts = lines.filter(({ step }) => step === 'build').map(({ text }) => text);
  const count = Number(/^last (\d+)$/.exec(texts.at(-1)!)![1]);
  assert.deepEqual(texts, [...Array.from({ length: count }, (_, n) => `line ${n + 1}`), `last ${count}`]);
  const [job] = await builds.sql`SELECT attempt FROM control.job WHERE deployment_id = ${id} AND kind = 'release'`;
  assert.deepEqual(job, { attempt: 0 });
});
