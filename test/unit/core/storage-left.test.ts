// What is left to organizations, as one process reads it: subtracted until the next count, and no longer than it holds.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { StorageGuard, writeStorageLeft, type OrganizationLeft } from '#core/storage-left.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'platform-test-'));
after(() => rmSync(folder, { recursive: true }));

const UNTIL = '2026-01-01T01:00:00.000Z';
const acme: OrganizationLeft = { id: 'org_1', limit: 1000, left: 100, projects: ['shop', 'blog'] };
function publish(countedAt: string, ...organizations: OrganizationLeft[]): void {
  writeStorageLeft(folder, { version: 1, countedAt, until: UNTIL, organizations });
}
/** By a clock that looks at the file each time. */
function open(clock: () => number = () => Date.parse('2026-01-01T00:00:00Z')): StorageGuard {
  let now = 0;
  return new StorageGuard(folder, () => (now += 1000), clock);
}
const refused = { code: 'quota_exceeded', message: 'The storage of this organization would exceed 1000 bytes' };

test('projects of an organization, and their previews, take of one account; others have none', () => {
  publish('1', acme);
  const bounds = open();
  bounds.take('shop', 60);
  bounds.take('blog~~feature', 40);
  assert.throws(() => bounds.take('shop', 1), refused);
  assert.throws(() => bounds.check('blog'), refused);
  bounds.take('shop', -10);
  bounds.take('blog', 10);
  bounds.take('other', 1e12);
  assert.equal(bounds.left('other'), Infinity);
});

test('a new count forgets what was subtracted; the same count with another project does not', () => {
  publish('1', acme);
  const bounds = open();
  bounds.take('shop', 100);
  publish('1', { ...acme, projects: [...acme.projects, 'new'] });
  assert.throws(() => bounds.take('new', 1), refused);
  publish('2', { ...acme, left: 50 });
  bounds.take('shop', 50);
  assert.throws(() => bounds.take('shop', 1), refused);
  // A process that was started again reads what was counted last.
  assert.equal(open().left('shop'), 50);
});

test('where nobody counts any more nothing is refused, and a broken file changes nothing', () => {
  publish('1', { ...acme, left: 0 });
  let now = Date.parse('2026-01-01T00:59:59Z');
  const bounds = open(() => now);
  assert.throws(() => bounds.take('shop', 1), refused);
  writeFileSync(path.join(folder, 'routes', 'storage'), '{"version":1,');
  assert.throws(() => bounds.take('shop', 1), refused);
  now = Date.parse('2026-01-01T01:00:01Z');
  bounds.take('shop', 1e12);
});

test('the bound of the disk says nothing of its size', () => {
  publish('1', { ...acme, limit: null, left: 0 });
  assert.throws(() => open().take('shop', 1), {
    code: 'quota_exceeded',
    message: "The storage of this organization would exceed its share of the platform's disk",
  });
});

test('each of a thousand projects is found, and no other', () => {
  const names = Array.from({ length: 1000 }, (_, index) => `p${index}-${'x'.repeat(index % 30)}`);
  publish(
    '3',
    { ...acme, id: 'org_2', limit: null, left: 7, projects: names.slice(0, 500) },
    { ...acme, projects: names.slice(500) },
  );
  const bounds = open();
  assert.deepEqual(
    names.map((name) => bounds.left(name)),
    [...Array<number>(500).fill(7), ...Array<number>(500).fill(100)],
  );
  for (const name of ['p', 'p0', 'p1000-x', 'zz', 'a', 'org_2']) assert.equal(bounds.left(name), Infinity, name);
});
