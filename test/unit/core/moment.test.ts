// Moments that people write.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseMoment } from '#core/moment.ts';

test('a moment of RFC 3339 is read with its time zone and its fraction', () => {
  assert.equal(parseMoment('2026-11-28T12:00:00Z'), 1_795_867_200_000);
  assert.equal(parseMoment('2026-11-28T13:30:00.5+01:30'), 1_795_867_200_500);
  assert.equal(parseMoment('2026-11-28t07:00:00.123456-05:00'), 1_795_867_200_123);
  assert.equal(parseMoment('2028-02-29 00:00:00z'), 1_835_395_200_000);
});

test('anything else is none', () => {
  for (const text of [
    '',
    'yesterday',
    '2026-11-28',
    '2026-11-28T12:00:00',
    '2026-11-28T12:00Z',
    '2026-02-30T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-11-28T24:00:00Z',
    '2026-11-28T12:00:60Z',
    '2026-11-28T12:00:00+1',
    '1795867200000',
    ' 2026-11-28T12:00:00Z',
  ])
    assert.equal(parseMoment(text), null, text);
});
