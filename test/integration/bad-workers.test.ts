import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

let handler: TestHandler;
/** Requests end after a second: the others may wait longer for the CPU of a busy machine. */
let hasty: TestHandler;
const limits = {
  startupCpuMs: 200,
  isolateMemoryMb: 64,
  subrequestsMax: 5,
  logBytesMax: 2000,
  timersMax: 100,
};

before(async () => {
  const cpu = { http: { free: 100, pro: 100, enterprise: 0 } };
  handler = await startHandler(
    {
      good: `export default { fetch: () => new Response('good') };`,
      bad: `export default { async fetch(request, env, ctx) {
        switch (new URL(request.url).pathname) {
          case '/string': throw 'a string';
          case '/null': throw null;
          case '/hostile': throw { get message() { throw new Error('no'); } };
          case '/cause': throw new Error('Failed query', { cause: new Error('no such table: users') });
          case '/any': await Promise.any([Promise.reject(new Error('the first reason'))]);
          case '/cause-later': ctx.waitUntil(Promise.reject(new Error('Failed later', { cause: new Error('disk is full') }))); return;
          case '/undefined': return;
          case '/object': return { status: 200 };
          case '/used': { const response = new Response('x'); await response.text(); return response; }
          case '/header': return new Response('x', { headers: { 'x-a': '\\u0001' } });
          case '/upgrade': return new Response(null, { status: 101 });
          case '/lengths': return new Response('x', { headers: [['content-length', '1'], ['content-length', '2']] });
          case '/no-length': return new Response('x', { headers: { 'content-length': 'abc', 'x-a': '1' } });
          case '/no-length-streamed': return new Response(new Response('streamed').body.pipeThrough(new TransformStream()), { headers: { 'content-length': '-1' } });
          case '/never': return new Promise(() => {});
          case '/spin': for (;;);
          case '/spin-later': await scheduler.wait(1); for (;;);
          case '/spin-microtasks': for (;;) await null;
          case '/regex': return new Response(String(/^(a+)+$/.test('a'.repeat(40) + 'b')));
          case '/big-int': for (;;) (1n << 4_000_000n).toString();
          case '/big-int-later': await scheduler.wait(1); for (;;) (1n << 4_000_000n).toString();
          case '/background': ctx.waitUntil((async () => { await scheduler.wait(5); for (;;); })()); return new Response('ok');
          case '/memory': { const all = []; for (;;) all.push(new Array(100_000).fill(all.length)); }
          case '/logs': for (let i = 0; i < 1000; i++) console.log('line ' + i); return new Response('ok');
          case '/timers': try { for (let i = 0; i < 1000; i++) setTimeout(() => {}, 50); return new Response('no bound'); } catch (error) { return new Response(error.message); }
          case '/stream-throws': { let count = 0; return new Response(new ReadableStream({ pull(controller) { if (count++ < 3) controller.enqueue(new Uint8Array(10)); else throw new Error('stream broke'); } })); }
          case '/stream-string': return new Response(new ReadableStream({ start(controller) { controller.enqueue('text'); controller.close(); } }));
          case '/unhandled': Promise.reject(new Error('nobody cares')); return new Response('ok');
          case '/handled-late': { const promise = Promise.reject(new Error('somebody cares')); await null; promise.catch(() => {}); return new Response('ok'); }
        }
        return new Response('ok');
      } };`,
      'top-throw': `function fail() { throw new Error('broken at the top'); }\nfail();\nexport default { fetch: () => new Response('no') };`,
      'top-spin': `for (;;);\nexport default { fetch: () => new Response('no') };`,
      'top-big-int': `for (;;) (1n << 4_000_000n).toString();\nexport default { fetch: () => new Response('no') };`,
      'top-reject': `await Promise.reject(new Error('rejected at the top'));\nexport default { fetch: () => new Response('no') };`,
      'no-handler': `export const x = 1;`,
    },
    { ...limits, cpu: { ...cpu, queue: cpu.http, timer: cpu.http, cron: cpu.http, workflow: cpu.http } },
  );
  hasty = await startHandler(
    { slow: `export default { async fetch() { await scheduler.wait(60_000); return new Response('late'); } };` },
    { wallMs: 1000, requestsPerDeploymentMax: 20 },
  );
});
after(() => Promise.all([handler.close(), hasty.close()]));

