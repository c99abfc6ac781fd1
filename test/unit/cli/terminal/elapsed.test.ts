// The status line of work that takes long.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatSeconds, showElapsed, whileShown } from '#cli/terminal/elapsed.ts';

test('the line has its current text and the seconds, and is cleared at the end', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const lines: (string | null)[] = [];
  let status = 'queued';
  const stop = showElapsed({ progress: (line) => void lines.push(line) }, () => status);
  t.mock.timers.tick(2000);
  status = 'building';
  t.mock.timers.tick(1000);
  stop();
  t.mock.timers.tick(5000);
  assert.deepEqual(lines, ['queued ...', 'queued ... 1 s', 'queued ... 2 s', 'building ... 3 s', null]);
});

test('the line is cleared when the work fails', async () => {
  const lines: (string | null)[] = [];
  const failing = whileShown({ progress: (line) => void lines.push(line) }, 'Building', () =>
    Promise.reject(new Error('no')),
  );
  await assert.rejects(failing, { message: 'no' });
  assert.deepEqual(lines, ['Building ...', null]);
});

test('durations have one decimal', () => {
  assert.equal(formatSeconds(4230), '4.2 s');
});
