// Threads that work for workers, with the decoders that one of them keeps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTextCalls } from '#runtime/engine/bindings/text.ts';
import { HandleTable } from '#runtime/engine/bridge/handle-table.ts';
import type { HostCall } from '#runtime/engine/bridge/host-calls.ts';
import { EngineMemory } from '#runtime/engine/bridge/host-memory.ts';
import { HostWork } from '#runtime/engine/work/host-work.ts';
import { Threads } from '#runtime/engine/work/threads.ts';

const latin = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.from(Buffer.from(text, 'latin1'));
const textOf = (parts: readonly unknown[] | undefined): string => Buffer.from(parts?.[0] as Uint8Array).toString();

test('a request that cannot be sent is answered with an error, and its thread serves the next one', async (t) => {
  const threads = new Threads({ threadsMax: 1, laneRunningMax: 1, keeps: true });
  t.after(() => threads.close());
  const of = {};
  const decode = (isNew: boolean, text: string): object => ({ id: 1, isNew, label: 'iso-8859-2', isLast: false, text });
  const run = (args: object, part: Uint8Array): ReturnType<Threads['run']> =>
    threads.run(of, { op: 'text.decode', args, parts: [part] }, () => true);
  assert.equal(textOf((await run(decode(true, ''), latin('a')))?.reply?.parts), 'a');
  const detached = new Uint8Array(10_000);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  assert.equal((await run({ ...decode(false, ''), uncloneable: () => {} }, detached))?.error?.name, 'DataCloneError');
  // The same thread: it still has the decoder.
  assert.equal(textOf((await run(decode(false, ''), latin('b')))?.reply?.parts), 'b');
});

/** What converts text for a worker with so much CPU left. */
function worker(work: HostWork): {
  convert(handle: number, text: string, last: boolean): Promise<{ handle: number; text: string }>;
  cpuLeft: boolean;
  handles: HandleTable;
} {
  const memory = new EngineMemory({ hostMemoryMb: 1, engineHostMemoryMb: 1 }).open('shop/d000000000001');
  const handles = new HandleTable(10, memory);
  const calls = createTextCalls(work);
  const self = {
    cpuLeft: true,
    handles,
    async convert(handle: number, text: string, last: boolean) {
      const owner = {
        isOver: false,
        reserveCpu() {
          if (!self.cpuLeft) throw new Error('no CPU left');
        },
        settleCpu() {},
      };
      const args = { handle, label: 'shift_jis', fatal: false, last };
      const { value, parts } = await calls['text.convert']!({
        args,
        parts: [latin(text)],
        isolate: { memory, handles },
        owner,
      } as unknown as HostCall);
      return { handle: (value as { handle: number }).handle, text: textOf(parts) };
    },
  };
  return self;
}

test('a decoder whose worker has no CPU left for the next piece, or whose isolate is gone, is forgotten on its thread', async (t) => {
  const work = new HostWork();
  t.after(() => work.close());
  const one = worker(work);
  const isOpen = (id: number): Promise<boolean> =>
    work
      .onKeepingThread(
        { owner: { isOver: false, reserveCpu() {}, settleCpu() {} }, isolate: { memory: { whole: {} } } },
        'text.decode',
        { id, isNew: false, label: 'shift_jis', isLast: false },
        [latin('')],
        0,
      )
      .then(
        () => true,
        () => false,
      );
  const { handle } = await one.convert(0, '\x83', false);
  assert.equal(await isOpen(1), true);
  one.cpuLeft = false;
  await assert.rejects(one.convert(handle, '\x8e', true), { message: 'no CPU left' });
  one.cpuLeft = true;
  // Its turn comes after that of what forgets the first one.
  const under = one.convert(0, '\x83', false);
  one.handles.closeAll();
  await under;
  await one.convert(0, 'end', true);
  assert.deepEqual([await isOpen(1), await isOpen(2)], [false, false]);
});

test('pieces of a character that come apart are put together', async (t) => {
  const work = new HostWork();
  t.after(() => work.close());
  const one = worker(work);
  const first = await one.convert(0, 'a\x83', false);
  assert.deepEqual([first.text, (await one.convert(first.handle, 'M', true)).text], ['a', 'ギ']);
});
