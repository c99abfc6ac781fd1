// What builds leave behind goes when there is too much of it: caches that were used least recently, logs of the oldest
// deployments that have ended.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { removeCaches, removeCachesOfDeleted, removeLogs } from '#builder/service/retention.ts';
import { openBuilds } from '#test/setup/builds.ts';
import { shellSteps } from '#test/setup/shell-steps.ts';

test('caches go that were used least recently, of a project first, then of all', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-caches-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const entry = (project: string, name: string, usedAt: number): string => {
    const at = path.join(folder, project, name);
    mkdirSync(at, { recursive: true });
    writeFileSync(path.join(at, 'packages'), Buffer.alloc(1_000_000, 1));
    utimesSync(at, usedAt, usedAt);
    return at;
  };
  const [a1, a2, a3] = [entry('a.production', '1', 100), entry('a.production', '2', 300), entry('a.preview', '3', 200)];
  const [b1, b2] = [entry('b', '1', 50), entry('b', '2', 400)];
  const left = (): string[] =>
    [a1, a2, a3, b1, b2].filter((at) => existsSync(at)).map((at) => path.relative(folder, at));
  assert.equal(await removeCaches(folder, { cacheBytesMax: 4_000_000, cachesBytesMax: 10_000_000 }), 0);
  await removeCaches(folder, { cacheBytesMax: 2_500_000, cachesBytesMax: 10_000_000 });
  assert.deepEqual(left(), ['a.production/2', 'a.preview/3', 'b/1', 'b/2']);
  await removeCaches(folder, { cacheBytesMax: 2_500_000, cachesBytesMax: 2_500_000 });
  assert.deepEqual(left(), ['a.production/2', 'b/2']);
});

test('logs go of the oldest deployments that have ended, and of no other', async (t) => {
  const builds = await openBuilds(shellSteps);
  t.after(() => builds.close());
  const project = await builds.project('logs');
  const ids: string[] = [];
  for (const [index, status] of ['building', 'success', 'failure', 'success'].entries()) {
    const id = await project.deploy(`branch-${index}`, null);
    ids.push(id);
    await builds.sql`UPDATE control.deployment SET status = ${status} WHERE id = ${id}`;
    await builds.sql`
      INSERT INTO control.build_log (deployment_id, seq, at, step, text)
      SELECT ${id}, n, now() - ${10 - index} * interval '1 day', 'build', repeat(md5(n::text), 10)
      FROM generate_series(1, 1000) AS n`;
  }
  const left = async (): Promise<string[]> => {
    const rows = await builds.sql<{ id: string }[]>`SELECT DISTINCT deployment_id AS id FROM control.build_log`;
    return ids.filter((id) => rows.some((row) => row.id === id));
  };
  const ofOne = 1000 * (320 + 80);
  assert.equal(await removeLogs(builds.sql, 100_000_000), 0);
  assert.equal(await removeLogs(builds.sql, 0.5 * ofOne), 3);
  assert.deepEqual(await left(), [ids[0]]);
});

test('the caches of a deleted project go, and those of no other', async (t) => {
  const builds = await openBuilds(shellSteps);
  t.after(() => builds.close());
  const [gone, there] = [await builds.project('gone'), await builds.project('there')];
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-caches-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const names = [`${gone.id}.production`, `${gone.id}.preview`, `${there.id}.production`, 'unknown.preview'];
  for (const name of names) mkdirSync(path.join(folder, name, 'npm'), { recursive: true });
  await builds.sql`UPDATE control.project SET deleted_at = now() WHERE id = ${gone.id}`;
  await removeCachesOfDeleted(builds.sql, folder);
  assert.deepEqual(readdirSync(folder).toSorted(), names.slice(2).toSorted());
});
