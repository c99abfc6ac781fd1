// artifacts/store/cache.ts: which artifacts of a machine go when they are too large together.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { createArtifactCache } from '#artifacts/store/cache.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'platform-cache-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const HOUR_MS = 3_600_000;
const now = Date.parse('2026-11-30T12:00:00Z');
const idOf = (letter: string): string => letter.repeat(64);

function leave(letter: string, ageHours: number): void {
  const at = path.join(folder, 'artifacts', idOf(letter));
  mkdirSync(path.join(at, 'assets'), { recursive: true });
  writeFileSync(path.join(at, 'manifest.json'), 'x'.repeat(400));
  writeFileSync(path.join(at, 'assets/a'), 'x'.repeat(600));
  const time = new Date(now - ageHours * HOUR_MS);
  utimesSync(at, time, time);
}
const left = (): string =>
  readdirSync(path.join(folder, 'artifacts'))
    .map((id) => id[0])
    .toSorted()
    .join('');

test('above the limit the oldest go that no record names and that are not young; below it nothing does', async () => {
  for (const [letter, hours] of [
    ['a', 50],
    ['b', 40],
    ['c', 30],
    ['d', 20],
    ['e', 0.5],
  ] as const)
    leave(letter, hours);
  mkdirSync(path.join(folder, 'routes'));
  writeFileSync(
    path.join(folder, 'routes/shop.json'),
    JSON.stringify({ deployments: { d1: { artifact: idOf('a') } } }),
  );
  assert.deepEqual(await createArtifactCache(folder, 5000)(now), { bytes: 5000, removed: 0 });
  const trim = createArtifactCache(folder, 4000);
  assert.deepEqual(await trim(now), { bytes: 4000, removed: 1 });
  assert.equal(left(), 'acde');
  assert.deepEqual(await createArtifactCache(folder, 0)(now), { bytes: 2000, removed: 2 });
  assert.equal(left(), 'ae');
  assert.deepEqual(await trim(now), { bytes: 2000, removed: 0 });
});
