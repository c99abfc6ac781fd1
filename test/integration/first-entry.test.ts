import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, test } from 'node:test';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

let handler: TestHandler;

before(async () => {
  const cpu = { free: 100, pro: 100, enterprise: 100 };
  handler = await startHandler(
    {
      plain: `let count = 0; export default { fetch: async (request) => new Response(++count + ' ' + await request.text()) };`,
      waits: `await scheduler.wait(100);
        let count = 0;
        export default { fetch: (request) => new Response(++count + ' ' + request.method) };`,
      'waits-and-spins': `await scheduler.wait(50);
        export default { fetch(request) { if (request.url.endsWith('/spin')) for (;;); return new Response('ok'); } };`,
      'waits-and-throws': `await scheduler.wait(20); throw new Error('in the end'); export default { fetch() {} };`,
    },
    { cpu: { http: cpu, queue: cpu, timer: cpu, cron: cpu, workflow: cpu } },
  );
});
after(() => handler.close());

test('the requests that start an isolate are all served by it', async () => {
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, at) =>
      handler.fetch('plain', '/', at % 2 === 0 ? {} : { method: 'POST', body: 'text' }),
    ),
  );
  assert.deepEqual(
    answers.map(({ text }) => Number.parseInt(text)).toSorted((a, b) => a - b),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  );
  assert.equal(answers.filter(({ text }) => text.endsWith(' text')).length, 5);
});

test('requests that come while a top-level await is pending are served after it, those of clients that went away are not', async () => {
  const gone = request({
    host: '127.0.0.1',
    port: handler.port,
    headers: { host: 'waits.localhost' },
    method: 'DELETE',
  });
  gone.on('error', () => {});
  gone.end();
  while (handler.handler.load === 0) await new Promise((resolve) => setImmediate(resolve));
  const answers = Array.from({ length: 3 }, () => handler.fetch('waits'));
  gone.destroy();
  await new Promise((resolve) => gone.on('close', resolve));
  assert.deepEqual((await Promise.all(answers)).map(({ text }) => text).toSorted(), ['1 GET', '2 GET', '3 GET']);
});

test('one of the requests that waited for the start may spin: the others are served', async () => {
  const spin = handler.fetch('waits-and-spins', '/spin');
  const others = await Promise.all(['/1', '/2', '/3'].map((path) => handler.fetch('waits-and-spins', path)));
  assert.equal(((await spin).json() as { code: string }).code, 'cpu_limit_exceeded');
  assert.deepEqual(
    others.map(({ text }) => text),
    ['ok', 'ok', 'ok'],
  );
});

test('requests that wait for a start that fails later are answered with what failed', async () => {
  const answers = await Promise.all(Array.from({ length: 3 }, () => handler.fetch('waits-and-throws')));
  for (const answer of answers) assert.equal((answer.json() as { code: string }).code, 'worker_start_failed');
  await handler.logged('waits-and-throws', /in the end/);
});
