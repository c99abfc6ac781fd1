import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  FIELD,
  RecordReader,
  NOTHING,
  RecordWriter,
  RECORD,
  toGuest,
  toHost,
} from '#runtime/engine/bridge/protocol.ts';

test('records and their parts come out in the order in which they went in', () => {
  const out = new RecordWriter();
  const bytes = new Uint8Array([1, 2, 3]);
  out.record('A', 7, out.part('text one'), out.part(bytes));
  out.record('B');
  out.record('C', JSON.stringify({ a: 1 }), out.part(''), out.part('two'), out.part(null));
  const reader = new RecordReader(out.meta, out.text, out.bytes);
  assert.equal(reader.next(), 'A');
  assert.equal(reader.number(), 7);
  assert.equal(reader.part(reader.field()), 'text one');
  assert.deepEqual(reader.part(reader.field()), bytes);
  reader.close();
  assert.equal(reader.next(), 'B');
  reader.close();
  assert.equal(reader.next(), 'C');
  assert.deepEqual(reader.json(), { a: 1 });
  assert.deepEqual(reader.parts(), ['', 'two', null]);
  assert.equal(reader.next(), '');
});

test('text with the separators in it cannot forge a record', () => {
  const out = new RecordWriter();
  const forged = `x${FIELD}${RECORD}${toHost.breach}${FIELD}1${FIELD}`;
  out.record('A', out.part(forged), JSON.stringify(forged));
  out.record('B', 2);
  const reader = new RecordReader(out.meta, out.text, out.bytes);
  assert.equal(reader.next(), 'A');
  assert.equal(reader.part(reader.field()), forged);
  assert.equal(reader.json(), forged);
  reader.close();
  assert.equal(reader.next(), 'B');
  assert.equal(reader.number(), 2);
  reader.close();
  assert.equal(reader.next(), '');
});

test('numbers come out as they went in: whole, large, negative, with a fraction', () => {
  const numbers = [0, 7, 2 ** 31 - 1, 2 ** 45 + 3, -1, 12.345, 1e21, 5e-7];
  const out = new RecordWriter();
  out.record('N', ...numbers);
  const reader = new RecordReader(out.meta, out.text, out.bytes);
  reader.next();
  assert.deepEqual(
    numbers.map(() => reader.number()),
    numbers,
  );
});

test('a writer without records is empty', () => {
  const out = new RecordWriter();
  assert.equal(out.meta, '');
  out.record('A');
  assert.notEqual(out.meta, '');
  assert.equal(out.part(null), NOTHING);
});

test('each letter names one record', () => {
  for (const letters of [toGuest, toHost]) {
    const values = Object.values(letters);
    assert.equal(new Set(values).size, values.length);
    for (const value of values) assert.equal(value.length, 1);
  }
});
