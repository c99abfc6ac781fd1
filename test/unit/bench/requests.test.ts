import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aimLine, both, cpu, type Aim } from '#bench/requests.ts';
import type { Reading } from '#bench/load.ts';

const reading = (cpuUs: number): Reading => ({
  cpuUs,
  perSecond: 1,
  p50Ms: 1,
  p99Ms: 1,
  bad: 0,
  mbPerCpuSecond: 1,
  joined: 1,
});
const readings = new Map([
  ['ours, node:http', reading(15)],
  ['workerd', reading(40)],
]);
const pinned: Aim = { figure: cpu, ours: 'ours, node:http', than: 'workerd' };

test('a line says the ratio, the aim and whether it is missed', () => {
  assert.equal(aimLine(readings, pinned), 'CPU us: ours, node:http / workerd = 0.38');
  assert.equal(
    aimLine(readings, { ...pinned, atMost: 0.42 }),
    'CPU us: ours, node:http / workerd = 0.38 (aim: at most 0.42)',
  );
  assert.equal(
    aimLine(readings, { ...pinned, atMost: 0.3 }),
    'CPU us: ours, node:http / workerd = 0.38 (aim: at most 0.3, missed)',
  );
  assert.equal(
    aimLine(readings, { ...pinned, atLeast: 1 }),
    'CPU us: ours, node:http / workerd = 0.38 (aim: at least 1, missed)',
  );
});

test('an aim may be of a figure by itself, and there is no line without its rows', () => {
  assert.equal(
    aimLine(readings, { figure: cpu, ours: 'workerd', atLeast: 30 }),
    'CPU us: workerd = 40 (aim: at least 30)',
  );
  assert.equal(aimLine(readings, { ...pinned, than: 'Deno' }), null);
});

test('both listeners are compared with one peer, or each with itself without us', () => {
  assert.deepEqual(
    both(cpu, 'bare').map(({ ours, than }) => [ours, than]),
    [
      ['ours, node:http', 'bare node:http'],
      ['ours, uWebSockets.js', 'bare uWebSockets.js'],
    ],
  );
});
