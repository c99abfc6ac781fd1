// How many fetches of one worker are under way at a time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OpenFetches } from '#runtime/engine/bindings/open-fetches.ts';
import { EngineMemory } from '#runtime/engine/bridge/host-memory.ts';

test('places are counted by isolate, and each is given back once', () => {
  const places = new OpenFetches(2);
  const engine = new EngineMemory({ hostMemoryMb: 1, engineHostMemoryMb: 1 });
  const [one, other] = [{ memory: engine.open('a/1') }, { memory: engine.open('b/2') }];
  const leave = places.take(one);
  places.take(one);
  assert.throws(() => places.take(one), { code: 'quota_exceeded', message: 'Another open fetch would exceed 2' });
  places.take(other);
  leave();
  leave();
  assert.equal(engine.bytes, 2 * 64 * 1024);
  places.take(one);
  assert.throws(() => places.take(one), { code: 'quota_exceeded' });
});
