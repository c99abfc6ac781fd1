// The kinds of invocations that the dashboard names are those that the platform counts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { invocationKinds } from '#core/plans.ts';
import { kinds as loggedKinds } from '#dashboard/src/queries/log-search.ts';
import { kinds as countedKinds } from '#dashboard/src/queries/usage-search.ts';

test('usage and logs know every kind of invocation', () => {
  assert.deepEqual(countedKinds, invocationKinds);
  assert.deepEqual(Object.keys(loggedKinds), invocationKinds);
});
