import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  faded,
  isDangerous,
  ledgerEntries,
  ledgerText,
  parseLedger,
  strikesOf,
  withDeath,
  withRelease,
  type Ledger,
} from '#runtime/supervisor/quarantine/ledger.ts';

const empty: Ledger = new Map();
const exact = (ledger: Ledger, deployment: string, at = 1000): Ledger =>
  withDeath(ledger, { blamed: deployment, organization: null, running: ['b/d2'], at });
const unknown = (ledger: Ledger, running: string[], at = 1000): Ledger =>
  withDeath(ledger, { blamed: null, organization: null, running, at });

test('the second death that is certainly its own makes a deployment dangerous, and clears those that ran beside it', () => {
  const once = exact(empty, 'a/d1');
  assert.equal(isDangerous(once, 'a/d1'), false);
  const twice = exact(once, 'a/d1', 2000);
  assert.equal(isDangerous(twice, 'a/d1'), true);
  assert.deepEqual(ledgerEntries(twice), [
    { deployment: 'a/d1', exact: 2, suspected: 0, lastAt: '1970-01-01T00:00:02.000Z' },
  ]);
});

test('three deaths by an unknown hand make those dangerous that ran at each of them', () => {
  let ledger = unknown(empty, ['a/d1', 'b/d2']);
  ledger = unknown(ledger, ['a/d1']);
  assert.equal(isDangerous(ledger, 'a/d1'), false);
  ledger = unknown(ledger, ['a/d1', 'c/d3']);
  assert.deepEqual(
    ['a/d1', 'b/d2', 'c/d3'].map((deployment) => strikesOf(ledger, deployment)),
    [2, 0, 0],
  );
});

test('what one deployment of an organization did counts for each other that does something, once', () => {
  const lost = (ledger: Ledger, blamed: string, organization: string | null): Ledger =>
    withDeath(ledger, { blamed, organization, running: [], at: 1000 });
  let ledger = lost(empty, 'a/d1', 'org1');
  assert.equal(isDangerous(ledger, 'a/d1'), false);
  ledger = lost(lost(ledger, 'b/d2', 'org2'), 'c/d3', null);
  assert.deepEqual(
    ['b/d2', 'c/d3'].map((deployment) => strikesOf(ledger, deployment)),
    [1, 1],
  );
  for (const again of ['a/d1', 'a/d1', 'a/d1']) ledger = lost(ledger, again, 'org1');
  ledger = lost(ledger, 'a/d4', 'org1');
  assert.deepEqual(
    ['a/d1', 'a/d4', 'a/d5'].map((deployment) => strikesOf(ledger, deployment)),
    [4, 2, 0],
  );
  // Whose it is stays known when an engine dies of it.
  assert.equal(strikesOf(lost(lost(ledger, 'd/d6', null), 'd/d6', 'org1'), 'd/d6'), 2);
  assert.deepEqual(parseLedger(ledgerText(ledger)), ledger);
});

test('a ledger of before, without organizations, is read', () => {
  const before = '{"version":1,"deployments":{"a/d1":{"exact":1,"suspected":0,"lastAt":5}}}';
  assert.deepEqual([...parseLedger(before)], [['a/d1', { organization: null, exact: 1, suspected: 0, lastAt: 5 }]]);
});

test('a released deployment is dangerous again after one more death', () => {
  const released = withRelease(exact(exact(exact(empty, 'a/d1'), 'a/d1'), 'a/d1'), 'a/d1');
  assert.equal(isDangerous(released, 'a/d1'), false);
  assert.equal(isDangerous(exact(released, 'a/d1'), 'a/d1'), true);
  assert.equal(withRelease(empty, 'a/d1'), empty);
});

test('old deaths fade, unless their deployment is still restricted', () => {
  const ledger = exact(exact(empty, 'a/d1', 1000), 'b/d2', 1500);
  assert.equal(
    faded(ledger, 1900, 1000, () => false),
    ledger,
  );
  assert.deepEqual([...faded(ledger, 2100, 1000, () => false).keys()], ['b/d2']);
  assert.deepEqual([...faded(ledger, 9000, 1000, (deployment) => deployment === 'a/d1').keys()], ['a/d1']);
});

test('its text reads back the same, and anything else is an empty ledger', () => {
  const ledger = unknown(exact(empty, 'a/d1'), ['b/d2']);
  assert.deepEqual(parseLedger(ledgerText(ledger)), ledger);
  for (const text of [
    '',
    '{',
    'null',
    '[]',
    '{"version":2,"deployments":{}}',
    '{"version":1,"deployments":{"a":{"exact":-1}}}',
  ])
    assert.deepEqual(parseLedger(text), empty);
});

test('it is bounded: the oldest entries go', () => {
  let ledger = empty;
  for (let i = 0; i < 1005; i++) ledger = exact(ledger, `p${i}/d1`);
  assert.equal(ledger.size, 1000);
  assert.equal(ledger.has('p4/d1'), false);
  assert.equal(ledger.has('p5/d1'), true);
});
