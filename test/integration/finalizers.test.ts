// Callbacks of a FinalizationRegistry, and the constructors that the guest bounds.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { runInThisContext } from 'node:vm';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

let handler: TestHandler;

const collect = `let garbage = []; for (let j = 0; j < 60; j++) garbage.push(new Array(100_000).fill(j)); garbage = null; await scheduler.wait(1);`;

before(async () => {
  const ms = { free: 100, pro: 100, enterprise: 100 };
  const cpu = { http: { ...ms, free: 500, pro: 1000 }, queue: ms, timer: ms, cron: ms, workflow: ms };
  handler = await startHandler(
    {
      held: {
        plan: 'pro',
        files: `const told = [];
      class Mine extends FinalizationRegistry {}
      const registry = new Mine((held) => { told.push(held); });
      export default { async fetch() {
        for (let i = 0; i < 100; i++) registry.register({}, i);
        for (let i = 0; i < 50 && told.length < 50; i++) { ${collect} }
        return Response.json({ told: told.length >= 50, isOne: registry instanceof FinalizationRegistry && registry.constructor === Mine });
      } };`,
      },
      first: {
        plan: 'pro',
        files: `await scheduler.wait(20);
      let first = null;
      export default { async fetch(request) {
        if (first === null) {
          first = new WeakRef(request.signal);
          return new Response('first');
        }
        for (let i = 0; i < 2; i++) { ${collect} }
        return new Response(first.deref() === undefined ? 'gone' : 'held');
      } };`,
      },
      spin: `const registry = new FinalizationRegistry(() => { for (;;); });
      export default { async fetch() {
        for (let i = 0; i < 100; i++) registry.register({}, i);
        for (let i = 0; i < 5; i++) { ${collect} }
        return new Response('done');
      } };`,
    },
    { cpu },
  );
});
after(() => handler.close());

test('callbacks of a FinalizationRegistry run, in an entry of their own', async () => {
  assert.deepEqual((await handler.fetch('held')).json(), { told: true, isOne: true });
});

test('nothing is held of a request that waited for a top-level await, once it is over', async () => {
  assert.equal((await handler.fetch('first')).body.toString(), 'first');
  let held = 'held';
  for (let round = 0; round < 10 && held === 'held'; round++) held = (await handler.fetch('first')).body.toString();
  assert.equal(held, 'gone');
});

test('one that never ends is ended at the CPU limit of a request, and its isolate replaced', async () => {
  let isBreached = false;
  const breached = handler.logged('spin', /CPU limit exceeded/).then(() => (isBreached = true));
  // They run with the next entry after their collection.
  for (let round = 0; round < 50 && !isBreached; round++) await handler.fetch('spin');
  await breached;
});

test('constructors that bound what they make look like those of the language', async () => {
  // What Node's own say of themselves, V8's for functions of its host apart: these own `arguments` and `caller`.
  const look = `(() => {
    const said = [];
    for (const [target, name, give] of [[globalThis, 'ArrayBuffer', [8]], [globalThis, 'SharedArrayBuffer', [8]], [globalThis, 'FinalizationRegistry', [() => {}]], [WebAssembly, 'Memory', [{ initial: 1 }]]]) {
      const constructor = target[name];
      class Mine extends constructor { extra = 1; }
      const one = new constructor(...give); const mine = new Mine(...give);
      const { writable, enumerable, configurable } = Object.getOwnPropertyDescriptor(target, name);
      said.push([String(constructor), constructor.name, constructor.length, writable, enumerable, configurable, one.constructor === constructor, mine.constructor === Mine, mine.extra, mine instanceof constructor, Object.prototype.toString.call(mine), constructor[Symbol.species] === constructor,
        Object.getOwnPropertyNames(constructor).filter((key) => key !== 'arguments' && key !== 'caller').sort().join(), JSON.stringify({ ...Object.getOwnPropertyDescriptor(constructor, 'prototype'), value: 0 })]);
      for (const wrong of [() => constructor(8), () => new constructor(-1), () => Reflect.construct(constructor, give, 1)]) { try { wrong(); said.push('made'); } catch (error) { said.push(error.name + ': ' + error.message); } }
      said.push(Reflect.construct(constructor, give, Array) instanceof Array);
    }
    const resizable = new ArrayBuffer(2, { maxByteLength: 16 });
    const order = [];
    const options = { get maxByteLength() { order.push('max'); return 8; } };
    new ArrayBuffer({ valueOf() { order.push('length'); return 4; } }, options);
    resizable.resize({ valueOf() { order.push('resize'); return 12; } });
    said.push(order.join(), resizable.byteLength, resizable.transfer(3).maxByteLength, resizable.detached, new ArrayBuffer(8).slice(2).byteLength);
    for (const method of ['resize', 'transfer']) { const { value, ...rest } = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, method); said.push(String(value), value.name, value.length, JSON.stringify(rest), 'prototype' in value); try { value.call({}, 1); } catch (error) { said.push(error.name); } try { new value(); } catch (error) { said.push(error.name); } }
    for (const method of ['compile', 'instantiate']) { const { value, ...rest } = Object.getOwnPropertyDescriptor(WebAssembly, method); said.push(String(value), value.name, value.length, JSON.stringify(rest)); }
    return JSON.stringify(said);
  })()`;
  const seen = await startHandler({ look: `export default { fetch: () => new Response(${look}) };` });
  try {
    assert.deepEqual((await seen.fetch('look')).json(), JSON.parse(runInThisContext(look) as string));
  } finally {
    await seen.close();
  }
});