const good = async (): Promise<void> => assert.equal((await handler.fetch('good')).text, 'good');

for (const [path, code, logged] of [
  ['/string', 'worker_threw', /^Uncaught Error: a string/],
  ['/null', 'worker_threw', /^Uncaught Error: null/],
  ['/cause', 'worker_threw', /^Uncaught Error: Failed query\n[^]*\[cause\]: Error: no such table: users\n/],
  ['/any', 'worker_threw', /^Uncaught AggregateError: [^]*\[errors\]: \[\n? *Error: the first reason\n/],
  [
    '/cause-later',
    'no_response',
    /^Uncaught \(in waitUntil\) Error: Failed later\n[^]*\[cause\]: Error: disk is full\n/,
  ],
  ['/hostile', 'worker_threw', /a value that cannot be shown/],
  ['/undefined', 'no_response', /returned undefined instead of a Response/],
  ['/object', 'no_response', /returned an object instead of a Response/],
  ['/used', 'worker_threw', /already used/],
  ['/header', 'worker_threw', /A header value contains a control character/],
  ['/upgrade', 'illegal_response', /The worker returned a response with an invalid status 101/],
  ['/lengths', 'illegal_response', /The worker returned a response with an invalid content-length/],
  ['/never', 'never_answered', /will never respond/],
] as const) {
  test(`a handler that misbehaves at ${path} answers ${code} and says so in the log`, async () => {
    const response = await handler.fetch('bad', path);
    assert.equal(response.status, 500);
    assert.equal(response.headers['x-platform-error'], code);
    assert.equal((response.json() as { code: string }).code, code);
    await handler.logged('bad', logged);
    assert.equal((await handler.fetch('bad')).text, 'ok');
    await good();
  });
}

// V8 allows no interrupt while it works on a BigInt, but such work does ask whether it is to end.
for (const path of ['/spin', '/spin-later', '/spin-microtasks', '/regex', '/big-int', '/big-int-later']) {
  test(`CPU without end at ${path} ends at its budget, and the next request is served`, async () => {
    const response = await handler.fetch('bad', path);
    assert.equal(response.status, 500);
    const { code, limitMs, usedMs } = response.json() as { code: string; limitMs: number; usedMs: number };
    assert.equal(code, 'cpu_limit_exceeded');
    assert.equal(limitMs, 100);
    assert.ok(usedMs >= 100, `used ${usedMs} ms`);
    assert.equal((await handler.fetch('bad')).text, 'ok');
    await good();
  });
}

test('while one worker burns its CPU, another one answers', async () => {
  const burning = handler.fetch('bad', '/spin');
  for (let count = 0; count < 20; count++) await good();
  assert.equal((await burning).status, 500);
});

test('requests that shared an entry with one that broke its budget are served by the next isolate', async () => {
  await handler.fetch('bad');
  const [spin, ...others] = await Promise.all([
    handler.fetch('bad', '/spin'),
    ...Array.from({ length: 5 }, () => handler.fetch('bad')),
  ]);
  assert.equal((spin.json() as { code: string }).code, 'cpu_limit_exceeded');
  assert.deepEqual(
    others.map(({ text }) => text),
    ['ok', 'ok', 'ok', 'ok', 'ok'],
  );
});

test('work in waitUntil counts against the budget', async () => {
  assert.equal((await handler.fetch('bad', '/background')).text, 'ok');
  await handler.logged('bad', /CPU limit exceeded: used 1\d\d ms of 100 ms/);
  assert.equal((await handler.fetch('bad')).text, 'ok');
});

test('memory without end ends the isolate with its own error', async () => {
  const response = await handler.fetch('bad', '/memory');
  assert.equal(response.status, 500);
  const { code } = response.json() as { code: string };
  assert.ok(code === 'memory_limit_exceeded' || code === 'cpu_limit_exceeded', code);
  assert.equal((await handler.fetch('bad')).text, 'ok');
  await good();
});

test('a handler that waits too long answers 504', async () => {
  const response = await hasty.fetch('slow');
  assert.equal(response.status, 504);
  assert.deepEqual(response.json(), {
    error: 'The worker did not respond within 1000 ms',
    code: 'wall_limit_exceeded',
    limitMs: 1000,
  });
});

test('log lines and timers are bounded', async () => {
  handler.logs.length = 0;
  await handler.fetch('bad', '/logs');
  const lines = handler.logs.filter(({ text }) => text.startsWith('line '));
  assert.ok(lines.length > 10 && lines.length < 200, `${lines.length} lines`);
  assert.match(lines.at(-1)?.text ?? '', /log cut: more than 2000 bytes/);
  assert.equal((await handler.fetch('bad', '/timers')).text, 'More than 100 timers at a time are not allowed');
});

test('a rejection nobody handles is logged, one that is handled late is not', async () => {
  handler.logs.length = 0;
  await handler.fetch('bad', '/unhandled');
  assert.match((await handler.logged('bad', /nobody cares/)).text, /^Uncaught \(in promise\) Error: nobody cares/);
  await handler.fetch('bad', '/handled-late');
  assert.equal(handler.logs.filter(({ text }) => text.includes('somebody cares')).length, 0);
});

test('a response stream that fails cuts the connection, so that it does not look complete', async () => {
  await assert.rejects(handler.fetch('bad', '/stream-throws'), { code: 'ECONNRESET' });
  await assert.rejects(handler.fetch('bad', '/stream-string'), { code: 'ECONNRESET' });
  await good();
});

for (const [name, code, logged] of [
  ['top-throw', 'worker_start_failed', /broken at the top[\s\S]*src\/index\.ts:1:/],
  ['top-spin', 'startup_cpu_limit_exceeded', /Startup CPU limit exceeded/],
  ['top-big-int', 'startup_cpu_limit_exceeded', /Startup CPU limit exceeded/],
  ['top-reject', 'worker_start_failed', /rejected at the top/],
  ['no-handler', 'no_fetch_handler', /exports no fetch handler/],
] as const) {
  test(`a worker that does not start (${name}) answers ${code}, each time`, async () => {
    for (let round = 0; round < 2; round++) {
      const response = await handler.fetch(name);
      assert.equal(response.status, 500);
      assert.equal(response.headers['x-platform-error'], code);
    }
    await handler.logged(name, logged);
    await good();
  });
}

test('a worker that uses up its startup budget is not started again by each request, but after a pause that grows', async () => {
  const begun = handler.logs.filter(({ text }) => text.includes('Startup CPU limit exceeded')).length;
  const answers = await Promise.all(Array.from({ length: 20 }, () => handler.fetch('top-spin')));
  assert.deepEqual(
    new Set(answers.map(({ headers }) => headers['x-platform-error'])),
    new Set(['startup_cpu_limit_exceeded']),
  );
  const again = await handler.fetch('top-spin');
  assert.ok(Number(again.headers['retry-after']) >= 1);
  const starts = handler.logs.filter(({ text }) => text.includes('Startup CPU limit exceeded')).length - begun;
  assert.ok(starts <= 1, `started ${starts} times`);
});

test('more requests of one deployment than allowed are refused, and the rest is served', async () => {
  const answers = await Promise.all(Array.from({ length: 30 }, () => hasty.fetch('slow')));
  const refused = answers.filter(({ status }) => status === 503);
  assert.equal(refused.length, 10);
  assert.equal(refused[0]?.headers['retry-after'], '1');
  assert.equal((refused.at(0)?.json() as { code: string } | undefined)?.code, 'overloaded');
  assert.equal(answers.filter(({ status }) => status === 504).length, 20);
});

test('a content-length that is no number is not sent, and the log says so', async () => {
  for (const [path, text] of [
    ['/no-length', 'x'],
    ['/no-length-streamed', 'streamed'],
  ] as const) {
    const before = handler.logs.length;
    const answer = await handler.fetch('bad', path);
    assert.deepEqual([answer.status, answer.text], [200, text]);
    const said = handler.logs.slice(before).filter(({ level }) => level === 'warn');
    assert.deepEqual(
      said.map((line) => line.text),
      ['Response content-length dropped: not a number'],
    );
    assert.notEqual(said[0]!.invocation, null);
  }
  const { headers } = await handler.fetch('bad', '/no-length');
  assert.deepEqual([headers['content-length'], headers['x-a']], ['1', '1']);
});
