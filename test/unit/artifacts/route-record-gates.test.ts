// What a route record may say of protection and of a split.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashPreviewBypass, hashPreviewPassword } from '#core/preview-access.ts';
import { parseRouteRecord } from '#artifacts/route-record.ts';
import { routeRecord } from '#test/setup/route-record.ts';

const record = (more: object): string =>
  JSON.stringify({
    ...routeRecord('d000000000001', {
      id: 'd000000000001',
      artifact: 'a'.repeat(64),
      branch: 'main',
      createdAt: '2026-11-21T00:00:00Z',
    }),
    ...more,
  });

test('protection and a split are taken, and null is none', async () => {
  const protection = { passwordHash: await hashPreviewPassword('x'), bypassHash: hashPreviewBypass('y') };
  const split = { deployment: 'd000000000001', percent: 25 };
  const { protection: read, split: parts } = parseRouteRecord(record({ protection, split }));
  assert.deepEqual([read, parts], [protection, split]);
  assert.equal(parseRouteRecord(record({ protection: null, split: null })).split, null);
});

test('a password as it is, a part of nobody or of more than all are refused', async () => {
  const passwordHash = await hashPreviewPassword('x');
  for (const [more, where] of [
    [{ protection: { passwordHash: 'open sesame' } }, /protection/],
    [{ protection: { passwordHash, bypassHash: 'token' } }, /protection/],
    [{ protection: {} }, /protection/],
    [{ protection: { passwordHash, password: 'x' } }, /protection/],
    [{ split: { deployment: 'd000000000002', percent: 1 } }, /\/split names deployment "d000000000002"/],
    [{ split: { deployment: 'd000000000001', percent: 101 } }, /split/],
    [{ split: { deployment: 'd000000000001', percent: 0.5 } }, /split/],
    [{ branchDomains: { 'Shop.example.com': 'main' } }, /branchDomains "Shop/],
    [{ redirects: { 'www.example.com': 'example.com/evil' } }, /redirects "example.com\/evil"/],
  ] as const)
    assert.throws(() => parseRouteRecord(record(more)), where);
});
