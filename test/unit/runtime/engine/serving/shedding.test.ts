// Who is refused when an engine has more than it can serve.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fairShare, Shedder } from '#runtime/engine/serving/shedding.ts';

test('a fair share takes from the greediest and leaves the modest alone', () => {
  assert.equal(fairShare([500, 30, 2], 100), 68);
  assert.equal(fairShare([500, 400, 2], 100), 49);
  assert.equal(fairShare([5, 5, 5], 15), Number.POSITIVE_INFINITY);
  assert.equal(fairShare([5, 5, 5], 2), 1);
  assert.equal(fairShare([], 0), Number.POSITIVE_INFINITY);
});

test('too many requests are shed at once, and the share comes back in steps', () => {
  const shedder = new Shedder({ engineRequestsMax: 100, engineLagMsMax: 1000 });
  assert.equal(shedder.look([60, 30], 0), Number.POSITIVE_INFINITY);
  assert.equal(shedder.look([90, 30], 0), 70);
  assert.equal(shedder.look([70, 30], 0), 70);
  assert.equal(shedder.look([40, 30], 0), Number.POSITIVE_INFINITY);
});

test('a late event loop sheds half of what there is, when it is late twice and requests can be the reason', () => {
  const shedder = new Shedder({ engineRequestsMax: 10_000, engineLagMsMax: 1000 });
  assert.equal(shedder.look([300, 20], 1500), Number.POSITIVE_INFINITY);
  assert.equal(shedder.look([300, 20], 1500), 140);
  assert.equal(shedder.look([140, 20], 0), 280);
  assert.equal(shedder.look([40], 1500), 560);
  assert.equal(shedder.look([40], 1500), 1120);
});
