import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeEvent, encodeEvent } from '#core/event-codec.ts';

test('a head and bodies come out as they went in, whatever text they are', () => {
  for (const bodies of [[], [''], ['{"n":1}'], ['"grüße 🐸"', '', '1,2\n{"a":3}', '\u0000']]) {
    const event = { head: '{"queueName":"mäil"}', bodies };
    assert.deepEqual(decodeEvent(encodeEvent(event)), event);
  }
  assert.equal(encodeEvent({ head: '{}', bodies: ['"ü"', '1'] }).toString(), '2,4,1\n{}"ü"1');
});

test('what is cut off, longer than it says, or has no lengths is none', () => {
  for (const text of [
    '',
    '\n',
    '2',
    '2\n{',
    '2\n{}x',
    '2,\n{}',
    '-2\n{}',
    '2,x\n{}',
    '99999999999\n{}',
    '{"deployment":"d1"}',
  ])
    assert.equal(decodeEvent(Buffer.from(text)), null, text);
});
