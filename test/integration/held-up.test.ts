import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

let handler: TestHandler;
const cell = `const cell = new Int32Array(new SharedArrayBuffer(4));`;

before(async () => {
  handler = await startHandler(
    {
      top: `${cell} const said = Atomics.wait(cell, 0, 0); export default { fetch: () => new Response(said) };`,
      request: `${cell} export default { fetch: () => new Response([Atomics.wait(cell, 0, 1), Atomics.wait(cell, 0, 0, 5), Atomics.wait(cell, 0, 0, NaN), Atomics.wait(cell, 0, 0), Atomics.wait.name, Atomics.wait.length].join()) };`,
      broken: `export default { async fetch(request) {
        if (new URL(request.url).pathname === '/break') { Promise.prototype.then = function () {}; Object.freeze(Promise.prototype); Object.freeze(globalThis); }
        return new Response('whole');
      } };`,
      deaf: `export default { async fetch(request) {
        if (new URL(request.url).pathname === '/break') String.prototype.indexOf = () => { throw new Error('no'); };
        return new Response('whole');
      } };`,
      never: `await new Promise(() => { setInterval(() => {}, 1000); }); export default { fetch: () => new Response('no') };`,
    },
    { atomicsWaitMs: 50, startupWallMs: 50 },
  );
});
after(() => handler.close());

test('Atomics.wait holds a thread no longer than its limit in one entry, whatever it is told', async () => {
  assert.equal((await handler.fetch('request')).text, 'not-equal,timed-out,timed-out,timed-out,wait,4');
  assert.equal((await handler.fetch('request')).text, 'not-equal,timed-out,timed-out,timed-out,wait,4');
  assert.equal((await handler.fetch('top')).text, 'timed-out');
});

test('a top-level await that never settles is answered at its limit', async () => {
  const answer = await handler.fetch('never');
  assert.equal((answer.json() as { code: string }).code, 'worker_start_failed');
  await handler.logged('never', /a top-level await did not settle within 50 ms/);
});

test('a worker that broke what its answers are made with is replaced after its second request without one', async () => {
  const codes: unknown[] = [(await handler.fetch('broken')).text];
  for (const path of ['/break', '/'])
    codes.push(((await handler.fetch('broken', path)).json() as { code: string }).code);
  assert.deepEqual(
    [...codes, (await handler.fetch('broken')).text],
    ['whole', 'never_answered', 'never_answered', 'whole'],
  );
});

test('one that broke what its requests are read with is replaced at once', async () => {
  assert.equal((await handler.fetch('deaf', '/break')).text, 'whole');
  assert.equal(((await handler.fetch('deaf')).json() as { code: string }).code, 'isolate_replaced');
  assert.equal((await handler.fetch('deaf')).text, 'whole');
});
