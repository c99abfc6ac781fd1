// How many fetches of one worker are under way at a time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OpenFetches } from '#runtime/bindings/open-fetches.ts';

test('places are counted by isolate, and each is given back once', () => {
  const places = new OpenFetches(2);
  const [one, other] = [{}, {}];
  const leave = places.take(one);
  places.take(one);
  assert.throws(() => places.take(one), { code: 'quota_exceeded', message: 'One more fetch at a time would exceed 2' });
  places.take(other);
  leave();
  leave();
  places.take(one);
  assert.throws(() => places.take(one), { code: 'quota_exceeded' });
});
