// When an alert fires and resolves, by the values of its evaluations.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stepAlert, type AlertState } from '#control/alerts/step.ts';

test('a value that flaps is one alert', () => {
  const bounds = { threshold: 10, clearBelow: 8, evaluations: 2, quietMs: 600_000 };
  const run = (values: readonly (number | null)[], stepMs: number) => {
    let state: AlertState = { isFiring: false, overCount: 0, firedAt: null };
    return values.flatMap((value, index) => {
      const { event, ...next } = stepAlert(state, bounds, value, index * stepMs);
      state = next;
      return event === null ? [] : [`${index} ${event}`];
    });
  };
  // Around the threshold, never below the lower bound.
  assert.deepEqual(run([9, 11, 9, 11, 11, 9, 11, 9, 12, 9, 11, 9], 30_000), ['4 fired']);
  // Over it for one evaluation at a time.
  assert.deepEqual(run([11, 1, 11, 1, 11, 1], 30_000), []);
  // Up and down through both bounds: one alert in the quiet time.
  const flapping = Array.from({ length: 18 }, (_, index) => (index % 6 < 3 ? 20 : 1));
  assert.deepEqual(run(flapping, 30_000), ['1 fired', '3 resolved']);
  // After it the next one; nothing to measure counts as well.
  assert.deepEqual(run([20, 20, null, 20, 20], 600_000), ['1 fired', '2 resolved', '4 fired']);
});
