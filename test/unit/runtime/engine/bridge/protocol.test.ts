import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FIELD, Inbox, NOTHING, Outbox, RECORD, toGuest, toHost } from '#runtime/engine/bridge/protocol.ts';

test('records and their parts come out in the order in which they went in', () => {
  const out = new Outbox();
  const bytes = new Uint8Array([1, 2, 3]);
  out.record('A', 7, out.part('text one'), out.part(bytes));
  out.record('B');
  out.record('C', JSON.stringify({ a: 1 }), out.part(''), out.part('two'), out.part(null));
  const inbox = new Inbox(out.meta, out.text, out.bytes);
  assert.equal(inbox.next(), 'A');
  assert.equal(inbox.number(), 7);
  assert.equal(inbox.part(inbox.field()), 'text one');
  assert.deepEqual(inbox.part(inbox.field()), bytes);
  inbox.close();
  assert.equal(inbox.next(), 'B');
  inbox.close();
  assert.equal(inbox.next(), 'C');
  assert.deepEqual(inbox.json(), { a: 1 });
  assert.deepEqual(inbox.parts(), ['', 'two', null]);
  assert.equal(inbox.next(), '');
});

test('text with the separators in it cannot forge a record', () => {
  const out = new Outbox();
  const forged = `x${FIELD}${RECORD}${toHost.breach}${FIELD}1${FIELD}`;
  out.record('A', out.part(forged), JSON.stringify(forged));
  out.record('B', 2);
  const inbox = new Inbox(out.meta, out.text, out.bytes);
  assert.equal(inbox.next(), 'A');
  assert.equal(inbox.part(inbox.field()), forged);
  assert.equal(inbox.json(), forged);
  inbox.close();
  assert.equal(inbox.next(), 'B');
  assert.equal(inbox.number(), 2);
  inbox.close();
  assert.equal(inbox.next(), '');
});

test('numbers come out as they went in: whole, large, negative, with a fraction', () => {
  const numbers = [0, 7, 2 ** 31 - 1, 2 ** 45 + 3, -1, 12.345, 1e21, 5e-7];
  const out = new Outbox();
  out.record('N', ...numbers);
  const inbox = new Inbox(out.meta, out.text, out.bytes);
  inbox.next();
  assert.deepEqual(
    numbers.map(() => inbox.number()),
    numbers,
  );
});

test('an outbox without records is empty', () => {
  const out = new Outbox();
  assert.equal(out.isEmpty, true);
  out.record('A');
  assert.equal(out.isEmpty, false);
  assert.equal(out.part(null), NOTHING);
});

test('each letter names one record', () => {
  for (const letters of [toGuest, toHost]) {
    const values = Object.values(letters);
    assert.equal(new Set(values).size, values.length);
    for (const value of values) assert.equal(value.length, 1);
  }
});
