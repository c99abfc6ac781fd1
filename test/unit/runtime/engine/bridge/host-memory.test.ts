// The ledger of what is held for workers outside of their isolates: bounds, shares, and that nothing is counted for
// ever.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliCompressSync, constants } from 'node:zlib';
import { codecBytes } from '#runtime/engine/bindings/codec-memory.ts';
import { HandleTable } from '#runtime/engine/bridge/handle-table.ts';
import type { CallOwner } from '#runtime/engine/bridge/call-owner.ts';
import { EngineMemory } from '#runtime/engine/bridge/host-memory.ts';

const MB = 1024 * 1024;
const limits = { hostMemoryMb: 4, engineHostMemoryMb: 10 };

test('what a deployment may hold is bounded, and the error says what it uses and what is allowed', () => {
  const engine = new EngineMemory(limits);
  const memory = engine.open('p/d');
  memory.reserve(3 * MB, 'A thing');
  assert.throws(() => memory.reserve(2 * MB, 'A thing'), {
    code: 'host_memory_exceeded',
    message: 'A thing needs 2097152 bytes outside of the isolate, but this deployment uses 3145728 of 4194304 already',
  });
  assert.deepEqual([memory.bytes, engine.bytes, engine.refused], [3 * MB, 3 * MB, 1]);
  memory.release(3 * MB);
  memory.reserve(4 * MB, 'A thing');
  assert.deepEqual(engine.heaviest(3), [{ name: 'p/d', bytes: 4 * MB }]);
});

test('what a part of an account holds counts in the whole, and is bounded by its share and with the rest', () => {
  const engine = new EngineMemory(limits);
  const memory = engine.open('p/d');
  const [one, other] = [memory.part(1), memory.part(0.5)];
  one.reserve(3 * MB, 'A thing');
  assert.equal(other.hasRoom(2 * MB), false);
  assert.throws(() => other.reserve(2 * MB, 'A thing'), { code: 'host_memory_exceeded' });
  one.release(MB);
  assert.throws(() => other.reserve(2_621_440, 'A thing'), {
    message: 'A thing needs 2621440 bytes outside of the isolate, but this deployment uses 0 of 2097152 already',
  });
  assert.equal(other.hasRoom(2_621_440), false);
  one.add(MB);
  other.add(MB);
  assert.deepEqual(
    [one.bytes, other.bytes, memory.bytes, engine.bytes, engine.holders],
    [3 * MB, MB, 4 * MB, 4 * MB, 1],
  );
  one.release(3 * MB);
  other.release(MB);
  assert.deepEqual([one.bytes, other.bytes, memory.bytes, engine.bytes, engine.holders], [0, 0, 0, 0, 0]);
});

test('where the engine is full, each deployment has its share of it and no more', () => {
  const engine = new EngineMemory(limits);
  const greedy = [engine.open('a/1'), engine.open('b/2')];
  for (const memory of greedy) memory.reserve(4 * MB, 'A thing');
  const third = engine.open('c/3');
  third.reserve(2 * MB, 'A thing');
  assert.throws(() => third.reserve(2 * MB, 'A thing'), { code: 'host_memory_exceeded' });
  assert.equal(third.hasRoom(MB), true);
  third.reserve(MB, 'A thing');
  assert.equal(greedy[0]!.hasRoom(1), false);
  for (const memory of greedy) memory.release(4 * MB);
  assert.equal(engine.holders, 1);
  third.reserve(MB, 'A thing');
});

test('however many have a little, an engine holds no more than its bound and a quarter, and who holds nothing gets a share', () => {
  const engine = new EngineMemory({ hostMemoryMb: 64, engineHostMemoryMb: 320 });
  for (let at = 0; at < 2000; at++) engine.open(`p${at}/d`).reserve(1, 'A thing');
  for (let at = 0; at < 5; at++) engine.open(`heavy${at}/d`).reserve(63 * MB, 'A thing');
  const victim = engine.open('victim/d');
  victim.reserve(10 * MB, 'A thing');
  for (let at = 0; at < 500; at++) {
    try {
      engine.open(`late${at}/d`).reserve(4 * MB, 'A thing');
    } catch (error) {
      assert.equal((error as { code: string }).code, 'host_memory_exceeded');
    }
  }
  assert.ok(engine.bytes <= 400 * MB, `${engine.bytes / MB} MB`);
});

