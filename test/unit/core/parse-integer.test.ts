import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseInteger, parsePort } from '#core/parse-integer.ts';

test('digits within the bounds are a number', () => {
  assert.equal(parseInteger('DRAIN_MS', '250'), 250);
  assert.equal(parseInteger('DRAIN_MS', ' 007 '), 7);
  assert.equal(parseInteger('DB_SHARDS', '64', { least: 1, most: 64 }), 64);
  assert.equal(parsePort('HANDLER_PORT', '0'), 0);
});

test('anything else is refused with the name, the bounds and the text', () => {
  for (const text of ['', ' ', '-1', '1.5', '1e3', '0x10', '1s', 'NaN', '٣', '9007199254740992'])
    assert.throws(() => parseInteger('DRAIN_MS', text), {
      message: `DRAIN_MS must be a whole number of at least 0, but is "${text}"`,
    });
  assert.throws(() => parseInteger('DB_SHARDS', '65', { least: 1, most: 64 }), {
    message: 'DB_SHARDS must be a whole number from 1 to 64, but is "65"',
  });
  assert.throws(() => parsePort('PUBLIC_PORT', '0', 1), {
    message: 'PUBLIC_PORT must be a port from 1 to 65535, but is "0"',
  });
});
