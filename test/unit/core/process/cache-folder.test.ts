// Builds that lie in the cache beside each other.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { keepBuild } from '#core/process/cache-folder.ts';

const DAY_S = 24 * 3600;

test('a build that somebody took this week stays beside any number of newer ones, others leave four', (t) => {
  const builds = mkdtempSync(join(tmpdir(), 'builds-'));
  t.after(() => rmSync(builds, { recursive: true }));
  const now = Date.now();
  const made = (name: string, daysAgo: number): void => {
    mkdirSync(join(builds, name));
    utimesSync(join(builds, name), now / 1000 - daysAgo * DAY_S, now / 1000 - daysAgo * DAY_S);
  };
  for (const name of ['a', 'b', 'c', 'd', 'served']) made(name, 1);
  for (const name of ['old', 'older']) made(name, 8);
  keepBuild(join(builds, 'a'), now);
  assert.deepEqual(readdirSync(builds).toSorted(), ['a', 'b', 'c', 'd', 'served']);

  // Taken once more, it is the newest: of the four others that nobody took since, one goes.
  keepBuild(join(builds, 'served'), now + 7 * DAY_S * 1000 - 1);
  const left = readdirSync(builds);
  assert.deepEqual([left.length, left.includes('served'), left.includes('a')], [4, true, true]);
});
