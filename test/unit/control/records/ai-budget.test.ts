// The forecast of what AI calls will have cost at the end of the month.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forecastOf } from '#control/records/ai-budget.ts';

const DAY_MS = 86_400_000;

test('each remaining day is expected to cost the average of the last seven', () => {
  assert.equal(forecastOf(10_000_000, 7_000_000, 5 * DAY_MS), 15_000_000);
  assert.equal(forecastOf(10_000_000, 7_000_000, DAY_MS / 2), 10_500_000);
  assert.equal(forecastOf(10_000_000, 0, 20 * DAY_MS), 10_000_000);
  assert.equal(forecastOf(0, 0, 30 * DAY_MS), 0);
});