test('deployments of one project share what it may hold where the engine is full', () => {
  const engine = new EngineMemory(limits);
  const previews = [1, 2, 3].map((at) => engine.open(`greedy/${at}`));
  for (const memory of previews) memory.reserve(3 * MB, 'A thing');
  const victim = engine.open('victim/d');
  victim.reserve(3 * MB, 'A thing');
  assert.equal(engine.open('greedy/4').hasRoom(1), false);
  assert.equal(engine.holders, 2);
});

test('a hold grows to what it is told and gives all of it back once', () => {
  const engine = new EngineMemory(limits);
  const hold = engine.open('p/d').hold(MB, 'A thing');
  hold.grow(2 * MB);
  hold.grow(MB);
  assert.equal(engine.bytes, 2 * MB);
  assert.throws(() => hold.grow(5 * MB), { code: 'host_memory_exceeded' });
  hold.release();
  hold.release();
  hold.grow(3 * MB);
  assert.equal(engine.bytes, 0);
});

test('a handle that an invocation opened ends with it, another with the isolate', () => {
  const engine = new EngineMemory(limits);
  const handles = new HandleTable(10, engine.open('p/d'));
  const ends: (() => void)[] = [];
  const owner = { id: 7, atExit: (run: () => void) => void ends.push(run) } as unknown as CallOwner;
  const closed: string[] = [];
  const thing = (name: string): object => ({ close: () => closed.push(name) });
  const first = handles.add(thing('first'), owner);
  handles.add(thing('second'), owner);
  const key = handles.add(thing('key'));
  handles.delete(first);
  assert.deepEqual(closed, ['first']);
  assert.equal(ends.length, 1);
  ends[0]!();
  assert.deepEqual(closed, ['first', 'second']);
  assert.notEqual(handles.get(key), undefined);
  assert.equal(engine.bytes, 8192);
  handles.closeAll();
  assert.deepEqual(closed, ['first', 'second', 'key']);
  assert.equal(engine.bytes, 0);
});

// Resident memory of one such stream in Node 24, in MB, random input, flushed: [quality, window bits, MB of input, MB].
for (const [quality, window, input, measured] of [
  [11, 24, 0.0625, 2.52],
  [11, 24, 1, 17.4],
  [11, 24, 8, 96.8],
  [11, 22, 1, 17.54],
  [9, 24, 0.0625, 30.1],
  [9, 24, 16, 61.8],
  [7, 22, 1, 12.1],
  [5, 22, 16, 21.6],
  [4, 24, 1, 7.6],
  [1, 24, 1, 3.9],
] as const) {
  test(`Brotli at quality ${quality} over a window of 2^${window} and ${input} MB is counted as at least what it took`, () => {
    const bytes = codecBytes('brotliCompress', { params: { 1: quality, 2: window } })(input * MB);
    assert.ok(bytes >= measured * MB, `${bytes / MB} MB`);
    assert.ok(bytes <= measured * 3 * MB, `${bytes / MB} MB`);
  });
}

test('the other codecs are counted as what zlib says they take', () => {
  assert.equal(codecBytes('gzip')(MB), 64 * 1024 + 256 * 1024 + 64 * 1024);
  assert.equal(codecBytes('deflateRaw', { windowBits: 9, memLevel: 1 })(0), 64 * 1024 + 2048 + 1024 + 64 * 1024);
  assert.equal(codecBytes('gunzip')(0), 64 * 1024 + 32 * 1024 + 16 * 1024);
});

test('a Brotli decoder is counted as the window that its input asks for, and a single block as no more than its length', () => {
  const base = codecBytes('brotliDecompress')(0);
  const ofWindow = (bits: number, bytes: number): number => {
    const params = { [constants.BROTLI_PARAM_LGWIN]: bits, [constants.BROTLI_PARAM_QUALITY]: 4 };
    return codecBytes('brotliDecompress')(0, brotliCompressSync(Buffer.alloc(bytes, 'text'), { params })) - base;
  };
  for (const bits of [10, 14, 16, 17, 18, 22, 24])
    assert.equal(ofWindow(bits, 2 ** bits + 1_000_000), 2 ** bits, `window ${bits}`);
  assert.equal(ofWindow(22, 10_000), 20_000);
  // The same as a stream whose end is not known.
  assert.equal(codecBytes('brotliDecompress')(0, new Uint8Array([0x0b])) - base, 2 ** 22);
});
