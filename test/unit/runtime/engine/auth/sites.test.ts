// Which sites' sign-in is open.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Sites } from '#runtime/engine/auth/sites.ts';

test('a project opens a few sites at once, then one in a while, and others are not held up by it', () => {
  let now = 0;
  const sites = new Sites<number>(() => now);
  let opened = 0;
  const get = (project: string, key: string): number | null => sites.get(project, key, true, () => ++opened);
  assert.deepEqual(
    Array.from({ length: 10 }, (_, at) => get('a', `${at}`)),
    [1, 2, 3, 4, 5, 6, 7, 8, null, null],
  );
  assert.deepEqual([get('a', '0'), get('b', '0')], [1, 9]);
  now = 2000;
  assert.deepEqual([get('a', '8'), get('a', '9')], [10, null]);
  // The one that was used longest ago made room.
  assert.deepEqual([get('a', '0'), get('a', '1')], [1, null]);
  sites.forget('a', '0');
  now = 4000;
  assert.equal(get('a', '0'), 11);
  // Hosts that lead somewhere are not a client's to choose.
  assert.deepEqual(
    Array.from({ length: 10 }, (_, at) => sites.get('a', `plain ${at}`, false, () => ++opened)),
    [12, 13, 14, 15, 16, 17, 18, 19, 20, 21],
  );
  assert.equal(
    sites.get('a', 'plain 0', false, () => ++opened),
    12,
  );
});
