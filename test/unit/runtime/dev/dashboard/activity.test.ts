// The memory of what happened under `platform dev`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createActivity } from '#runtime/dev/dashboard/activity.ts';

test('the newest are kept, numbered without gaps, with texts cut to their bound', () => {
  const activity = createActivity({ recordsMax: 3, textCharsMax: 5 }, () => 42);
  for (let index = 1; index <= 100; index++) activity.note({ type: 'log', level: 'info', message: `line ${index}` });
  assert.deepEqual(activity.since(98), [
    { type: 'log', level: 'info', message: 'line …', seq: 99, at: 42 },
    { type: 'log', level: 'info', message: 'line …', seq: 100, at: 42 },
  ]);
  assert.deepEqual(
    activity.since(0).map(({ seq }) => seq),
    [98, 99, 100],
  );
});

test('listeners hear what comes, until they stop', () => {
  const activity = createActivity({ recordsMax: 3, textCharsMax: 100 });
  const heard: number[] = [];
  const stop = activity.listen(({ seq }) => heard.push(seq));
  activity.note({ type: 'deployed', deployment: 'd1' });
  stop();
  activity.note({ type: 'deployed', deployment: 'd2' });
  assert.deepEqual(heard, [1]);
});
