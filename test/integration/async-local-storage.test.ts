import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

let handler: TestHandler;

before(async () => {
  handler = await startHandler({
    stores: `import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
      const storage = new AsyncLocalStorage();
      const other = new globalThis.AsyncLocalStorage();
      const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
      const paths = {
        await: async () => { await null; await wait(1); },
        then: () => wait(1).then(() => Promise.resolve()).then(() => {}),
        rejection: () => wait(1).then(() => { throw new Error('x'); }).catch(() => {}),
        finally: async () => { try { await Promise.reject(new Error('x')); } catch {} finally { await wait(1); } },
        finallyMethod: () => Promise.reject(new Error('x')).finally(() => wait(1)).catch(() => {}),
        generator: async () => { async function* make() { for (let i = 0; i < 3; i++) { await wait(1); yield i; } } for await (const _ of make()); },
        labelled: async () => { async function* make() { yield 1; await wait(1); yield 2; } outer: for (let i = 0; i < 2; i++) { for await (const value of make()) { if (value === 2) continue outer; await null; } } },
        syncGenerator: async () => { function* make() { yield wait(1); yield wait(1); } for (const promise of make()) await promise; },
        interval: () => new Promise((resolve) => { let count = 0; const id = setInterval(() => { if (++count === 3) { clearInterval(id); resolve(); } }, 1); }),
        immediate: () => new Promise((resolve) => setImmediate(resolve)),
        microtask: () => new Promise((resolve) => queueMicrotask(resolve)),
        stream: async () => { const stream = new ReadableStream({ async pull(controller) { await wait(1); controller.enqueue(1); controller.close(); } }); for await (const _ of stream); },
        transform: async () => { const { readable, writable } = new TransformStream({ async transform(chunk, controller) { await wait(1); controller.enqueue(chunk); } }); const writer = writable.getWriter(); writer.write(1); writer.close(); for await (const _ of readable); },
        all: () => Promise.all([wait(1), wait(2), Promise.race([wait(1), wait(3)])]),
        settled: () => Promise.allSettled([wait(1), Promise.reject(1)]),
        thenable: async () => { await { then(resolve) { setTimeout(resolve, 1); } }; },
        hostCall: () => crypto.subtle.digest('SHA-256', new Uint8Array(8)),
        event: async () => { const target = new EventTarget(); target.addEventListener('x', () => {}); await wait(1); target.dispatchEvent(new Event('x')); },
        abort: async () => { const signal = AbortSignal.timeout(1); await new Promise((resolve) => signal.addEventListener('abort', resolve)); },
        asyncArray: () => Array.fromAsync([wait(1), 2, 3]),
      };
      export default { async fetch(request) {
        const url = new URL(request.url);
        if (url.pathname === '/many') {
          const wrong = [];
          await Promise.all(Array.from({ length: 50 }, (_, index) => storage.run({ index }, async () => {
            for (const [name, path] of Object.entries(paths)) {
              await other.run(name, async () => {
                await path();
                if (storage.getStore()?.index !== index || other.getStore() !== name) wrong.push(name + ' in ' + index);
              });
              if (storage.getStore()?.index !== index) wrong.push('after ' + name + ' in ' + index);
              if (other.getStore() !== undefined) wrong.push('leak after ' + name);
            }
          })));
          return Response.json({ wrong: [...new Set(wrong)], paths: Object.keys(paths).length, outside: storage.getStore() ?? null });
        }
        if (url.pathname === '/api') {
          const out = {};
          storage.run(1, () => {
            out.inside = storage.getStore();
            out.exit = storage.exit(() => storage.getStore() ?? null);
            const bound = AsyncLocalStorage.bind(() => storage.getStore());
            const snapshot = AsyncLocalStorage.snapshot();
            const resource = new AsyncResource('test');
            storage.run(2, () => { out.bound = bound(); out.snapshot = snapshot(() => storage.getStore()); out.resource = resource.runInAsyncScope(() => storage.getStore()); });
          });
          out.outside = storage.getStore() ?? null;
          storage.enterWith(3);
          await wait(1);
          out.entered = storage.getStore();
          out.threw = (() => { try { storage.run(9, () => { throw new Error('x'); }); } catch { return storage.getStore(); } })();
          return Response.json(out);
        }
        return storage.run(url.searchParams.get('id'), async () => { await wait(Math.random() * 5); await fetch('http://127.0.0.1:1/').catch(() => {}); return new Response(storage.getStore()); });
      } };`,
  });
});
after(() => handler.close());

test('50 interleaved stores stay apart across every kind of continuation', async () => {
  assert.deepEqual((await handler.fetch('stores', '/many')).json(), { wrong: [], paths: 20, outside: null });
});

test('exit, bind, snapshot, AsyncResource and enterWith do what Node does', async () => {
  assert.deepEqual((await handler.fetch('stores', '/api')).json(), {
    inside: 1,
    exit: null,
    bound: 1,
    snapshot: 1,
    resource: 1,
    outside: null,
    entered: 3,
    threw: 3,
  });
});

test('the stores of requests that run at once in one isolate stay apart', async () => {
  const answers = await Promise.all(Array.from({ length: 40 }, (_, id) => handler.fetch('stores', `/?id=n${id}`)));
  assert.deepEqual(
    answers.map(({ text }) => text),
    Array.from({ length: 40 }, (_, id) => `n${id}`),
  );
});
