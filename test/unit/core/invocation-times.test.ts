import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timesText } from '#core/invocation-times.ts';

test('wall time comes first and says what of it was CPU; parts of a millisecond only where they count', () => {
  assert.equal(timesText({ wallMs: 12.4, cpuMs: 3.06 }), '12 ms (CPU 3.1 ms)');
  assert.equal(timesText({ wallMs: 0, cpuMs: 0 }), '0.0 ms (CPU 0.0 ms)');
  assert.equal(timesText({ wallMs: 5000.6, cpuMs: 9.96 }), '5001 ms (CPU 10 ms)');
});
