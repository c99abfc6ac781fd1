// How long a worker's top level may wait, by a clock of the test.
import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { WorkerStart, type WorkerStartDeps } from '#runtime/engine/serving/worker-start.ts';
import type { EntryState } from '#runtime/engine/isolates/entry.ts';

const limits = { ...defaultLimits, startupWallMs: 1000 };

function setup(t: { after(run: () => void): void }): {
  start: WorkerStart;
  said: string[];
  isolate: { entryState: EntryState };
} {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const said: string[] = [];
  const isolate = { entryState: 'idle' as EntryState };
  const start = new WorkerStart({
    deployment: { log: () => {}, mapper: { map: (text: string) => text } },
    limits,
    isolate,
    link: {},
    onReady: () => said.push('ready'),
    onFailed: ({ details }: { details: { reason?: string } }) => said.push(String(details.reason)),
  } as unknown as WorkerStartDeps);
  return { start, said, isolate };
}

const late = 'a top-level await did not settle within 1000 ms';

test('a top level that waits for something is over at its limit', (t) => {
  const { start, said } = setup(t);
  start.answered('pending', '');
  mock.timers.tick(999);
  start.answered('pending', '');
  assert.deepEqual(said, []);
  mock.timers.tick(1);
  assert.deepEqual(said, [late]);
});

test('one whose code runs at its limit, or waits for its turn, has what that entry comes to', (t) => {
  for (const entryState of ['running', 'ready', 'ahead'] as const) {
    for (const [answer, expected] of [
      ['ready', 'ready'],
      ['pending', late],
    ] as const) {
      const { start, said, isolate } = setup(t);
      start.answered('pending', '');
      isolate.entryState = entryState;
      mock.timers.tick(60_000);
      assert.deepEqual(said, []);
      start.answered(answer, '');
      assert.deepEqual(said, [expected]);
      mock.timers.reset();
    }
  }
});
