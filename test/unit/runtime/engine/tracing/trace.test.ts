import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withTrace } from '#runtime/engine/bindings/trace-headers.ts';
import { traceFrom } from '#runtime/engine/tracing/trace.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

const id = '0af7651916cd43dd8448eb211c80319c';
const parent = 'b7ad6b7169203331';
const block = (...fields: string[]): string => fields.map((field) => `${field}\0`).join('');
const traceparent = (value: string): string => block('host', 'a', 'traceparent', value);

test('a trace is read from traceparent and tracestate', () => {
  assert.deepEqual(traceFrom(traceparent(`00-${id}-${parent}-01`)), {
    traceId: id,
    parentId: parent,
    flags: '01',
    state: '',
  });
  assert.deepEqual(
    traceFrom(block('tracestate', 'a=1', 'traceparent', ` 00-${id}-${parent}-00 `, 'tracestate', 'b=2')),
    {
      traceId: id,
      parentId: parent,
      flags: '00',
      state: 'a=1,b=2',
    },
  );
  assert.equal(traceFrom(block('host', 'a')), null);
});

test('a later version of the header is read as far as this one goes', () => {
  assert.equal(traceFrom(traceparent(`01-${id}-${parent}-01`))?.traceId, id);
  assert.equal(traceFrom(traceparent(`cc-${id}-${parent}-01-what-the-future-brings`))?.traceId, id);
});

test('a malformed traceparent is as good as none', () => {
  for (const value of [
    '',
    `ff-${id}-${parent}-01`,
    `00-${id}-${parent}-01-more`,
    `00-${'0'.repeat(32)}-${parent}-01`,
    `00-${id}-${'0'.repeat(16)}-01`,
    `00-${id.toUpperCase()}-${parent}-01`,
    `00-${id.slice(1)}-${parent}-01`,
    `00-${id}-${parent}-1`,
    `00-${id}-${parent}`,
    `01-${id}-${parent}-01.x`,
  ])
    assert.equal(traceFrom(traceparent(value)), null, value);
  assert.equal(traceFrom(traceparent(`00-${id}-${parent}-01`) + traceparent(`00-${id}-${parent}-01`)), null);
});

test('a tracestate that is too long or not printable is dropped, the trace is not', () => {
  const valid = `00-${id}-${parent}-01`;
  assert.equal(traceFrom(block('traceparent', valid, 'tracestate', 'a='.padEnd(513, 'x')))?.state, '');
  assert.equal(traceFrom(block('traceparent', valid, 'tracestate', 'a=\x01'))?.state, '');
  assert.equal(traceFrom(block('traceparent', valid, 'tracestate', 'a='.padEnd(512, 'x')))?.state.length, 512);
});

test('a request that continues a trace has its id and a parent of its own', () => {
  const trace = { traceId: id, parentId: parent, flags: 'ff', state: 'a=1' };
  const [, first, , state] = withTrace([], trace);
  const [, second] = withTrace([], trace);
  assert.match(first!, new RegExp(`^00-${id}-(?!0{16})[0-9a-f]{16}-03$`));
  assert.notEqual(first, second);
  assert.equal(state, 'a=1');
  assert.deepEqual(withTrace(['accept', '*/*'], null), ['accept', '*/*']);
});

test('what the worker sets itself stays', () => {
  const trace = { traceId: id, parentId: parent, flags: '01', state: 'a=1' };
  assert.deepEqual(withTrace(['traceparent', 'mine'], trace), ['traceparent', 'mine']);
  const kept = withTrace(['tracestate', 'mine=1', 'x', 'traceparent'], trace);
  assert.deepEqual([kept.length, kept[4]], [6, 'traceparent']);
});

test('whatever a header block holds, reading it ends with a trace that may be handed on, or none', () => {
  const random = createSeededRandom();
  const pieces = [
    'traceparent',
    'tracestate',
    '\0',
    '00',
    '-',
    id,
    parent,
    '01',
    'ff',
    '0'.repeat(32),
    ' ',
    ',',
    'a=1',
    '\r\n',
    'é',
  ];
  for (let run = 0; run < 20_000; run++) {
    const text = random.text(pieces, 14);
    const trace = traceFrom(text);
    if (trace === null) continue;
    const message = `seed ${random.seed}: ${JSON.stringify(text)}`;
    assert.match(trace.traceId, /^[0-9a-f]{32}$/, message);
    for (const value of withTrace([], trace)) assert.match(value, /^[\t\x20-\x7e]*$/, message);
  }
});
