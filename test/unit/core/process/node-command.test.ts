// Flags of processes that are started with this Node.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeFlags } from '#core/node-flags.mjs';
import { engineFlags, smallHeapFlags } from '#core/process/node-command.ts';

test('an engine has the flags of isolates, whatever its supervisor has', () => {
  assert.deepEqual(engineFlags([]), [...nodeFlags]);
  assert.deepEqual(engineFlags(nodeFlags), [...nodeFlags]);
  assert.deepEqual(engineFlags(smallHeapFlags), [...nodeFlags]);
  assert.deepEqual(engineFlags([...smallHeapFlags, '--inspect=0']), [...nodeFlags, '--inspect=0']);
});
