import assert from 'node:assert/strict';
import { test } from 'node:test';
import { engineMemoryMb } from '#runtime/supervisor/engines/configuration.ts';

const GB = 1024 ** 3;

test('engines keep to half of the memory that there is, together', () => {
  assert.equal(engineMemoryMb(4096, 64 * GB, 4), 4096);
  assert.equal(engineMemoryMb(4096, 4 * GB, 2), 1024);
  assert.equal(engineMemoryMb(4096, 2.25 * GB, 2), 576);
  assert.equal(engineMemoryMb(300, 4 * GB, 2), 300);
});
