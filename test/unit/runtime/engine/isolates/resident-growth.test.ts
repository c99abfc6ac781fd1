// Who is held responsible for growth of the engine's resident memory: looks every 50 ms at a process that the test
// makes up.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResidentGrowth, type GrownBytes } from '#runtime/engine/isolates/resident-growth.ts';

const MB = 1024 * 1024;
const PAGE = 4096;
const MEMORY_MB = 128;
/** Twice the limit and 64 MB. */
const BOUND_MB = 320;

/** A process in which some threads run: what each touches and gives back between two looks, in MB. */
function simulate(looks: number, ofThreads: readonly (readonly [touched: number, freed: number])[]): number[][] {
  let now = 0;
  let bytes = 500 * MB;
  let faults = 1_000_000;
  const own = ofThreads.map(() => 0);
  const growth = new ResidentGrowth(
    MEMORY_MB,
    { bytes: () => bytes, faults: (thread) => (thread === undefined ? faults : own[thread]!) },
    () => now,
  );
  const grown: GrownBytes[] = ofThreads.map(() => ({ bytes: 0, at: 0 }));
  const over: number[][] = ofThreads.map(() => []);
  for (let look = 0; look < looks; look++) {
    growth.look();
    for (const thread of ofThreads.keys()) if (growth.isOver(grown[thread]!, thread)) over[thread]!.push(look);
    now += 50;
    for (const [thread, [touched, freed]] of ofThreads.entries()) {
      bytes += (touched - freed) * MB;
      own[thread]! += (touched * MB) / PAGE;
      faults += (touched * MB) / PAGE;
    }
  }
  return over;
}

test('an entry that makes the process grow fast is over once it has grown by twice its limit and a little', () => {
  const [first] = simulate(40, [[20, 0]]);
  // 20 MB a look, of which what is forgotten meanwhile goes off.
  assert.ok(first![0]! >= BOUND_MB / 20 && first![0]! <= BOUND_MB / 20 + 3, String(first));
});

test('who runs beside it and takes and gives back is not over', () => {
  const [greedy, busy, spinning] = simulate(40, [
    [20, 0],
    [8, 8],
    [0, 0],
  ]);
  assert.notDeepEqual(greedy, []);
  assert.deepEqual(busy, []);
  assert.deepEqual(spinning, []);
});

test('memory that goes and comes back for a minute is no growth', () => {
  assert.deepEqual(simulate(1200, [[60, 60]]), [[]]);
});

test('what grows within the memory of an isolate is not over', () => {
  assert.deepEqual(simulate(14, [[20, 0]]), [[]]);
});

test('where the system does not count page faults, no isolate is over', () => {
  const growth = new ResidentGrowth(1, { bytes: () => 1e12, faults: () => null });
  growth.look();
  assert.equal(growth.isOver({ bytes: 0, at: 0 }, 1), false);
});
