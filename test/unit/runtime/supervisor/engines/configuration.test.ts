import assert from 'node:assert/strict';
import { test } from 'node:test';
import { supervisorConfig } from '#runtime/supervisor/engines/configuration.ts';

const GB = 1024 ** 3;

test('engines keep to half of the memory that there is, together', () => {
  const memoryOf = (memoryBytes: number, environment: Record<string, string>): number =>
    supervisorConfig(environment, memoryBytes).engineMemoryMb;
  assert.equal(memoryOf(64 * GB, { HANDLER_PROCESSES: '4' }), 4096);
  assert.equal(memoryOf(4 * GB, { HANDLER_PROCESSES: '2' }), 1024);
  assert.equal(memoryOf(2.25 * GB, { HANDLER_PROCESSES: '2' }), 576);
  assert.equal(memoryOf(4 * GB, { HANDLER_PROCESSES: '2', ENGINE_MEMORY_MB: '300' }), 300);
});
