// Time ranges of queries.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkTimeRange } from '#control/http/time-range.ts';

const at = (day: string): Date => new Date(`${day}T00:00:00Z`);

test('a range that is negative or too long is refused with its reason', () => {
  checkTimeRange(at('2026-01-01'), at('2026-01-01'));
  checkTimeRange(at('2026-01-01'), at('2026-01-11'), 10);
  assert.throws(
    () => checkTimeRange(at('2026-01-02'), at('2026-01-01'), 10),
    /query\.from: must not be after query\.to/,
  );
  assert.throws(
    () => checkTimeRange(at('2026-01-01'), at('2026-01-12'), 10),
    /query\.from: must be at most 10 days before query\.to/,
  );
});
