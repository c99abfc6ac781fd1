// Stored values as people see them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shownValue } from '#core/structured-values.ts';
import '#runtime/engine/guest/lazy/messages.ts';
import { toStored } from '#runtime/engine/guest/lazy/stored-values.ts';
import { connectGuestHost } from '#test/setup/guest-host.ts';

connectGuestHost();

test('dates, maps, sets, bytes and large numbers have a form that JSON can hold', () => {
  const value = {
    at: new Date(0),
    map: new Map([['a', new Set([1, 2])]]),
    bytes: new Uint8Array([1, 2, 3]),
    large: 2n ** 64n,
    not: Number.NaN,
    nothing: undefined,
    failure: new TypeError('no'),
  };
  assert.deepEqual(shownValue(toStored(value)), {
    at: '1970-01-01T00:00:00.000Z',
    map: [['a', [1, 2]]],
    bytes: 'AQID',
    large: '18446744073709551616',
    not: 'NaN',
    nothing: null,
    failure: 'TypeError: no',
  });
});

test('plain values are shown as they are', () => {
  const value = { a: [1, 'b', null] };
  assert.equal(shownValue(value), value);
});

test('circles end, and records that name each other many times are cut short', () => {
  const circle: Record<string, unknown> = { at: new Date(0) };
  circle['self'] = circle;
  assert.deepEqual(shownValue(toStored(circle)), { at: '1970-01-01T00:00:00.000Z', self: '[Circular]' });
  const doubled = Array.from({ length: 60 }, (_, at) => ['set', [at + 1, at + 1]]);
  assert.match(JSON.stringify(shownValue({ $structured: 1, records: doubled })), /\[\.\.\.\]/);
});

test('records of any form are shown or left out, and never thrown at', () => {
  for (const records of [null, [], [['map', 3]], [['array']], [['object', [1]]], [['date', 1e300]], [['view', 'x', 0]]])
    assert.doesNotThrow(() => JSON.stringify(shownValue({ $structured: 1, records })));
});
