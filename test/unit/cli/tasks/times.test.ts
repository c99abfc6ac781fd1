// Times of runs, written by one process and read by another.
import assert from 'node:assert/strict';
import { linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { readTimes, recordTime } from '#cli/tasks/times.ts';

function checkout(t: TestContext): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'times-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test('a checkout in which nothing ran has no times', (t) => {
  assert.deepEqual(readTimes(checkout(t)), {});
});

test('the last run of each name is kept, with date, commit and machine', (t) => {
  const folder = checkout(t);
  recordTime('npm test', 200_000, folder);
  recordTime('.ci/run', 900_040, folder);
  recordTime('npm test', 143_180, folder);
  const times = readTimes(folder);
  assert.deepEqual(Object.keys(times), ['npm test', '.ci/run']);
  const { seconds, date, commit, machine } = times['npm test']!;
  assert.equal(seconds, 143.2);
  assert.match(date, /^\d{4}-\d{2}-\d{2} \d{2}:\d{2} UTC$/);
  assert.equal(commit, 'no commit');
  assert.match(machine, /^\d+ cores of .+, \d+ GB of memory, Linux .+, Node 24\./);
  assert.equal(times['.ci/run']!.seconds, 900);
});

test('a file shared by a hard link with another checkout is left as it is there', (t) => {
  const [folder, other] = [checkout(t), checkout(t)];
  const place = 'node_modules/.cache/times.json';
  for (const one of [folder, other]) mkdirSync(path.dirname(path.join(one, place)), { recursive: true });
  writeFileSync(path.join(other, place), '{}');
  linkSync(path.join(other, place), path.join(folder, place));
  recordTime('npm test', 1000, folder);
  assert.equal(readFileSync(path.join(other, place), 'utf8'), '{}');
});
