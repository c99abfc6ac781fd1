import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Blob as GuestBlob, File as GuestFile } from '#runtime/engine/guest/web/blob.ts';
import { DOMException as GuestException } from '#runtime/engine/guest/web/dom-exception.ts';
import { Headers as GuestHeaders } from '#runtime/engine/guest/web/headers.ts';
import '#runtime/engine/guest/lazy/event-classes.ts';
import { MessageChannel as GuestChannel } from '#runtime/engine/guest/lazy/messages/message-channel.ts';
import { structuredClone as clone } from '#runtime/engine/guest/lazy/messages/structured-clone.ts';
import { connectGuestHost } from '#test/setup/guest-host.ts';
import { createSeededRandom, fuzzRounds, type SeededRandom } from '#test/setup/seeded-random.ts';

connectGuestHost();

function randomValue(random: SeededRandom, depth: number, made: object[]): unknown {
  const kind = random.below(depth > 0 ? 22 : 12);
  const next = () => randomValue(random, depth - 1, made);
  const keep = <T extends object>(value: T): T => {
    made.push(value);
    return value;
  };
  switch (kind) {
    case 0:
      return random.below(1000) - 500;
    case 1:
      return random.pick([-0, Number.NaN, Infinity, 1n, 10n ** 20n, undefined, null, true]);
    case 2:
      return random.pick(['', 'text', '\ud800', '\u{1f4a9}']);
    case 3:
      return keep(new Date(random.below(2) === 0 ? Number.NaN : random.below(1e9)));
    case 4:
      return keep(/a+(b)?/giu);
    case 5:
      return keep(Object(random.pick([1, 'boxed', true, 5n])) as object);
    case 6:
      return keep(new (random.pick([Uint8Array, Float64Array, BigInt64Array, Int16Array]))(random.below(5)));
    case 7:
      return keep(new DataView(new ArrayBuffer(8), random.below(4)));
    case 8:
      return keep(
        Object.assign(random.pick([new Error('e'), new TypeError('t'), new RangeError('r', { cause: 'c' })]), {
          stack: 'stack',
        }),
      );
    case 9:
      return made.length === 0 ? null : random.pick(made);
    case 10:
      return keep(new ArrayBuffer(random.below(6)));
    case 11:
      return keep(new Uint8Array([1, 2, 3]).subarray(1));
    case 12:
    case 13:
    case 14: {
      const map = keep(new Map());
      for (let index = random.below(4); index > 0; index--) map.set(next(), next());
      return map;
    }
    case 15:
    case 16: {
      const set = keep(new Set());
      for (let index = random.below(4); index > 0; index--) set.add(next());
      return set;
    }
    case 17:
    case 18: {
      const list: unknown[] = keep([]);
      for (let index = random.below(4); index > 0; index--) list.push(next());
      if (random.below(4) === 0) list.length += 2;
      return list;
    }
    default: {
      const record: Record<string, unknown> = keep({});
      for (let index = random.below(4); index > 0; index--)
        record[random.pick(['a', 'b', 'c', '1', '__proto__x'])] = next();
      return record;
    }
  }
}

test('copies random values, cycles and shared parts included, as Node does', () => {
  const random = createSeededRandom();
  for (let round = 0; round < fuzzRounds(300); round++) {
    const value = randomValue(random, 4, []);
    const expected = structuredClone(value);
    assert.deepStrictEqual(clone(value), expected, `seed ${random.seed}, round ${round}`);
  }
});

test('keeps identities and cycles', () => {
  const shared = { x: 1 };
  const value: Record<string, unknown> = { one: shared, two: shared };
  value['self'] = value;
  const copy = clone(value) as Record<string, unknown>;
  assert.notEqual(copy, value);
  assert.equal(copy['one'], copy['two']);
  assert.equal(copy['self'], copy);
});

test('refuses what has no copy, by name', () => {
  const refused = [
    () => {},
    Symbol('s'),
    new WeakMap(),
    new WeakSet(),
    new WeakRef({}),
    Promise.resolve(),
    (function* () {})(),
    new GuestHeaders(),
    Object(Symbol('s')) as object,
  ];
  for (const value of refused) assert.throws(() => clone({ value }), { name: 'DataCloneError', code: 25 });
});

test('copies blobs, files and DOMExceptions as what they are', async () => {
  const file = clone(new GuestFile(['abc'], 'a.txt', { type: 'text/plain', lastModified: 7 })) as GuestFile;
  assert.ok(file instanceof GuestFile);
  assert.deepEqual([file.name, file.type, file.lastModified, await file.text()], ['a.txt', 'text/plain', 7, 'abc']);
  assert.ok(!(clone(new GuestBlob(['x'])) instanceof GuestFile));
  const error = clone(new GuestException('m', 'AbortError')) as GuestException;
  assert.deepEqual([error.name, error.message, error.code], ['AbortError', 'm', 20]);
});

test('moves listed buffers and detaches the originals only when all went well', () => {
  const buffer = new Uint8Array([1, 2, 3]).buffer;
  assert.throws(() => clone({ buffer, bad: () => {} }, { transfer: [buffer] }), { name: 'DataCloneError' });
  assert.equal(buffer.byteLength, 3);
  const copy = clone({ buffer, view: new Uint8Array(buffer, 1) }, { transfer: [buffer] }) as {
    buffer: ArrayBuffer;
    view: Uint8Array;
  };
  assert.equal(buffer.detached, true);
  assert.equal(copy.view.buffer, copy.buffer);
  assert.deepEqual([...copy.view], [2, 3]);
  assert.throws(() => clone(buffer, { transfer: [buffer] }), { name: 'DataCloneError' });
  assert.throws(() => clone(1, { transfer: [{}] }), { name: 'DataCloneError' });
});

test('delivers messages and ports through a channel', async () => {
  const { port1, port2 } = new GuestChannel();
  const inner = new GuestChannel();
  const received = new Promise<{ data: unknown; ports: readonly unknown[] }>((resolve) => {
    Object.assign(port2, { onmessage: resolve });
  });
  port1.postMessage({ hello: 'port' }, [inner.port1]);
  const { data, ports } = await received;
  assert.deepEqual(data, { hello: 'port' });
  assert.equal(ports.length, 1);
  const answered = new Promise<{ data: unknown }>((resolve) => Object.assign(inner.port2, { onmessage: resolve }));
  (ports[0] as typeof port1).postMessage('through the moved port');
  assert.equal((await answered).data, 'through the moved port');
  assert.throws(() => port1.postMessage(port2), { name: 'DataCloneError' });
});
