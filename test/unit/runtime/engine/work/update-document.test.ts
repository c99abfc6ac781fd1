import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyUpdate, parseUpdate } from '#runtime/engine/work/update-document.ts';

function update(before: unknown, document: unknown): unknown {
  return applyUpdate(before, parseUpdate(document));
}

test('each operator changes its fields, by path, and makes what is missing', () => {
  assert.deepEqual(update(undefined, { $inc: { visits: 1 } }), { visits: 1 });
  assert.deepEqual(update({ a: { b: 1 } }, { $set: { 'a.c.d': [1] }, $inc: { 'a.b': -3 } }), {
    a: { b: -2, c: { d: [1] } },
  });
  assert.deepEqual(update({ a: { b: 1, c: 2 } }, { $unset: { 'a.b': '', 'x.y': '' } }), { a: { c: 2 } });
  assert.deepEqual(update({}, { $push: { list: { n: 1 } } }), { list: [{ n: 1 }] });
  assert.deepEqual(update({ list: [1, 2, 3] }, { $pop: { list: 1 } }), { list: [1, 2] });
  assert.deepEqual(update({ list: [1, 2, 3] }, { $pop: { list: -1, none: 1 } }), { list: [2, 3] });
  assert.deepEqual(update({ list: [{ n: 1 }] }, { $inc: { 'list.0.n': 1 }, $unset: { 'list.0.m': 1 } }), {
    list: [{ n: 2 }],
  });
});

test('the value before becomes the one after, uncopied; the document stays as it is', () => {
  const before = { a: { b: [1] } };
  const document = parseUpdate({ $set: { c: { d: [] } }, $push: { 'a.b': 2, 'c.d': 3 } });
  const after = applyUpdate(before, document);
  assert.equal(after, before);
  assert.deepEqual(after, { a: { b: [1, 2] }, c: { d: [3] } });
  assert.deepEqual(applyUpdate({}, document), { a: { b: [2] }, c: { d: [3] } });
});

test('a document or a field that cannot be is refused with its name', () => {
  const refuses = (before: unknown, document: unknown, message: string): void =>
    void assert.throws(() => update(before, document), { code: 'invalid_argument', message });
  refuses({}, [], 'The update document must be an object');
  refuses({}, {}, 'The update document is empty: it must use $set, $unset, $inc, $push, $pop');
  refuses({}, { $mul: { a: 1 } }, 'The update document has "$mul", but supports only $set, $unset, $inc, $push, $pop');
  refuses({}, { $set: 1 }, '$set must be an object of fields');
  refuses({}, { $inc: { a: '1' } }, '$inc.a must be a finite number');
  refuses({}, { $pop: { a: 2 } }, '$pop.a must be 1 (the last) or -1 (the first)');
  refuses({ a: 'x' }, { $inc: { a: 1 } }, '$inc.a: the field is not a number');
  refuses({ a: 1e308 }, { $inc: { a: 1e308 } }, '$inc.a: 1e+308 and 1e+308 are more than a number can be');
  refuses({ a: 'x' }, { $push: { a: 1 } }, '$push.a: the field is not an array');
  refuses({ a: 'x' }, { $set: { 'a.b': 1 } }, '"a" of the path a.b is not an object');
  refuses([1], { $set: { length: 5 } }, '$set.length: "length" is not an index of an array');
  refuses(3, { $set: { a: 1 } }, 'The value is not a JSON object, so it has no fields to update');
  refuses({}, { $set: { '': 1 } }, '$set has the field "", which is not a path');
});

test('no path reaches a prototype', () => {
  for (const path of ['__proto__.polluted', 'a.__proto__.polluted'])
    assert.throws(() => update({ a: {} }, { $set: { [path]: 1 } }), { code: 'invalid_argument' });
  assert.deepEqual(update({}, { $set: { 'constructor.prototype.polluted': 1 } }), {
    constructor: { prototype: { polluted: 1 } },
  });
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
});

test('a document can be applied again: what it sets stays as it was given', () => {
  const document = parseUpdate({ $set: { list: [] }, $push: { list: 1 } });
  assert.deepEqual(applyUpdate({}, document), { list: [1] });
  assert.deepEqual(applyUpdate({}, document), { list: [1] });
});

test('an array grows by what is put into it, not by a large index', () => {
  assert.deepEqual(update({ list: [1] }, { $set: { 'list.3': 4 } }), { list: [1, null, null, 4] });
  for (const path of ['list.999999', 'list.999999.n', 'list.20000000000'])
    assert.throws(() => update({ list: [] }, { $set: { [path]: 1 } }), { code: 'invalid_argument' }, path);
});
